/* SPDX-License-Identifier: MIT
 * Which memory is roots, word by word, on made memory: maps of every kind, glibc's arenas, stacks,
 * and blocks. Every word has its own address for a value, unless a test puts another one there.
 */
#include <string.h>

#include "ms-record/scan/scan_roots.c" /* it belongs to a tool, of which there is no library */
#include "ms-record/scan/scan_roots_cuts.c"
#include "ms-record/scan/scan_roots_ranges.c"

#include "tests/unit/held.h"
#include "tests/unit/check.h"

#define MB (UINT64_C(1) << 20)
#define HEAP (64 * MB) /* a multiple of which glibc's heaps begin at */
#define PIECES 24u

/* ---- made memory ---- */

static struct piece {
	uint64_t start, end, *word;
} pieces[PIECES];
static unsigned piece_count;

static struct memory memory;
static struct graph graph;
static struct graph_block blocks[10];
static struct scan_thread threads[4];
static struct roots roots;
static char seen[1024],
	in_blocks[1024]; /* spans that were given as roots, and as parts of blocks */
static char which_pages;
static unsigned registers, reads; /* bytes that are of no map; reads of blocks */

static void begin(void)
{
	while (piece_count)
		free(pieces[--piece_count].word);
	MS_FREE(memory.maps.v);
	memset(&memory, 0, sizeof memory);
	memset(threads, 0, sizeof threads);
	graph = (struct graph){.v = blocks, .align = 8};
	roots = (struct roots){.memory = &memory, .graph = &graph, .threads = threads};
	seen[0] = in_blocks[0] = '\0';
	registers = 0;
}

/* Contents of [start, end). */
static void piece(uint64_t start, uint64_t end)
{
	struct piece *p = &pieces[piece_count++];
	*p = (struct piece){start, end, ms_xrealloc(NULL, (size_t)(end - start) / 8, 8)};
	for (uint64_t at = start; at < end; at += 8)
		p->word[(at - start) / 8] = at;
}

static uint64_t *word(uint64_t address)
{
	for (unsigned i = 0; i < piece_count; i++)
		if (address >= pieces[i].start && address < pieces[i].end)
			return &pieces[i].word[(address - pieces[i].start) / 8];
	return NULL;
}

/* Anonymous memory that can be written, with contents up to so many bytes. */
#define FILLED (MB + 8)
static struct memory_map *map(uint64_t start, uint64_t end)
{
	struct memory_map *m = MS_PUSH(&memory.maps);
	*m = (struct memory_map){
		.start = start, .end = end, .read = true, .write = true, .anonymous = true};
	piece(start, end - start < FILLED ? end : start + FILLED);
	return m;
}

static void block(uint64_t address, uint64_t size, bool user)
{
	blocks[graph.count++] =
		(struct graph_block){.address = address, .size = size, .user = user};
	graph.heap += !user;
}

bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	const uint64_t *first = word(address), *last = word(address + bytes - 8);
	(void)m;
	if (!first || !last || (uint64_t)(last - first) != bytes / 8 - 1)
		return false;
	memcpy(to, first, bytes);
	return true;
}

const struct memory_map *memory_at(const struct memory *m, uint64_t address)
{
	for (size_t i = 0; i < m->maps.n; i++)
		if (address - m->maps.v[i].start < m->maps.v[i].end - m->maps.v[i].start)
			return &m->maps.v[i];
	return NULL;
}

void memory_words(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		  void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		  void *arg)
{
	(void)m;
	which_pages = "TOSA"[which];
	reads += ((const struct looking *)arg)->f == pass_blocks;
	for (unsigned i = 0; i < piece_count; i++) {
		uint64_t from = start > pieces[i].start ? start : pieces[i].start;
		uint64_t to = end < pieces[i].end ? end : pieces[i].end;
		if (from < to)
			f(arg, from, word(from), (size_t)(to - from) / 8);
	}
}

uint32_t graph_find(const struct graph *g, uint64_t address, bool user)
{
	uint32_t i = user ? g->heap : 0, end = user ? g->count : g->heap;
	while (i < end && g->v[i].address + g->v[i].size <= address)
		i++;
	return i;
}

/* Adds " <what>start-end", or more to the last one. */
static void add_span(char *text, const char *what, const uint8_t *bytes, size_t size)
{
	uint64_t start = 0;
	for (unsigned i = 0; i < piece_count; i++) {
		uint64_t offset = (uintptr_t)bytes - (uintptr_t)pieces[i].word;
		if (offset < pieces[i].end - pieces[i].start)
			start = pieces[i].start + offset;
	}
	if (!start) {
		registers += (unsigned)size;
		return;
	}
	char *at = text + strlen(text);
	snprintf(at, 64, "%s%s%lx-%lx", *text ? " " : "", what, (long)start, (long)(start + size));
}

void graph_roots(struct graph *g, uint64_t address, const void *bytes, size_t size)
{
	(void)g;
	(void)address;
	add_span(seen, (char[2]){which_pages}, bytes, size);
}

void graph_words(struct graph *g, uint32_t from, uint64_t address, const void *bytes, size_t size)
{
	(void)g;
	(void)address;
	add_span(in_blocks, (char[3]){(char)('0' + from), ':'}, bytes, size);
}

void graph_keep(struct graph *g, struct graph_kept *kept)
{
	g->kept = kept;
}

/* Roots and parts of blocks as they are wanted. */
static void look(const char *what, const char *want, const char *want_blocks)
{
	seen[0] = in_blocks[0] = '\0';
	reads = 0;
	*MS_PUSH(&memory.maps) = (struct memory_map){
		.end = UINT64_MAX, .read = true, .write = true, .heap = true, .anonymous = true};
	memory.maps.n--; /* what lies behind the last one is none */
	roots_look(&roots);
	CHECK(!strcmp(seen, want), "%s: '%s', not '%s'", what, seen, want);
	CHECK(!strcmp(in_blocks, want_blocks), "%s: blocks '%s', not '%s'", what, in_blocks,
	      want_blocks);
}

/* ---- maps ---- */

static void check_maps(void)
{
	static const struct memory_map kinds[] = {
		{.read = true, .write = true, .anonymous = true},
		{.read = true},
		{.write = true, .anonymous = true},
		{.read = true, .special = true},
		{.read = true, .write = true, .shared = true, .volatile_file = true, .inode = 7},
		{.read = true, .write = true, .shared = true, .volatile_file = true, .inode = 8},
		{.read = true, .shared = true, .volatile_file = true, .inode = 7},
		{.read = true, .write = true, .shared = true, .inode = 7}};
	begin();
	roots.own_inode = 8;
	for (uint64_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint64_t start = 0x10000 + i * 0x2000;
		struct memory_map *m = map(start, start + 0x1000);
		*m = kinds[i];
		m->start = start;
		m->end = start + 0x1000;
	}
	look("kinds of maps", "T10000-11000 O12000-13000 T14000-15000 S18000-19000 S1e000-1f000",
	     "");
	threads[0].reg_count = 3;
	threads[1].reg_count = 4;
	roots.thread_count = 2;
	look("registers", "T10000-11000 O12000-13000 T14000-15000 S18000-19000 S1e000-1f000", "");
	CHECK(registers == 7 * 8, "%u bytes of registers", registers);
}

/* Parts of two maps are the recorder's or an allocator's; they end and begin in the middle of words,
 * of which then none is looked at. */
static void check_own(void)
{
	static const uint64_t own[][2] = {
		{0x10804, 0x1080c}, {0x10000, 0x10100}, {0x11f00, 0x14100}};
	static const uint64_t arenas[][2] = {
		{0x14800, 0x14a00}, {0x14820, 0x14840}, {0x14900, 0x15000}, {0x14404, 0x14404}};
	begin();
	map(0x10000, 0x12000);
	map(0x14000, 0x15000);
	map(0x16000, 0x16008);
	roots.own = own;
	roots.own_count = 3;
	roots.arenas = arenas;
	roots.arena_count = 4;
	look("own", "T10100-10800 T10810-11f00 T14100-14800 T16000-16008", "");
	roots.wide = true;
	look("own, wide", "T10100-10800 T10810-11f00 T14100-15000 T16000-16008", "");
}

/* ---- glibc's arenas ---- */

/* A heap's head, and how much of it is cut; 0 = it is no heap. */
static const struct {
	const char *what;
	uint64_t arena, before, bytes, writable, cut;
} heads[] = {
	{"an arena's first", HEAP + 48, 0, 0x2000, 0x3000, 0x3000},
	{"its arena at least so far behind", HEAP + 32, 0, 0x2000, 0x3000, 0x3000},
	{"too near", HEAP + 31, 0, 0x2000, 0x3000, 0},
	{"at most so far", HEAP + 128, 0, 0x2000, 0x3000, 0x3000},
	{"too far", HEAP + 129, 0, 0x2000, 0x3000, 0},
	{"a further one", 2 * HEAP + 48, 2 * HEAP, 0x3000, 0x3000, 0x3000},
	{"with none before", 2 * HEAP + 48, 0, 0x3000, 0x3000, 0},
	{"before is none", 2 * HEAP + 48, 2 * HEAP + 8, 0x3000, 0x3000, 0},
	{"of no arena", 48, 2 * HEAP, 0x3000, 0x3000, 0},
	{"of no bytes", HEAP + 48, 0, 0, 0x3000, 0},
	{"not whole pages", HEAP + 48, 0, 0x2008, 0x3000, 0},
	{"not whole pages that can be written", HEAP + 48, 0, 0x2000, 0x3008, 0},
	{"more than can be written", HEAP + 48, 0, 0x4000, 0x3000, 0},
	{"all of it", HEAP + 48, 0, 0x2000, HEAP, HEAP},
	{"more than a heap", HEAP + 48, 0, 0x2000, HEAP + 0x1000, 0},
};

static void check_arenas(void)
{
	char want[80];
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		begin();
		map(HEAP, HEAP + 0x8000);
		memcpy(word(HEAP), &heads[i].arena, 4 * sizeof(uint64_t));
		uint64_t from = HEAP + heads[i].cut;
		snprintf(want, sizeof want, "T%lx-%lx", (long)from, (long)(HEAP + 0x8000));
		look(heads[i].what, heads[i].cut < HEAP ? want : "", "");
		roots.wide = true;
		look(heads[i].what, "T4000000-4008000", "");
	}
	/* Behind one of a file: in the middle of a map; what looks like one elsewhere is none. */
	const uint64_t head[] = {2 * HEAP + 48, 0, 0x1000, 0x1000},
		       more[] = {2 * HEAP + 48, 2 * HEAP, 0x800000, 0x800000},
		       not [] = {HEAP + 0x1048, 0, 0x1000, 0x1000};
	begin();
	map(HEAP, HEAP + 0x1000)->anonymous = false;
	map(HEAP + 0x1000, 4 * HEAP);
	piece(2 * HEAP, 2 * HEAP + 0x2000);
	piece(3 * HEAP, 3 * HEAP + 0x1000);
	memcpy(word(HEAP + 0x1000), not, sizeof not );
	memcpy(word(2 * HEAP), head, sizeof head);
	memcpy(word(3 * HEAP), more, sizeof more);
	look("in the middle", "O4000000-4001000 T4001000-4101008 T8001000-8002000", "");
	struct memory_map *m = &memory.maps.v[1];
	m->stack = true;
	look("in a stack", "O4000000-4001000 T4001000-4101008 T8000000-8002000 Tc000000-c001000",
	     "");
	m->stack = m->anonymous = false;
	look("in a file", "O4000000-4001000 O4001000-4101008 O8000000-8002000 Oc000000-c001000",
	     "");
	m->anonymous = true;
	m->write = false;
	look("read only", "O4000000-4001000 T4001000-4101008 T8000000-8002000 Tc000000-c001000",
	     "");
	m->write = m->shared = m->volatile_file = true;
	roots.own_inode = 8;
	look("shared", "O4000000-4001000 S4001000-4101008 S8000000-8002000 Sc000000-c001000", "");
	begin();
	map(HEAP + 0x1000, 2 * HEAP);
	map(2 * HEAP, 2 * HEAP + 0x2000)->anonymous = false;
	memcpy(word(2 * HEAP), head, sizeof head);
	look("behind the map", "T4001000-4101008 O8000000-8002000", "");
}

/* An arena at `at`, as many of whose bins as that are empty. */
static void put_arena(uint64_t at, unsigned empty)
{
	for (unsigned i = 0; i < empty; i++)
		*word(at + STATE_BINS + 16 * i) = *word(at + STATE_BINS + 16 * i + 8) =
			at + STATE_BINS - 16 + 16 * i;
	*word(at + STATE_NEXT) = at;
	*word(at + STATE_SYSTEM) = 0x21000;
}

static void check_main_arena(void)
{
	const uint64_t start = 0x100000, at = start + 0x40;
	begin();
	map(start, start + 0x1000)->libc = true;
	look("none", "T100000-101000", "");
	put_arena(at, 39);
	look("too few bins are empty", "T100000-101000", "");
	*word(at + STATE_BINS + 16 * 50) = at + STATE_BINS - 16 + 16 * 50;
	*word(at + STATE_BINS + 16 * 51 + 8) = at + STATE_BINS - 16 + 16 * 51;
	look("and two half", "T100000-101000", "");
	put_arena(at, 40);
	look("the main arena", "T100000-100040 T1008d8-101000", "");
	roots.wide = true;
	look("the main arena, wide", "T100000-100040 T1008d8-101000", "");
	memory.maps.v[0].libc = false;
	look("not the C library's", "T100000-101000", "");
	memory.maps.v[0].anonymous = false;
	look("a static program's", "O100000-100040 O1008d8-101000", "");
	map(start + 0x2000, start + 0x3000)->libc = true;
	look("not that of a program with a C library", "O100000-101000 T102000-103000", "");
	memory.maps.n = 1;
	memory.maps.v[0].anonymous = memory.maps.v[0].libc = true;
	static const struct {
		const char *what;
		uint64_t next, system;
		bool good;
	} states[] = {{"next", HEAP + 32, 0, true},    {"next", HEAP + 31, 0, false},
		      {"next", HEAP + 128, 0, true},   {"next", HEAP + 129, 0, false},
		      {"system", HEAP + 32, 8, false}, {"system", HEAP + 32, 0x21300, true}};
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		*word(at + STATE_NEXT) = states[i].next;
		*word(at + STATE_SYSTEM) = states[i].system;
		look(states[i].what,
		     states[i].good ? "T100000-100040 T1008d8-101000" : "T100000-101000", "");
	}
	begin(); /* it ends with the map, which is as large as it may be */
	map(start, start + MB)->libc = true;
	put_arena(start + MB - STATE_BYTES - 8, 127);
	look("at the end", "T100000-1ff760 T1ffff8-200000", "");
	begin();
	map(start, start + MB + 8)->libc = true;
	put_arena(start, 127);
	look("a map that is too large", "T100000-200008", "");
	begin();
	map(start, start + STATE_BYTES)->libc = true;
	put_arena(start, 127);
	look("nothing else", "", "");
	memory.maps.v[0].end -= 8;
	look("a map that is too small", "T100000-100890", "");
}

/* ---- stacks ---- */

/* The control block at `tcb` says that its stack is [start, end), and is one if `whole`. */
static void says(uint64_t tcb, uint64_t start, uint64_t end, bool whole)
{
	*word(tcb + 0x20) = start;
	*word(tcb + 0x28) = end - start;
	if (whole)
		*word(tcb) = *word(tcb + 0x10) = tcb;
}

static void check_stacks(void)
{
	begin();
	struct memory_map *m = map(0x10000, 0x18000);
	threads[0].sp = 0x14000;
	threads[1].sp = 0x13000;
	threads[1].tp = 0x17f00;
	threads[2].sp = 0x18000; /* not in it */
	roots.thread_count = 3;
	look("no stack", "T10000-18000", "");
	m->guard_below = true;
	look("a stack of which nothing is known", "T10000-18000", "");
	says(0x17f00, 0x10000, 0x18000, false);
	look("below the lowest stack pointer", "T12f80-18000", "");
	says(0x17f00, 0xf000, 0x18000, false);
	look("a guard is in it", "T12f80-18000", "");
	says(0x17f00, 0x12000, 0x18000, false);
	look("below it lies something else", "T10000-12000 T12f80-18000", "");
	says(0x17f00, 0x12008, 0x18000, false);
	look("it begins in no page", "T10000-18000", "");
	says(0x17f00, 0x14000, 0x18000, false);
	look("the stack pointer is not in it", "T10000-18000", "");
	says(0x17f00, 0x10000, 0x17f00, false);
	look("nor is its control block", "T10000-18000", "");
	says(0x17f00, 0x10000, 0x18008, false);
	look("it goes on behind its map", "T10000-18000", "");
	threads[1].tp = 0x12f00;
	says(0x12f00, 0x10000, 0x18000, false);
	look("its control block lies elsewhere", "T10000-18000", "");
	threads[1].tp = 0x18000;
	look("in another map", "T10000-18000", "");
	m->guard_below = false;
	m->stack = true;
	look("the first thread's", "T12f80-18000", "");
	threads[1].calls = true;
	look("below a frame that called another", "T13000-18000", "");
	threads[1].calls = false;
	threads[1].sp = 0x10000;
	look("the stack pointer is at its start", "T10000-18000", "");
	roots.thread_count = 0;
	look("of no thread", "T10000-18000", "");
	roots.main_tp = 0x500;
	roots.main_entry = 0x17000;
	look("of a first thread that ended", "T17000-18000", "");
	threads[0] = (struct scan_thread){.sp = 0x50000, .tp = 0x500};
	roots.thread_count = 1;
	look("of one that runs elsewhere", "T10000-18000", "");
	roots.thread_count = 0;
	roots.main_entry = 0x18000;
	look("which began elsewhere", "T10000-18000", "");
}

/* A thread in the C library, which uses nothing below its stack pointer. */
static void check_libc(void)
{
	begin();
	map(0x10000, 0x18000)->stack = true;
	map(0x20000, 0x21000)->libc = true;
	memory.maps.v[1].write = false;
	threads[0] = (struct scan_thread){.sp = 0x14000, .ip = 0x20010};
	roots.thread_count = 1;
	look("in the C library", "T14000-18000 T20000-21000", "");
	threads[0].ip = 0x21000;
	look("elsewhere", "T13f80-18000 T20000-21000", "");
}

/* Checks the stack of a thread that ended: its control block, and an arena right above. */
static void check_ended(void)
{
	static const uint64_t above[][2] = {
		{0x16000, 0x18000}, {0x10000, 0x10000}, {0x18000, 0x18001}};
	begin();
	struct memory_map *m = map(0x10000, 0x18000);
	m->guard_below = true;
	says(0x17f80, 0x10000, 0x18000, true);
	look("of one that ended", "T17f88-17f90", "");
	says(0x17f80, 0x11000, 0x17fc0, true);
	look("with something below and above it", "T10000-11000 T17f88-17f90 T17fc0-18000", "");
	says(0x17f80, 0, 0, true);
	look("of which it is not known how long it is", "T10000-18000", "");
	says(0x17f80, 0x10000, 0x18000, true);
	threads[0] = threads[1] = (struct scan_thread){.tp = 0};
	threads[1].tp = 0x17f80;
	look("of nobody who is known", "T17f88-17f90", "");
	roots.thread_count = 2;
	look("of one that runs elsewhere", "T10000-18000", "");
	threads[0].tp = 0x17f80;
	threads[1].tp = 0;
	look("of another one that does", "T10000-18000", "");
	roots.thread_count = 0;
	m->guard_below = false;
	look("no guard below", "T10000-18000", "");
	m->guard_below = true;
	*word(0x17f90) = 0;
	look("no control block", "T10000-18000", "");
	says(0x15fc0, 0x10000, 0x16000, true);
	roots.arenas = above;
	roots.arena_count = 3;
	look("below an arena", "T15fc8-15fd0", "");
	roots.wide = true;
	look("below an arena, wide", "T15fc8-15fd0 T16000-18000", "");
	threads[0].sp = 0x16000;
	threads[0].tp = 0;
	roots.thread_count = 1;
	look("a stack pointer above it", "T15fc8-15fd0 T16000-18000", "");
	threads[0].sp = 0x15000;
	threads[0].tp = 0x15fc0;
	look("a stack pointer below it", "T14f80-18000", "");
}

/* The control block is looked for in the last 8 KiB only; glibc's arena can be above too. */
static void check_control_blocks(void)
{
	const uint64_t head[] = {HEAP + 48, 0, 0x1000, 0x2000};
	begin();
	struct memory_map *m = map(HEAP - 0x4000, HEAP + 0x2000);
	m->guard_below = true;
	memcpy(word(HEAP), head, sizeof head);
	says(HEAP - 0x2000, HEAP - 0x4000, HEAP, true);
	look("at the most distant place", "T3ffe008-3ffe010", "");
	*word(HEAP - 0x2000) = 0;
	says(HEAP - 0x2040, HEAP - 0x4000, HEAP, true);
	look("too far from the end", "T3ffc000-4000000", "");
	m->start = HEAP - 0x1000;
	says(HEAP - 0x800, HEAP - 0x1000, HEAP, true);
	look("less than that in all", "T3fff808-3fff810", "");
	m->start = HEAP; /* then nothing of it is a stack's that ended */
	says(HEAP + 0x1f80, HEAP, HEAP + 0x2000, true);
	roots.wide = true;
	look("an arena at its start", "T4001f88-4001f90", "");
	begin();
	map(0x10000, 0x10000 + 2 * MB)->guard_below = true;
	look("its end cannot be read", "T10000-110008", "");
}

/* ---- the heap, and blocks ---- */

static void check_heap(void)
{
	begin();
	map(0x100000, 0x180000)->heap = true;
	map(0x200000, 0x201000);
	block(0x100010, 0x20, false);
	block(0x100044, 6, false); /* no whole word is its own */
	block(0x12004a, 0x4a, false);
	block(0x140095, 11, false);
	block(0x140200, 8, true);
	static const char *const in =
		"0:100010-100030 2:120050-120090 3:140098-1400a0 4:140200-140208";
	look("brk area", "T200000-201000", in);
	roots.dense = true; /* the last gap is a byte larger than is the allocator's for sure */
	look("dense", "T100000-100010 T120090-140098 T1400a0-140200 T140208-180000 T200000-201000",
	     in);
	static const char *const all =
		"T100000-100010 T100030-100048 T100048-120050 "
		"T120090-140098 T1400a0-140200 T140208-180000 T200000-201000";
	roots.wide = true;
	look("dense, wide", all, in);
	roots.dense = false;
	look("wide", all, in);
}

/* Checks that blocks are no roots, nor the first and last words of large ones, which they share. */
static void check_blocks(void)
{
	begin();
	map(0x60000, 0x98000);
	map(0x100000, 0x108000);
	map(0x114000, 0x11c000)->end = 0x168000;
	piece(0x11c000, 0x168000);
	block(0x60001, LARGE, false);
	block(0x100100, 0x40, false);
	block(0x104000, 0x1000, false);
	block(0x105000 + READ_GAP, LARGE - 1, false);
	block(0x124fff + READ_GAP - 1, LARGE - 8, false);
	block(0x150001, LARGE, false);
	block(0x80001, LARGE, true); /* of the program's own: that is another matter */
	block(0x100110, 8, true);
	block(0x104800, 0x10, true);
	block(0x107000, 0x20, true);
	static const char *const roots_now = "T70008-80008 T90000-98000 "
					     "T100000-100100 T100140-104000 T105000-107000 "
					     "T107020-108000 T114000-115000 T124ff8-135000 "
					     "T144ff0-150000 T160008-168000";
	look("blocks", roots_now,
	     "0:60008-70000 1:100100-100110 1:100118-100140 2:104000-104800 2:104810-105000 "
	     "3:115000-11c000 3:11c000-124ff8 4:135000-144ff0 5:150008-160000 "
	     "6:80008-90000 7:100110-100118 8:104800-104810 9:107000-107020");
	CHECK(reads == 5, "%u times blocks were read", reads);
	graph.overflow = true;
	look("too many pointers", roots_now, "");
}

/* Words at any multiple: those in two pieces that lie side by side are given too, and none that is
 * partly in a block. */
static void check_alignment(void)
{
	static const struct {
		unsigned align, seams;
		const char *roots, *blocks;
	} cases[] = {
		{8, 0, "T10000-10408 T10408-10800 T10800-11000 T20000-20010 T20020-21000",
		 "1:20010-20020"},
		{4, 8, "T10000-10403 T10410-10800 T10800-11000 T20000-2000c T20024-21000",
		 "0:10404-1040c 1:2000c-20020"},
		{1, 14, "T10000-10403 T1040d-10800 T10800-11000 T20000-2000c T20021-21000",
		 "0:10403-1040d 1:2000c-20021"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		graph.align = cases[i].align;
		map(0x10000, 0x10800);
		map(0x10800, 0x11000);
		map(0x20000, 0x21000);
		block(0x10403, 10, false);
		block(0x2000c, 0x15, false);
		look("alignment", cases[i].roots, cases[i].blocks);
		CHECK(registers == cases[i].seams, "alignment: %u bytes of seams", registers);
	}
}

/* Checks that a root of the program's is looked at wherever it lies, after all else: in a block, in
 * maps that are none, and again in those that are. */
static void check_user(void)
{
	static const struct {
		const char *what;
		uint64_t start, bytes;
		unsigned align;
		const char *roots;
		uint64_t seen;
	} cases[] = {
		{"in a block", 0x10008, 16, 8, "T10008-10018", 1},
		{"words that are not whole", 0x10009, 23, 8, "T10010-10020", 1},
		{"at each byte", 0x10009, 22, 1, "T10009-1001f", 1},
		{"less than a word", 0x10009, 8, 8, "", 1},
		{"a file", 0x12000, 8, 8, "A12000-12008", 1},
		{"shared memory", 0x14000, 8, 8, "S14000-14008", 1},
		{"from one to another", 0x10ff8, 0x1010, 8, "T10ff8-11000 A12000-12008", 1},
		{"where nothing is", 0x11000, 0x1000, 8, "", 0},
		{"to the end", 0x14ff8, UINT64_MAX - 0x14ff8, 8, "S14ff8-15000", 1},
		{"beyond the end", 0x14ff8, UINT64_MAX, 8, "", 0},
		{"taken back", 0x10008, 0, 8, "", 0},
		{"busy", ~(uint64_t)MG_ROOT_BUSY, 8, 8, "", 0},
		{"free", UINT64_MAX, 1, 8, "", 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct mg_root user = {~cases[i].start, cases[i].bytes};
		begin();
		graph.align = cases[i].align;
		map(0x10000, 0x11000);
		struct memory_map *m = map(0x12000, 0x13000);
		m->write = m->anonymous = false;
		m = map(0x14000, 0x15000);
		m->write = m->anonymous = false;
		m->shared = m->volatile_file = true;
		block(0x10000, 0x1000, false);
		roots.user = &user;
		roots.user_count = 1;
		char want[80];
		snprintf(want, sizeof want, "O12000-13000%s%s", *cases[i].roots ? " " : "",
			 cases[i].roots);
		look(cases[i].what, want, "0:10000-11000");
		CHECK(roots.user_seen == cases[i].seen, "%s: seen", cases[i].what);
	}
}

/* Mappings of the program's own: whole pages of private anonymous memory, without large blocks,
 * heaps, stacks, and what belongs to a module. */
static void check_ranges(void)
{
	static const struct ms_range mapped = {0x12000, 0x14000, 7};
	struct roots_kept kept = {0};
	char got[200] = "";
	size_t at = 0;
	begin();
	map(0x10000, 0x20000);
	map(0x30000, 0x31000)->anonymous = false;
	map(0x31000, 0x33000); /* .bss */
	map(0x40000, 0x80000);
	map(0x90000, 0x91000)->write = false;
	map(0xa0000, 0xa2000)->shared = true;
	map(0xb0000, 0xb2000)->heap = true;
	map(0xc0000, 0xc4000);
	map(0xd0000, 0xd4000);
	block(0x48010, LARGE, false);
	block(0x18000, 64, false); /* small ones do not divide a range */
	threads[0].sp = 0xc3000;
	threads[0].tp = 0xd3f00;
	roots.thread_count = 1;
	roots.kept = &kept;
	*MS_PUSH(&kept.locals) = (struct graph_range){0xd3e00, 0xd4800};
	kept.mapped = &mapped;
	kept.mapped_count = 1;
	roots_look(&roots);
	for (size_t i = 0; i < kept.ranges.n; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%x-%x ",
				       (unsigned)kept.ranges.v[i].start,
				       (unsigned)kept.ranges.v[i].end);
	CHECK(!strcmp(got, "10000-12000 12000-14000 14000-20000 40000-48000 59000-80000 "
			   "d0000-d3000 "),
	      "ranges: %s", got);
	CHECK(kept.heaps.n == 1 && kept.heaps.v[0].start == 0xb0000, "heaps: %zu", kept.heaps.n);
	MS_FREE(kept.ranges.v, kept.heaps.v, kept.locals.v);
}

int main(void)
{
	check_maps();
	check_ranges();
	check_user();
	check_alignment();
	check_own();
	check_arenas();
	check_main_arena();
	check_stacks();
	check_libc();
	check_ended();
	check_control_blocks();
	check_heap();
	check_blocks();
	begin();
	CHECK(held_blocks == 0, "%ld blocks are held", held_blocks);
	return failures != 0;
}
