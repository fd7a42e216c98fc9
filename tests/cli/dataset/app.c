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
#define NAMES(X) X(load_table) X(read_all) X(fill_cache) X(keep_log) X(send_mail) X(draw_icon)
NAMES(PLANTED)

/* What the program does anyhow. */
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
#define CALL(name)                                                                                 \
	if (strcmp(argv[5], #name) == 0)                                                           \
		name(peak, growth, site);
	NAMES(CALL)
	return puts("done") < 0;
}
