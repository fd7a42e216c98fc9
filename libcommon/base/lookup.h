/* SPDX-License-Identifier: MIT
 * Finds elements of an array by their contents: a hash table from hashes to numbers, with open
 * addressing.
 *
 *   for (size_t at = hash; (n = ms_lookup_next(&x, hash, &at));)
 *           if (array[n - 1] is the one looked for)
 *                   return n;
 *   ms_lookup_add(&x, hash, number of the one appended to the array);
 *
 * Elements are never removed; they are numbered from 1. Hashes are stored, so that growing needs no
 * hash function, and only elements with an equal hash are compared.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Holds the hash table. All zero = empty. Free with free(slots). */
struct ms_lookup {
	struct ms_lookup_slot {
		uint32_t hash, number; /* number 0 = free slot */
	} * slots;
	size_t mask, n;
};

static inline uint32_t ms_hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

static inline uint32_t ms_hash_text(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
	return (uint32_t)(h ^ h >> 32);
}

/* Return hashes that continue `h` with a number, or with a text (NULL = ""). */
static inline uint64_t ms_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static inline uint64_t ms_mix_text(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(1099511628211);
	return ms_mix(h, 0);
}

/* Returns the next number with that hash; 0 = there is none. Set *at to `hash` before the first
 * call. */
static inline uint32_t ms_lookup_next(const struct ms_lookup *x, uint32_t hash, size_t *at)
{
	for (const struct ms_lookup_slot *s; x->n; ++*at) {
		s = &x->slots[*at & x->mask];
		if (!s->number || s->hash == hash) {
			++*at;
			return s->number;
		}
	}
	return 0;
}

void ms_lookup_add(struct ms_lookup *x, uint32_t hash, uint32_t number);
/* Removes all elements. */
void ms_lookup_clear(struct ms_lookup *x);
