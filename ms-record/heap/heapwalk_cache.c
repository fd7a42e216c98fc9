/* SPDX-License-Identifier: MIT
 * Finds freed chunks that still look used: those in the threads' caches and in the arenas' fast
 * lists.
 *
 * A cached chunk holds a word by which free detects a double free: since glibc 2.34 one number for
 * the whole process, before that the cache's own address. The word is read from the caches, which
 * the threads' own memory points to. So chunks are recognised without following lists that change.
 */
#include <stdlib.h>

#include "heapwalk_private.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"

#define TLS_MOST 65536u /* bytes searched below a thread pointer */
#define BINS 64u
#define TORN_MOST 3u /* maximum number of entries that may change during a read */
#define FAST_TRIES 64u
#define FAST_MOST (1u << 24)

bool walk_among(const struct words *w, uint64_t word)
{
	return w->n && bsearch(&word, w->v, w->n, sizeof *w->v, ms_by_first_number);
}

static void sort(struct words *w)
{
	MS_SORT(w->v, w->n, ms_by_first_number);
}

/* Tells whether the unsorted list contains the word. */
static bool known(const struct words *w, uint64_t word)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i] == word)
			return true;
	return false;
}

/* ---- threads' caches ---- */

/* Holds a thread's cache. Its counts have two bytes since glibc 2.30, and one byte before. */
struct cache {
	uint64_t entries[BINS];
	uint16_t counts[BINS];
};

static bool read_cache(const struct walk *k, uint64_t at, struct cache *c)
{
	uint64_t size;
	uint8_t small[BINS];
	if (!walk_get(k, at - 8, &size, sizeof size))
		return false;
	if ((size & ~UINT64_C(7)) == 0x290)
		return walk_get(k, at, c->counts, sizeof c->counts) &&
		       walk_get(k, at + sizeof c->counts, c->entries, sizeof c->entries);
	if ((size & ~UINT64_C(7)) != 0x250 || !walk_get(k, at, small, sizeof small) ||
	    !walk_get(k, at + sizeof small, c->entries, sizeof c->entries))
		return false;
	for (unsigned i = 0; i < BINS; i++)
		c->counts[i] = small[i];
	return true;
}

static bool looks_like_one(const struct walk *k, const struct cache *c)
{
	unsigned torn = 0;
	for (unsigned i = 0; i < BINS; i++) {
		uint64_t e = c->entries[i];
		if (e && (e & 15 || !walk_in_heap(k, e)))
			return false;
		torn += !c->counts[i] != !e;
	}
	return torn <= TORN_MOST;
}

static void add_key(struct walk *k, uint64_t key)
{
	if (key && k->keys.n < KEYS_MOST && !known(&k->keys, key))
		*MS_PUSH(&k->keys) = key;
}

/* Counts votes for the key that glibc writes into cached chunks. Since glibc 2.34, a process has
 * one key. */
struct votes {
	uint64_t key[16];
	unsigned count[16];
};

static void vote(struct votes *v, uint64_t key)
{
	for (unsigned i = 0; i < 16; i++) {
		if (v->count[i] && v->key[i] != key)
			continue;
		v->key[i] = key;
		v->count[i]++;
		return;
	}
}

static void take_cache(struct walk *k, uint64_t at, const struct cache *c, struct votes *v)
{
	*MS_PUSH(&k->own) = at - 16;
	for (unsigned i = 0; i < BINS; i++) {
		uint64_t e[2];
		if (!c->entries[i] || !walk_get(k, c->entries[i], e, sizeof e) || !e[1])
			continue;
		if (e[1] == at)
			add_key(k, at);
		else
			vote(v, e[1]);
	}
}

static bool is_cache(const struct walk *k, uint64_t at, struct cache *c)
{
	return at && !(at & 15) && walk_in_heap(k, at) && !known(&k->own, at - 16) &&
	       read_cache(k, at, c) && looks_like_one(k, c);
}

/* Finds the caches that words of a thread's static memory point to. */
static void look_at_thread(struct walk *k, uint64_t tp, struct votes *v)
{
	const struct attach_map *m = attach_maps_at(&k->maps, tp);
	uint64_t low = m && tp - m->start > TLS_MOST ? tp - TLS_MOST : m ? m->start : 0;
	struct cache c;
	if (!m || !m->read || tp & 7 || tp == low)
		return;
	low = (low + 7) & ~UINT64_C(7);
	for (uint64_t at = low, end; at < tp; at = end) {
		uint64_t words[PAGE / 8];
		end = (at & ~(PAGE - 1)) + PAGE;
		end = end < tp ? end : tp;
		size_t n = (size_t)(end - at) / 8;
		if (!walk_written(k, at) || !walk_get(k, at, words, n * sizeof *words))
			continue;
		for (size_t i = 0; i < n; i++)
			if (is_cache(k, words[i], &c))
				take_cache(k, words[i], &c, v);
	}
}

/* ---- fast lists ---- */

static bool fits(const struct walk *k, uint64_t chunk, uint64_t bytes)
{
	uint64_t size;
	return !(chunk & 15) && walk_in_heap(k, chunk) &&
	       walk_word(k, chunk + 8, &size, sizeof size) && (size & ~UINT64_C(7)) == bytes;
}

/* Reads the link of a chunk: plain, or combined with its address by XOR (since glibc 2.32). */
static bool next_of(const struct walk *k, uint64_t chunk, uint64_t bytes, uint64_t *next)
{
	uint64_t raw, at = chunk + 16;
	if (!walk_word(k, at, &raw, sizeof raw))
		return false;
	*next = raw ^ at >> 12;
	if (!*next || fits(k, *next, bytes))
		return true;
	*next = raw;
	return !raw || fits(k, raw, bytes);
}

/* Reads a fast list. Returns false if the list changed meanwhile; each chunk found was in the
 * list at some time. */
static bool read_list(struct walk *k, uint64_t head, uint64_t bytes)
{
	uint64_t chunk, earlier = 0;
	walk_forget(k);
	if (!walk_get(k, head, &chunk, sizeof chunk))
		return false;
	for (uint64_t n = 1; chunk && n <= FAST_MOST; n++) {
		if (!fits(k, chunk, bytes) || chunk == earlier) /* the chunk is damaged, or the list
								   is a cycle */
			return false;
		if (!(n & (n - 1)))
			earlier = chunk;
		*MS_PUSH(&k->fast) = chunk;
		if (walk_over(k) || !next_of(k, chunk, bytes, &chunk))
			return false;
	}
	return !chunk;
}

static void read_lists(struct walk *k, const struct arena *a)
{
	bool whole = true;
	for (unsigned i = 0; i < ARENA_FASTBINS; i++) {
		bool good = false;
		for (unsigned t = 0; t < (k->from->maps ? 1 : FAST_TRIES) && !good && !walk_over(k);
		     t++) {
			good = read_list(k, a->at + 8 * (ARENA_FAST + i), 32 + 16 * (uint64_t)i);
		}
		whole &= good;
	}
	if (!whole)
		walk_missing(k, "a list of free chunks is damaged, or keeps changing");
}

void walk_caches(struct walk *k)
{
	struct votes v = {0};
	for (size_t i = 0; i < k->from->tp_count && !walk_over(k); i++)
		look_at_thread(k, k->from->tps[i], &v);
	unsigned best = 0;
	for (unsigned i = 1; i < 16; i++)
		best = v.count[i] > v.count[best] ? i : best;
	if (v.count[best])
		add_key(k, v.key[best]);
	for (size_t i = 0; i < k->arenas.n; i++)
		read_lists(k, &k->arenas.v[i]);
	sort(&k->keys);
	sort(&k->own);
	sort(&k->fast);
}
