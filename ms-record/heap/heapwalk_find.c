/* SPDX-License-Identifier: MIT
 * Finds glibc's arenas by their shape: a C library has no symbols for them.
 *
 * Empty bins point to themselves, and the chunks in other bins point back to the bin, so that a
 * word's value reveals its own address. A place some bins further on also looks like that; there
 * the top chunk would lie inside the structure itself.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heapwalk_private.h"
#include "ms-record/base/cpu.h"
#include "libcommon/base/path.h"
#include "libcommon/base/arena.h"

#define DATA_MOST ((size_t)16 << 20) /* maximum number of bytes searched in a module's data */
#define BINS_BAD 7u                  /* maximum number of bins that may change during a read */
#define FIND_TRIES 16u
#define MAPS_MOST_DEFAULT 65536u
#define PAGE UINT64_C(4096)
#define HEAP_LEAST (UINT64_C(1) << 20) /* minimum alignment of heaps */
#define HEAP_HEAD_MOST 128u

/* ---- an arena ---- */

static bool is_link(uint64_t v)
{
	return v && !(v & 15) && v >> CPU_ADDRESS_BITS == 0;
}

/* Tells whether a chunk is in the bin that begins at `self`. */
static bool hangs(const struct walk *k, uint64_t chunk, uint64_t self)
{
	uint64_t back;
	return walk_word(k, chunk + 24, &back, sizeof back) && back == self;
}

/* Tells whether the words look like an arena's bins. The two links of a bin are at the offsets
 * that they would have in a chunk at `self`. Some bins may change during the read. */
static bool has_bins(const struct walk *k, const uint64_t *w, uint64_t at)
{
	unsigned bad = 0;
	for (unsigned i = 0; i < ARENA_BIN_COUNT; i++)
		if (!is_link(w[ARENA_BINS + 2 * i]) || !is_link(w[ARENA_BINS + 2 * i + 1]))
			return false;
	for (unsigned i = 0; i < ARENA_BIN_COUNT && bad <= BINS_BAD; i++) {
		uint64_t self = at + 8 * (ARENA_BINS - 2 + 2 * i);
		const uint64_t *bin = &w[ARENA_BINS + 2 * i];
		bad += !((bin[0] == self && bin[1] == self) || hangs(k, bin[0], self));
	}
	return bad <= BINS_BAD;
}

/* Tells whether `next` can be the main arena's successor in the ring: itself, or an arena at the
 * start of a heap, which is aligned. */
static bool is_successor(uint64_t next, uint64_t at)
{
	return next == at || (!(next & 7) && next % HEAP_LEAST <= HEAP_HEAD_MOST);
}

/* Tells whether an arena is at `at`. Checks the bins last: each may need a read from the process,
 * and any table of pointers looks like bins. */
static bool is_arena(const struct walk *k, const uint64_t *w, uint64_t at)
{
	uint64_t top = w[ARENA_TOP];
	return is_link(top) && top - at >= 8 * ARENA_WORDS && w[ARENA_SYSTEM] &&
	       w[ARENA_SYSTEM] <= w[ARENA_SYSTEM_MAX] && is_successor(w[ARENA_NEXT], at) &&
	       attach_maps_at(&k->maps, w[ARENA_NEXT]) && has_bins(k, w, at);
}

static struct arena *add_arena(struct walk *k, uint64_t at, const uint64_t *w)
{
	struct arena *a = MS_PUSH(&k->arenas);
	a->at = at;
	a->main = k->arenas.n == 1;
	memcpy(a->words, w, sizeof a->words);
	return a;
}

/* Adds the other arenas, which form a ring. */
static void follow_ring(struct walk *k)
{
	uint64_t first = k->arenas.v[0].at, at = k->arenas.v[0].words[ARENA_NEXT];
	for (; at != first && k->arenas.n < ARENAS_MOST;
	     at = k->arenas.v[k->arenas.n - 1].words[ARENA_NEXT]) {
		uint64_t w[ARENA_WORDS];
		/* add_heaps checks that an arena is there. */
		if (at & 7 || !walk_get(k, at, w, sizeof w) || !is_link(w[ARENA_TOP])) {
			walk_missing(k,
				     "the list of arenas is damaged, or changed while it was read");
			return;
		}
		add_arena(k, at, w);
	}
}

/* ---- struct malloc_par ---- */

/* Tells whether `p` points to the limit of mappings in struct malloc_par. The number of mappings
 * comes before it; after it come, in this order, the highest number of mappings so far, a flag,
 * the bytes mapped, the highest number of such bytes so far, and the start of the main heap. */
static bool is_par(const uint8_t *p, uint64_t heap, uint64_t heap_end, uint64_t *base)
{
	uint32_t n[4];
	uint64_t words[3];
	memcpy(n, p - 4, sizeof n);
	memcpy(words, p + ((uintptr_t)p % 8 ? 12 : 16), sizeof words);
	*base = words[2];
	return n[1] == MAPS_MOST_DEFAULT && n[0] <= n[2] && n[2] <= n[1] && n[3] <= 1 &&
	       words[0] % PAGE == 0 && words[0] <= words[1] && *base >= heap && *base < heap_end;
}

/* Returns the lowest address of the memory around a mapping. A heap that grew after a fork is two
 * mappings, one above the other. */
static uint64_t start_around(const struct walk *k, const struct attach_map *m)
{
	while (m > k->maps.v && m[-1].end == m->start && !strcmp(m[-1].path, m->path))
		m--;
	return m->start;
}

static void look_for_par(struct walk *k, const uint8_t *data, size_t bytes, uint64_t at)
{
	const struct attach_map *heap = attach_maps_at(&k->maps, k->arenas.v[0].words[ARENA_TOP]);
	if (!heap)
		return;
	uint64_t start = start_around(k, heap);
	for (size_t i = 64; i + 64 <= bytes; i += 4) {
		uint32_t most;
		uint64_t base;
		memcpy(&most, data + i, 4);
		if (most != MAPS_MOST_DEFAULT || !is_par(data + i, start, heap->end, &base))
			continue;
		k->base = base;
		k->mapped_at = at + i - 4;
		return;
	}
}

/* ---- modules ---- */

static bool may_hold(const char *path, const char *exe)
{
	const char *name = basename(path);
	return !strcmp(path, exe) || !strncmp(name, "libc.so.6", 9) || !strncmp(name, "libc-2.", 7);
}

static bool search(struct walk *k, const uint8_t *data, size_t bytes, uint64_t at)
{
	for (size_t i = 0; i + 8 * ARENA_WORDS <= bytes; i += 8) {
		const uint64_t *w = (const void *)(data + i);
		/* The first bin alone rules out nearly all addresses. */
		if (!is_link(w[ARENA_BINS]))
			continue;
		if (walk_over(k))
			return false;
		if (!is_arena(k, w, at + i))
			continue;
		add_arena(k, at + i, w);
		look_for_par(k, data, bytes, at);
		return true;
	}
	return false;
}

/* Searches the data of a module, from map `i` on, with its .bss. */
static bool search_data(struct walk *k, size_t i)
{
	const struct attach_map *m = &k->maps.v[i];
	uint64_t start = m->start, end = m->end;
	for (i++; i < k->maps.n && k->maps.v[i].start == end && k->maps.v[i].write &&
		  (!k->maps.v[i].path[0] || !strcmp(k->maps.v[i].path, m->path));
	     i++)
		end = k->maps.v[i].end;
	if (end - start > DATA_MOST)
		end = start + DATA_MOST;
	uint8_t *data = ms_xcalloc((size_t)(end - start), 1);
	bool found = walk_get(k, start, data, (size_t)(end - start)) &&
		     search(k, data, (size_t)(end - start), start);
	free(data);
	return found;
}

/* ---- regions ---- */

/* Adds the heaps of an arena: the last one has the top chunk, and each one links to the one
 * before. */
static void add_heaps(struct walk *k, const struct arena *a)
{
	uint64_t top = a->words[ARENA_TOP], last = top & ~(HEAP_MOST - 1);
	uint64_t own = a->at & ~(HEAP_MOST - 1), head = a->at - own;
	uint64_t heap = last;
	while (heap && k->regions.n < HEAPS_MOST && !walk_over(k)) {
		uint64_t info[3]; /* arena, previous heap, size */
		if (!walk_get(k, heap, info, sizeof info) || info[0] != a->at ||
		    info[2] > HEAP_MOST || head > HEAP_INFO_MOST) {
			walk_missing(
				k, "an arena's heap is damaged, or was unmapped while it was read");
			return;
		}
		uint64_t first = heap == own ? a->at + sizeof a->words : heap + head;
		*MS_PUSH(&k->regions) = (struct region){.start = (first + 15) & ~UINT64_C(15),
							.end = heap == last ? top : heap + info[2],
							.reach = heap + HEAP_MOST,
							.arena = a->at,
							.fenced = heap != last};
		heap = info[1];
	}
	if (heap)
		walk_missing(k, "an arena has too many heaps");
}

static void add_regions(struct walk *k)
{
	const struct arena *m = &k->arenas.v[0];
	if (!k->base)
		walk_missing(k, "the start of the main heap was not found");
	else if (k->base <= m->words[ARENA_TOP])
		*MS_PUSH(&k->regions) = (struct region){
			.start = (k->base + 15) & ~UINT64_C(15),
			.end = m->words[ARENA_TOP],
			.arena = m->at,
			.reach = attach_maps_at(&k->maps, m->words[ARENA_TOP])->end};
	if (m->words[ARENA_FLAGS] >> 32 & ARENA_NONCONTIGUOUS)
		walk_missing(k, "the main heap is not contiguous");
	for (size_t i = 1; i < k->arenas.n; i++)
		add_heaps(k, &k->arenas.v[i]);
}

/* Searches the modules that may hold the main arena: a separate C library first, then the program,
 * whose data may be large. */
static void search_modules(struct walk *k, const char *exe)
{
	walk_forget(k);
	for (unsigned own = 0; own < 2; own++)
		for (size_t i = 0; i < k->maps.n && !k->arenas.n; i++) {
			const struct attach_map *m = &k->maps.v[i];
			if (m->read && m->write && !m->shared && m->path[0] == '/' &&
			    may_hold(m->path, exe) && (strcmp(m->path, exe) == 0) == own)
				search_data(k, i);
		}
}

bool walk_find(struct walk *k)
{
	char exe[4097];
	ssize_t n = k->from->exe ? 0 : readlinkat(k->from->proc, "exe", exe, sizeof exe - 1);
	unsigned tries = k->from->maps ? 1 : FIND_TRIES;
	exe[n > 0 ? n : 0] = '\0';
	/* The arena may change so much during a read that it is not recognised. */
	for (unsigned t = 0; t < tries && !k->arenas.n && !walk_over(k); t++)
		search_modules(k, k->from->exe ?: exe);
	if (!k->arenas.n)
		return false;
	k->out->top = k->arenas.v[0].words[ARENA_TOP];
	follow_ring(k);
	add_regions(k);
	return true;
}
