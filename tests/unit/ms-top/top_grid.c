/* SPDX-License-Identifier: MIT
 * Lines and gauges in cells: what is flat is thin and dim, a gauge has a trough, a selected row keeps
 * its bars, and a click means what was drawn there.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "ms-top/cells/grid.c"
#include "ms-top/cells/words.c"

static unsigned failures;

static void expect(bool ok, const char *what, const struct grid *g)
{
	char text[512];
	if (ok)
		return;
	failures++;
	grid_row(g, 0, text, sizeof text);
	printf("FAILED: %s: '%s'\n", what, text);
}

static bool row_is(const struct grid *g, const char *want)
{
	char text[512];
	grid_row(g, 0, text, sizeof text);
	return strcmp(text, want) == 0;
}

static void test_spark(struct grid *g)
{
	const unsigned flat[] = {160, 155, 151, 160}, moves[] = {160, 155, 140, 80};
	grid_begin(g, 1, 10);
	grid_spark(g, 0, 0, 4, GRID_ACCENT, flat, 4);
	expect(row_is(g, "▁▁▁▁") && g->cells[0].style == GRID_DIM, "flat", g);
	grid_begin(g, 1, 10);
	grid_spark(g, 0, 0, 4, GRID_ACCENT, moves, 4);
	expect(row_is(g, "███▅") && g->cells[0].style == GRID_ACCENT, "moves", g);
	grid_begin(g, 1, 10);
	grid_spark(g, 0, 0, 4, GRID_ACCENT, moves, 0);
	expect(row_is(g, ""), "nothing", g);
}

/* Two rows high: what is above the first, in eighths of a row; what is flat is in the first. */
static void test_chart(struct grid *g)
{
	const unsigned moves[] = {160, 120, 80, 10}, flat[] = {160, 155};
	grid_begin(g, 3, 10);
	grid_chart(g, 0, 2, 0, 4, GRID_ACCENT, moves, 4);
	bool second = strcmp(g->cells[10].text, "█") == 0 && strcmp(g->cells[12].text, "█") == 0 &&
		      strcmp(g->cells[13].text, "▂") == 0 && g->cells[20].text[0] == ' ';
	expect(row_is(g, "█▅") && second, "chart", g);
	grid_begin(g, 3, 10);
	grid_chart(g, 0, 2, 0, 4, GRID_ACCENT, flat, 2);
	expect(row_is(g, "▁▁") && g->cells[10].text[0] == ' ', "flat chart", g);
}

static void test_gauge(struct grid *g)
{
	grid_begin(g, 1, 10);
	grid_gauge(g, 0, 1, 8, GRID_GOOD, 2.5, 8);
	expect(row_is(g, " ██▌·····") && g->cells[1].style == GRID_GOOD &&
		       g->cells[4].style == GRID_DIM,
	       "gauge", g);
	g->ascii = true;
	grid_begin(g, 1, 10);
	grid_gauge(g, 0, 1, 8, GRID_GOOD, 2.5, 8);
	expect(row_is(g, " ##......"), "gauge in ASCII", g);
	g->ascii = false;
}

static void test_select(struct grid *g)
{
	grid_begin(g, 1, 10);
	grid_put(g, 0, 0, -1, GRID_PLAIN, "> 1 ▃█▏─…");
	grid_select(g, 0);
	for (int i = 0; i < 10; i++)
		expect(g->cells[i].selected == (i < 4 || i > 6), "selected", g);
}

static void test_click(struct grid *g)
{
	grid_begin(g, 2, 10);
	grid_click(g, 1, 8, 5, GRID_SORT + 3);
	expect(grid_clicked(g, 1, 9) == GRID_SORT + 3 && !grid_clicked(g, 0, 9) &&
		       !grid_clicked(g, 1, 7) && !grid_clicked(g, 1, 10) &&
		       !grid_clicked(g, 2, 0) && !grid_clicked(g, -1, -1),
	       "click", g);
	grid_begin(g, 2, 10);
	expect(!grid_clicked(g, 1, 9), "another frame", g);
}

/* Checks that times are rounded before their unit is chosen: 59.5 s is a minute. */
static void test_time(void)
{
	static const struct {
		double seconds;
		const char *want;
	} times[] = {{0.4, "0 s"},         {59.4, "59 s"},  {59.5, "1 m 00 s"}, {119.6, "2 m 00 s"},
		     {3599.7, "1 h 00 m"}, {172800, "2 d"}, {-1, "-"}};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		const char *got = words_time(times[i].seconds);
		if (strcmp(got, times[i].want) == 0)
			continue;
		failures++;
		printf("FAILED: %g s: '%s', not '%s'\n", times[i].seconds, got, times[i].want);
	}
}

int main(void)
{
	struct grid g = {0};
	setlocale(LC_CTYPE, "C.UTF-8");
	test_spark(&g);
	test_chart(&g);
	test_gauge(&g);
	test_select(&g);
	test_click(&g);
	test_time();
	grid_free(&g);
	if (!failures)
		puts("ok");
	return failures != 0;
}
