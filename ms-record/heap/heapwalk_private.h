/* SPDX-License-Identifier: MIT
 * What the files of heapwalk.h share: glibc's structures, as they lie in memory.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "ms-record/ptrace/attach_maps.h"
#include "heapwalk.h"

/* struct malloc_state since 2.27, in words of 8 bytes. */
enum {
	ARENA_FLAGS = 0, /* upper half: ints mutex, flags */
	ARENA_FAST = 2,
	ARENA_FASTBINS = 10,
	ARENA_TOP = 12,
	ARENA_BINS = 14,
	ARENA_BIN_COUNT = 127,
	ARENA_NEXT = 270,
	ARENA_SYSTEM = 273,
	ARENA_SYSTEM_MAX = 274,
	ARENA_WORDS = 275,
};
#define ARENA_NONCONTIGUOUS 2u
#define PAGE UINT64_C(4096)
#define HEAP_MOST (UINT64_C(64) << 20) /* of an arena's heap, which is aligned to that */
#define HEAP_INFO_MOST 64u
#define ARENAS_MOST 4096u
#define HEAPS_MOST 65536u
#define KEYS_MOST 1024u

struct arena {
	uint64_t at;
	uint64_t words[ARENA_WORDS];
	bool main;
};

/* Chunks lie one behind the other from start to end, where the top chunk is, or a fence. */
struct region {
	uint64_t start, end;
	uint64_t reach; /* it may grow to here */
	uint64_t arena;
	bool fenced; /* it ends with a fence before `end` */
};

/* A chunk that looks used, and the second word of its block, which tells whether it is cached. */
struct found {
	uint64_t at, bytes, word;
};

/* Lists addresses of chunks, or words in them: in any order while they are found, then sorted. */
struct words {
	uint64_t *v;
	size_t n, cap;
};

/* Which pages have been written. The others are not looked at: a read makes the kernel map a page
 * of zeros there, in tables that the process is charged with for as long as it lives. */
struct pages {
	int fd; /* -1 = cannot be known */
	uint64_t first;
	size_t n;
	unsigned looks; /* how often it was read, and what else its user counts */
	uint64_t v[2048];
};

/* Small reads that lie near one another: a page is read once, until something begins anew. */
#define NEAR_PAGES 256u
struct near_pages {
	struct {
		uint64_t at, round; /* of the page in v */
	} of[NEAR_PAGES];
	uint64_t round; /* what is of an earlier one is read again */
	uint8_t v[NEAR_PAGES][PAGE];
};

struct walk {
	struct heapwalk *out;
	const struct heapwalk_from *from;
	struct attach_maps maps;
	struct pages pages;
	struct near_pages *near;
	MS_ARRAY(struct arena) arenas;
	MS_ARRAY(struct region) regions;
	MS_ARRAY(struct found) found;
	struct words fast, own; /* chunks in fast lists; the threads' caches themselves */
	unsigned tries;         /* how often the chunks led astray */
	struct words keys;      /* what stands in a chunk that a thread's cache has */
	/* struct malloc_par */
	uint64_t base,
		mapped_at; /* of the main heap; address of {mapped count, ...}, 0 = unknown */
};

static inline bool walk_get(const struct walk *k, uint64_t at, void *to, size_t bytes)
{
	return k->from->memory.read(k->from->memory.arg, at, to, bytes);
}

/* Less than the whole was walked; because it had to end, if that is so, else why. */
void walk_missing(struct walk *k, const char *why);
/* Is it to end? */
bool walk_over(const struct walk *k);
/* A few words, as they are or were since the last walk_forget: one read serves all of a page. */
bool walk_word(const struct walk *k, uint64_t at, void *to, size_t bytes);
void walk_forget(const struct walk *k);
bool walk_in_heap(const struct walk *k, uint64_t at);
/* Has the page of that address been written? True where that cannot be known. */
bool walk_written(struct walk *k, uint64_t at);

/* heapwalk_find.c: arenas, malloc_par and regions. False = there is no heap of glibc's. */
bool walk_find(struct walk *k);
/* heapwalk_cache.c: what is free, though it looks used. */
void walk_caches(struct walk *k);
/* Once they are sorted. */
bool walk_among(const struct words *w, uint64_t word);
/* heapwalk_mapped.c: blocks with a mapping of their own. */
void walk_mapped(struct walk *k);
