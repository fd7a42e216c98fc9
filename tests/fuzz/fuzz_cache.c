/* SPDX-License-Identifier: MIT
 * Fuzzes a file of the cache of symbols.
 *
 * Input: the file; its checksum is made to fit, so that what lies behind it is read, too.
 */
#include <stdlib.h>
#include <string.h>

#include "format/block.h"
#include "fuzz.h"
#include "libcommon/symbols/symbols_cache.h"

enum { CHECKSUM_AT = 8, SUMMED_FROM = 12 };

static volatile size_t sum; /* so that every byte is really read */

static void read_text(const char *s)
{
	sum += s ? strlen(s) : 0;
}

static void read_all(const struct ms_cached *c)
{
	read_text(c->source);
	for (size_t i = 0; i < c->files.n; i++) {
		read_text(c->files.v[i].path);
		read_text(c->files.v[i].real);
	}
	for (size_t i = 0; i < c->chains.n; i++) {
		const struct ms_cached_chain *x = &c->chains.v[i];
		if (!x->n || ms_cached_find(c, x->address) != x)
			abort();
		for (size_t k = 0; k < x->n; k++) {
			read_text(x->v[k].function);
			read_text(x->v[k].file);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_arena a = {0};
	struct ms_cached c = {.name = "name", .key = "key"};
	uint8_t *copy = malloc(n + 1);
	memcpy(copy, data, n);
	if (n > SUMMED_FROM) {
		uint32_t checksum = ms_crc32c(0, copy + SUMMED_FROM, n - SUMMED_FROM);
		memcpy(copy + CHECKSUM_AT, &checksum, sizeof checksum);
	}
	if (ms_cached_parse(&c, copy, n, &a))
		read_all(&c);
	ms_cached_free(&c);
	ms_arena_free(&a);
	free(copy);
	return 0;
}
