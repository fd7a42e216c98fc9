/* SPDX-License-Identifier: MIT
 * A program whose memory is planted: app SCALE PEAK GROWTH SITE NAME, in bytes; NAME is the function that has them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noinline)) static void
static void *volatile kept[64];
static size_t used;

static void *get(size_t n)
{
	void *p = malloc(n);
	return p ? memset(p, 1, n) : (exit(2), NULL);
}

#define PLANTED(name)                                                                              \
	FUNCTION name(size_t peak, size_t growth, size_t site)                                     \
	{                                                                                          \
		if (peak) {                                                                        \
			void *p = get(peak);                                                       \
			free(p);                                                                   \
		}                                                                                  \
		if (growth)                                                                        \
			kept[used++] = get(growth);                                                \
		if (site)                                                                          \
			kept[used++] = get(site);                                                  \
	}
PLANTED(load_table)
PLANTED(read_all)
PLANTED(fill_cache)
PLANTED(keep_log)
PLANTED(send_mail)
PLANTED(draw_icon)
PLANTED(sort_rows)
PLANTED(pack_all)
PLANTED(queue_job)
PLANTED(hold_page)
PLANTED(ask_host)
PLANTED(play_tone)

static const struct {
	const char *name;
	void (*call)(size_t peak, size_t growth, size_t site);
} planted[] = {
	{"load_table", load_table}, {"read_all", read_all},   {"fill_cache", fill_cache},
	{"keep_log", keep_log},     {"send_mail", send_mail}, {"draw_icon", draw_icon},
	{"sort_rows", sort_rows},   {"pack_all", pack_all},   {"queue_job", queue_job},
	{"hold_page", hold_page},   {"ask_host", ask_host},   {"play_tone", play_tone},
};

/* Allocates and frees what the program needs anyhow. */
FUNCTION parse_words(size_t scale)
{
	char *words[50];
	for (size_t i = 0; i < 50; i++)
		words[i] = get(20 + scale % 7 * i);
	for (size_t i = 0; i < 50; i++)
		free(words[i]);
}

FUNCTION build_index(size_t scale)
{
	for (size_t i = 0; i < 20; i++)
		kept[used++] = get(100 * scale);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	size_t scale = strtoul(argv[1], NULL, 10), peak = strtoul(argv[2], NULL, 10);
	size_t growth = strtoul(argv[3], NULL, 10), site = strtoul(argv[4], NULL, 10);
	parse_words(scale);
	build_index(scale);
	for (size_t i = 0; i < sizeof planted / sizeof *planted; i++)
		if (strcmp(argv[5], planted[i].name) == 0)
			planted[i].call(peak, growth, site);
	return puts("done") < 0;
}
