/* SPDX-License-Identifier: MIT
 * Strings of bytes, each kept once: an open hash table of numbers.
 */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const unsigned char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h ^ h >> 29;
}

static void grow(struct intern *t)
{
	size_t count = t->slot_count ? t->slot_count * 2 : 1024;
	free(t->slots);
	t->slots = memset(ms_xrealloc(NULL, count, sizeof *t->slots), 0, count * sizeof *t->slots);
	t->slot_count = count;
	for (size_t i = 0; i < t->all.n; i++) {
		size_t at = t->all.v[i].hash & (count - 1);
		while (t->slots[at])
			at = (at + 1) & (count - 1);
		t->slots[at] = (uint32_t)i + 1;
	}
}

uint32_t intern(struct intern *t, const void *bytes, size_t size)
{
	uint64_t hash = hash_of(bytes, size);
	if ((t->all.n + 1) * 2 > t->slot_count)
		grow(t);
	size_t at = hash & (t->slot_count - 1);
	for (; t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
		const struct interned *x = &t->all.v[t->slots[at] - 1];
		if (x->hash == hash && x->size == size &&
		    (size == 0 || memcmp(x->bytes, bytes, size) == 0))
			return t->slots[at] - 1;
	}
	char *copy = ms_arena_alloc(&t->arena, size + 1);
	if (size)
		memcpy(copy, bytes, size);
	*MS_PUSH(&t->all) = (struct interned){copy, size, hash};
	t->slots[at] = (uint32_t)t->all.n;
	return (uint32_t)t->all.n - 1;
}

uint32_t intern_text(struct intern *t, const char *s)
{
	return intern(t, s, strlen(s));
}

void intern_free(struct intern *t)
{
	free(t->all.v);
	free(t->slots);
	ms_arena_free(&t->arena);
}
