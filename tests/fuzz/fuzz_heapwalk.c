/* SPDX-License-Identifier: MIT
 * Fuzzes the walk over another process's heap: a small heap as glibc leaves it, then damaged, also
 * while it is read. The sound one is walked whole; the work for a damaged one is bounded.
 *
 * Input: words of 12 bytes: { when, what | region << 4, place low, place high, value (8) }. `what`:
 * the word at that place of the region is set, added to, or becomes the address of another place,
 * or the region goes away, or that page was never written. `when`: after so many reads, times 4.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "folder.h"
#include "fuzz.h"
#include "ms-record/heap/heapwalk.h"
#include "ms-record/heap/heapwalk_private.h"

#define WORDS_OF_PAGE 512u
#define READS_MOST 100000u
#define READS_AFTER 100000u /* of heaps, until it notices that it is to stop */
#define PATCHES 64u
#define PATCH_BYTES 12u

enum { LIBC, MAIN_HEAP, ARENA_HEAP, LATER_HEAP, TLS, LARGE, REGIONS };
enum { SET, ADD, POINT, GO, UNWRITTEN };

static struct {
	uint64_t start;
	unsigned pages;
	const char *name;
	bool gone;
	uint64_t words[4 * WORDS_OF_PAGE];
} regions[REGIONS] = {
	{0x7f0000010000, 2, "/usr/lib/libc.so.6", false, {0}},
	{0x555500000000, 2, "[heap]", false, {0}},
	{0x7e0000000000, 2, "", false, {0}},
	{0x7e0004000000, 1, "", false, {0}},
	{0x7f0000100000, 1, "", false, {0}},
	{0x7e0008000000, 3, "", false, {0}}, /* behind what the second arena may grow to */
};

static const uint8_t *patches;
static size_t patch_count, patch_next;
static unsigned reads, reads_after;
static int stop;

static uint64_t at(unsigned region, unsigned word)
{
	return regions[region].start + 8 * (uint64_t)word;
}

static void put(unsigned region, unsigned word, uint64_t v)
{
	regions[region].words[word] = v;
}

/* ---- a heap ---- */

#define MAIN_ARENA 100u /* words from the start of the C library's data */
#define PAR 500u
#define ARENA 6u /* behind struct heap_info */
#define FIRST_SIZE 0x291u
#define KEY UINT64_C(0x1234567890abcdef)

static void put_arena(unsigned region, unsigned word, uint64_t top, uint64_t next)
{
	for (unsigned i = 0; i < ARENA_BIN_COUNT; i++) {
		uint64_t self = at(region, word + ARENA_BINS - 2 + 2 * i);
		put(region, word + ARENA_BINS + 2 * i, self);
		put(region, word + ARENA_BINS + 2 * i + 1, self);
	}
	put(region, word + ARENA_TOP, top);
	put(region, word + ARENA_NEXT, next);
	put(region, word + ARENA_SYSTEM, 0x21000);
	put(region, word + ARENA_SYSTEM_MAX, 0x21000);
}

/* Chunks of those sizes, 0 ends them; the top chunk takes what is left. Returns its word. */
static unsigned put_chunks(unsigned region, unsigned word, const uint64_t *sizes)
{
	for (; *sizes; sizes++) {
		put(region, word + 1, *sizes);
		word += (unsigned)((*sizes & ~UINT64_C(7)) / 8);
	}
	put(region, word + 1, 8 * (regions[region].pages * WORDS_OF_PAGE - word) | 1);
	return word;
}

/* The cache of a thread: one chunk of 32 bytes is in it. */
static void put_cache(unsigned region, unsigned word, uint64_t entry)
{
	put(region, word, 1);
	put(region, word + 16, entry);
}

static void make(void)
{
	static const uint64_t main_sizes[] = {FIRST_SIZE, 0x21, 0x21, 0x31, 0x410 | 1, 0x21, 0};
	static const uint64_t arena_sizes[] = {0x291, 0x41, 0x21, 0};
	static const uint64_t later_sizes[] = {0x101, 0};
	for (unsigned i = 0; i < REGIONS; i++) {
		memset(regions[i].words, 0, sizeof regions[i].words);
		regions[i].gone = false;
	}
	unsigned top = put_chunks(MAIN_HEAP, 0, main_sizes);
	put_arena(LIBC, MAIN_ARENA, at(MAIN_HEAP, top), at(ARENA_HEAP, ARENA));
	/* struct malloc_par: mappings, the most of them, the most there were, a flag; bytes */
	put(LIBC, PAR, UINT64_C(65536) << 32 | 1);
	put(LIBC, PAR + 1, 1);
	put(LIBC, PAR + 2, 2 * PAGE);
	put(LIBC, PAR + 3, 2 * PAGE);
	put(LIBC, PAR + 4, regions[MAIN_HEAP].start);
	/* the second chunk of the main heap is in a fast list, the third in the thread's cache */
	put(LIBC, MAIN_ARENA + ARENA_FAST, at(MAIN_HEAP, 0x290 / 8));
	put(MAIN_HEAP, 0x290 / 8 + 2, at(MAIN_HEAP, 0x290 / 8 + 2) >> 12);
	put_cache(MAIN_HEAP, 2, at(MAIN_HEAP, 0x2b0 / 8 + 2));
	put(MAIN_HEAP, 0x2b0 / 8 + 3, KEY);
	put(TLS, 100, at(MAIN_HEAP, 2));
	/* the second arena has two heaps: it lies in the first, and its top chunk in the second */
	put(ARENA_HEAP, 0, at(ARENA_HEAP, ARENA));
	put(ARENA_HEAP, 2, 2 * PAGE);
	put_chunks(ARENA_HEAP, (ARENA + ARENA_WORDS + 1) & ~1u, arena_sizes);
	top = ((ARENA + ARENA_WORDS + 1) & ~1u) + (0x290 + 0x40 + 0x20) / 8;
	put(ARENA_HEAP, top + 1, 0x10 | 1);
	put(ARENA_HEAP, top + 3, 1);
	put(LATER_HEAP, 0, at(ARENA_HEAP, ARENA));
	put(LATER_HEAP, 1, regions[ARENA_HEAP].start);
	put(LATER_HEAP, 2, PAGE);
	top = put_chunks(LATER_HEAP, ARENA, later_sizes);
	put_arena(ARENA_HEAP, ARENA, at(LATER_HEAP, top), at(LIBC, MAIN_ARENA));
	/* a block with a mapping of its own */
	put(LARGE, 1, 2 * PAGE | 2);
}

/* ---- as another process ---- */

/* In the file that tells of every page whether it was written. */
static void put_page(unsigned region, unsigned page, uint64_t v)
{
	static int fd = -1;
	if (fd < 0)
		fd = openat(fuzz_folder(), "pagemap", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	off_t to = (off_t)((regions[region].start / PAGE + page) * sizeof v);
	if (fd < 0 || pwrite(fd, &v, sizeof v, to) != sizeof v)
		exit(2);
}

static bool pages_ready;

static void make_pages(void)
{
	for (unsigned i = 0; i < REGIONS && !pages_ready; i++)
		for (unsigned page = 0; page < regions[i].pages; page++)
			put_page(i, page, UINT64_C(1) << 63);
	pages_ready = true;
}

static void apply(const uint8_t *p)
{
	unsigned region = p[1] >> 4, word = p[2] | (unsigned)p[3] << 8;
	uint64_t v;
	memcpy(&v, p + 4, sizeof v);
	if (region >= REGIONS)
		return;
	word %= regions[region].pages * WORDS_OF_PAGE;
	switch (p[1] & 15) {
	case SET:
		put(region, word, v);
		break;
	case ADD:
		put(region, word, regions[region].words[word] + v);
		break;
	case POINT:
		put(region, word, at((unsigned)(v >> 16) % REGIONS, (unsigned)v & 0xffff));
		break;
	case GO:
		regions[region].gone = true;
		break;
	case UNWRITTEN:
		put_page(region, word / WORDS_OF_PAGE, 0);
		pages_ready = false;
		break;
	}
}

static void apply_until(unsigned when)
{
	for (; patch_next < patch_count && patches[patch_next * PATCH_BYTES] * 4u <= when;
	     patch_next++)
		apply(patches + patch_next * PATCH_BYTES);
}

static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	(void)arg;
	apply_until(++reads);
	if (reads > READS_MOST) {
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		if (++reads_after > READS_AFTER)
			abort();
	}
	for (unsigned i = 0; i < REGIONS; i++) {
		uint64_t size = regions[i].pages * PAGE, from = address - regions[i].start;
		if (regions[i].gone || from >= size || bytes > size - from)
			continue;
		memcpy(to, (uint8_t *)regions[i].words + from, bytes);
		return true;
	}
	return false;
}

static void make_maps(void)
{
	static bool ready;
	static const unsigned order[] = {MAIN_HEAP, ARENA_HEAP, LATER_HEAP, LARGE, LIBC, TLS};
	char text[1024];
	int n = 0;
	for (unsigned i = 0; i < REGIONS && !ready; i++) {
		unsigned r = order[i];
		n += snprintf(text + n, sizeof text - (size_t)n,
			      "%llx-%llx rw-p 00000000 00:00 %u %s\n",
			      (unsigned long long)regions[r].start,
			      (unsigned long long)regions[r].start + regions[r].pages * PAGE,
			      r == LIBC, regions[r].name);
		uint64_t end = regions[r].start + regions[r].pages * PAGE;
		if (r == ARENA_HEAP || r == LATER_HEAP)
			n += snprintf(text + n, sizeof text - (size_t)n,
				      "%llx-%llx ---p 00000000 00:00 0\n", (unsigned long long)end,
				      (unsigned long long)(regions[r].start + HEAP_MOST));
	}
	if (!ready)
		fuzz_file(fuzz_folder(), "maps", text, (size_t)n);
	ready = true;
}

/* ---- what comes out ---- */

static void check_sound(const struct heapwalk *w)
{
	/* 4 of the main heap's chunks but its first, 2 and 1 of the second arena's but its cache;
	 * that one belongs to no thread, so it counts too */
	if (w->state != MS_BEFORE_WHOLE || w->arenas != 2 || w->mapped != 1 || w->cached.n != 2 ||
	    w->used.n != 3 + 3 + 1 + 1) {
		fprintf(stderr, "state %d (%s), %llu arenas, %llu mapped, %zu used, %zu cached\n",
			w->state, w->why, (unsigned long long)w->arenas,
			(unsigned long long)w->mapped, w->used.n, w->cached.n);
		abort();
	}
}

static void check(const struct heapwalk *w)
{
	if ((w->state == MS_BEFORE_WHOLE) != (w->why[0] == '\0'))
		abort();
	for (size_t i = 0; i < w->used.n; i++)
		if (w->used.v[i].bytes > UINT64_C(1) << 47 || w->used.v[i].address >> 47)
			abort();
	if (!patch_count)
		check_sound(w);
}

/* Memory changes by how often it is read: nothing is to be waited for. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint64_t tps[] = {at(TLS, 200), 1, 0x7f0000100000, UINT64_MAX};
	struct heapwalk w;
	make_maps();
	make_pages();
	make();
	patches = data;
	patch_count = n / PATCH_BYTES < PATCHES ? n / PATCH_BYTES : PATCHES;
	patch_next = 0;
	reads = reads_after = 0;
	stop = 0;
	struct heapwalk_from from = {.memory = {read_memory, NULL},
				     .proc = fuzz_folder(),
				     .tps = tps,
				     .tp_count = sizeof tps / sizeof *tps,
				     .deadline_ns = UINT64_MAX,
				     .stop = &stop};
	apply_until(0);
	heapwalk(&w, &from);
	check(&w);
	heapwalk_free(&w);
	return 0;
}
