/* SPDX-License-Identifier: MIT
 * Stores each different byte string once, found by its hash.
 */
#include "intern.h"

#include <string.h>

static uint32_t hash_of(const unsigned char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return (uint32_t)(h ^ h >> 29);
}

uint32_t intern(struct intern *t, const void *bytes, size_t size)
{
	uint32_t hash = hash_of(bytes, size), n;
	for (size_t at = hash; (n = ms_lookup_next(&t->index, hash, &at));) {
		const struct interned *x = interned(t, n - 1);
		if (x->size == size && (size == 0 || memcmp(x->bytes, bytes, size) == 0))
			return n - 1;
	}
	char *copy = ms_arena_alloc(&t->arena, size + 1);
	if (size)
		memcpy(copy, bytes, size);
	*MS_PUSH(&t->all) = (struct interned){copy, size};
	ms_lookup_add(&t->index, hash, (uint32_t)t->all.n);
	return (uint32_t)t->all.n - 1;
}

uint32_t intern_text(struct intern *t, const char *s)
{
	return intern(t, s, strlen(s));
}

void intern_free(struct intern *t)
{
	MS_FREE(t->all.v, t->index.slots);
	ms_arena_free(&t->arena);
}
