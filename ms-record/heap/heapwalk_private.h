/* SPDX-License-Identifier: MIT
 * Declares what the files of heapwalk.h share: glibc's structures, as they lie in memory.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "ms-record/ptrace/attach_maps.h"
#include "heapwalk.h"

/* Lists fields of glibc's struct malloc_state since 2.27, in words of 8 bytes. */
enum {
	ARENA_FLAGS = 0, /* int mutex; int flags in the upper half */
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
#define HEAP_MOST (UINT64_C(64) << 20) /* size limit and alignment of an arena's heap */
#define HEAP_INFO_MOST 64u
#define ARENAS_MOST 4096u
#define HEAPS_MOST 65536u
#define KEYS_MOST 1024u

struct arena {
	uint64_t at;
	uint64_t words[ARENA_WORDS];
	bool main;
};

/* Describes consecutive chunks from start to end, where the top chunk or a fence is. */
struct region {
	uint64_t start, end;
	uint64_t reach; /* the region may grow up to here */
	uint64_t arena;
	bool fenced; /* the region ends with a fence before `end` */
};

/* Describes a chunk that looks used, with its block's second word, which shows whether it is
 * cached. */
struct found {
	uint64_t at, bytes, word;
};

/* Lists addresses of chunks, or words in them: unsorted during the search, sorted afterwards. */
struct words {
	uint64_t *v;
	size_t n, cap;
};

/* Tells which pages have been written. Other pages are not read, because a read makes the kernel
 * map a zero page, whose page tables stay charged to the process as long as it lives. */
struct pages {
	int fd; /* pagemap; -1 = cannot be read */
	uint64_t first;
	size_t n;
	unsigned looks; /* how often `fd` was read; walk_mapped also counts its look-ups here */
	uint64_t v[2048];
};

/* Caches pages for small reads that lie close together: a page is read once per round. */
#define NEAR_PAGES 256u
struct near_pages {
	struct {
		uint64_t at, round; /* address and round of the page in `v` */
	} of[NEAR_PAGES];
	uint64_t round; /* pages of an earlier round are read again */
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
	/* fast: chunks in fast lists; own: chunks holding a thread's cache */
	struct words fast, own;
	unsigned tries;    /* how often the walk lost track of the chunks */
	struct words keys; /* marks that glibc writes into cached chunks */
	/* The next two members are from struct malloc_par. */
	uint64_t base,
		/* base: start of the main heap; mapped_at: address of the mapping counts; 0 =
		 * unknown */
		mapped_at;
};

static inline bool walk_get(const struct walk *k, uint64_t at, void *to, size_t bytes)
{
	return k->from->memory.read(k->from->memory.arg, at, to, bytes);
}

/* Notes that part of the heap is missing. `why` is replaced if the walk was stopped or out of
 * time. */
void walk_missing(struct walk *k, const char *why);
/* Tells whether the walk must end. */
bool walk_over(const struct walk *k);
/* Reads a few words. Their values may be as old as the last walk_forget(), because one read
 * fetches a whole page for several calls. */
bool walk_word(const struct walk *k, uint64_t at, void *to, size_t bytes);
void walk_forget(const struct walk *k);
bool walk_in_heap(const struct walk *k, uint64_t at);
/* Tells whether the page of that address has been written; true also if that cannot be
 * determined. */
bool walk_written(struct walk *k, uint64_t at);

/* Finds arenas, malloc_par and regions (heapwalk_find.c). False = no glibc heap. */
bool walk_find(struct walk *k);
/* Finds free chunks that look used (heapwalk_cache.c). */
void walk_caches(struct walk *k);
/* Tells whether the sorted list contains the word. */
bool walk_among(const struct words *w, uint64_t word);
/* Finds blocks with a mapping of their own (heapwalk_mapped.c). */
void walk_mapped(struct walk *k);
