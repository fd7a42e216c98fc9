/* SPDX-License-Identifier: MIT
 * ms-top's selection never jumps: the whole program without its terminal, over a made /proc whose
 * processes come, go, grow, have children and get numbers of others, under random keys and sizes.
 */
#include <ncurses.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms-top/app/app_private.h"
#include "ms-top/term/term.h"
#include "libcommon/base/err.h"

#define PIDS 24
static struct process_made {
	bool there;
	unsigned start, rss, parent, name;
} made[PIDS];
static unsigned starts, failures;
static unsigned seed, step;
static const char *const names[] = {"alpha", "beta", "gamma", "delta"};

static void expect(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%s: seed %u, step %u\n", what, seed, step);
	if (++failures > 20)
		exit(1);
}

/* ---- the made /proc ---- */

static void put_file(unsigned at, const char *file, const char *text)
{
	char path[64];
	snprintf(path, sizeof path, "proc/%u/%s", at + 100, file);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

static void put_process(unsigned at)
{
	const struct process_made *p = &made[at];
	char path[64], text[512];
	snprintf(path, sizeof path, "proc/%u", at + 100);
	mkdir(path, 0700);
	snprintf(text, sizeof text,
		 "%u (%s) S %u 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %u 4096 %u 0 0 0", at + 100,
		 names[p->name], p->parent, p->name == 3 ? 0x200000 : 0, p->start, p->rss);
	put_file(at, "stat", text);
	put_file(at, "cmdline", names[p->name]);
	snprintf(text, sizeof text, "0::/%s.service\n", names[p->name % 2]);
	put_file(at, "cgroup", text);
}

static void remove_process(unsigned at)
{
	static const char *const files[] = {"/stat", "/cmdline", "/cgroup", ""};
	char path[64];
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "proc/%u%s", at + 100, files[i]);
		remove(path);
	}
	made[at].there = false;
}

static void change(void)
{
	unsigned at = (unsigned)rand() % PIDS;
	struct process_made *p = &made[at];
	if (p->there && rand() % 3 == 0) {
		remove_process(at);
		return;
	}
	if (!p->there || rand() % 8 == 0) /* or its number is given to another */
		*p = (struct process_made){true, ++starts, 0, 100 + (unsigned)rand() % PIDS,
					   (unsigned)rand() % 4};
	p->rss = (unsigned)rand() % 1000;
	put_process(at);
}

/* ---- the property ---- */

static bool is_row(const struct app *a, uint64_t id)
{
	for (size_t i = 0; i < a->rows.n; i++)
		if (a->rows.ids[i] == id)
			return true;
	return false;
}

/* Whatever happened since `before` was no wish to select another row. */
static void check_same(const struct app *a, const struct list *before, const char *what)
{
	const struct list *l = &a->list;
	expect(l->n == a->rows.n && l->has == (l->n > 0), "a selection when there are rows");
	if (!l->has)
		return;
	expect(l->at < l->n && l->ids[l->at] == l->selected, "the selected row is at its place");
	if (before->has && !before->follows && is_row(a, before->selected))
		expect(l->selected == before->selected, what);
}

static void look(struct app *a)
{
	struct list before = a->list;
	struct ms_err err = {0};
	bool groups = a->rows.view == ROWS_GROUPS;
	expect(app_look(a, &err) == 0, err.text);
	if (before.has && !before.follows && !groups)
		expect(is_row(a, before.selected), "the selected row stays when its process ends");
	check_same(a, &before, "it jumped when the rows changed");
	if (before.follows && a->list.has)
		expect(a->list.at == 0, "the first row, as nobody chose another");
}

static void check_frame(struct app *a)
{
	char line[400 * GRID_BYTES + 1];
	unsigned marked = 0;
	int rows = 10 + rand() % 60, cols = 40 + rand() % 160;
	app_draw(a, rows, cols);
	if (a->mode != MODE_LIST || a->inspecting)
		return;
	for (int i = 0; i < rows; i++) {
		grid_row(&a->grid, i, line, sizeof line);
		marked += line[0] == '>';
	}
	expect(marked == a->list.has, "one row of the screen is marked");
}

/* Keys that move the selection: where to? */
static void go(struct app *a)
{
	static const struct {
		int code;
		long by;
	} moves[] = {{'j', 1}, {KEY_UP, -1}, {TERM_WHEEL_DOWN, 3}, {TERM_WHEEL_UP, -3}};
	size_t i = (size_t)rand() % 5;
	long at = (long)a->list.at, last = (long)a->list.n - 1;
	if (i == 4) {
		app_key(a, 'G');
		at = last;
	} else {
		app_key(a, moves[i].code);
		at += moves[i].by;
	}
	at = at > last ? last : at;
	at = at < 0 ? 0 : at;
	if (a->list.n)
		expect((long)a->list.at == at, "moved as far as was asked for");
	expect(!a->list.follows, "from now on somebody has chosen");
}

static void press(struct app *a)
{
	static const int codes[] = {'s', 'S', 'v', 'K', 'u', '1', '2',          '3',  '\t',
				    'b', 12,  'c', '?', 'f', 'F', TERM_RESIZED, '\n', 27};
	struct list before = a->list;
	bool list = a->mode == MODE_LIST && !a->inspecting;
	if (list && rand() % 3 == 0) {
		go(a);
		return;
	}
	if (list && rand() % 12 == 0) {
		app_key(a, 'g');
		expect(a->list.follows && a->list.at == 0, "the first row");
		return;
	}
	int code = codes[(size_t)rand() % (sizeof codes / sizeof codes[0])];
	if (a->mode == MODE_FILTER && rand() % 2)
		code = "abgd|\x15"[rand() % 6];
	bool sorts = (list && (code == 'v' || toupper(code) == 'S')) ||
		     (a->mode == MODE_COLUMNS && code == 's');
	app_key(a, code);
	a->quit = false;
	if (sorts && !before.kept)
		expect(a->list.follows && a->list.at == 0, "another order shows the first row");
	else
		check_same(a, &before, "it jumped at a key that moves nothing");
}

static void run(const struct options *o)
{
	struct app a;
	struct ms_err err = {0};
	srand(seed);
	for (unsigned i = 0; i < PIDS; i++)
		remove_process(i);
	expect(app_open(&a, o, &err) == 0, err.text);
	for (step = 0; step < 200; step++) {
		for (int i = rand() % 4; i > 0; i--)
			change();
		look(&a);
		press(&a);
		if (rand() % 3 == 0)
			check_frame(&a);
	}
	app_close(&a);
}

int main(void)
{
	char *argv[] = {"ms-top", "--proc-root", "proc", NULL};
	struct options o;
	struct ms_err err = {0};
	mkdir("proc", 0700);
	expect(options_parse(&o, 3, argv, &err) == 0, err.text);
	for (seed = 1; seed <= 8; seed++)
		run(&o);
	if (!failures)
		printf("ok\n");
	return failures != 0;
}
