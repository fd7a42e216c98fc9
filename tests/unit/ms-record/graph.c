/* SPDX-License-Identifier: MIT
 * The graph of the leak scan on made memory: pointers of every kind, long chains and cycles, and
 * random memory against the definitions taken word by word.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned few; /* number of blocks from which there is an index */
#define INDEXED_FROM few
#include "ms-record/graph/graph.c" /* it belongs to a tool, of which there is no library */
#include "ms-record/graph/graph_kept.c"
#include "ms-record/graph/graph_solve.c"

#include "tests/unit/held.h"

#define ROOT UINT64_MAX
#define MANY 1000000u
#define USER (UINT64_C(1) << 63)

static unsigned failures;
static const struct graph *retaining; /* for those that graph_retained calls */

static void check(bool good, const char *what, const char *more)
{
	if (!good && failures++ < 20)
		printf("%s: %s\n", what, more);
}

struct word {
	uint64_t in, value; /* in: number of a block, or ROOT */
};

/* Gives the words to the graph as a reader of memory does. */
static void feed(struct graph *g, const struct word *words, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (words[k].in == ROOT)
			graph_roots(g, 0, &words[k].value, 8);
	for (uint32_t i = 0; i < g->count; i++)
		for (size_t k = 0; k < n; k++)
			if (words[k].in == g->v[i].number)
				graph_words(g, i, 0, &words[k].value, 8);
}

/* Verdicts by number, as letters. */
static void tell(const struct graph *g, char *out)
{
	for (uint32_t i = 0; i < g->count; i++)
		out[g->v[i].number] = "dir?"[g->v[i].verdict];
	out[g->count] = '\0';
}

/* ---- small memory, worked out by hand ---- */

static const struct {
	const char *name;
	struct {
		uint64_t address, size; /* USER | address: an object of ms_alloc */
	} blocks[6];
	struct word words[6];
	const char *want; /* of each block: direct, indirect, reachable */
} cases[] = {
	{"nothing points to it", {{0x1000, 16}}, {{0}}, "d"},
	{"its address", {{0x1000, 16}}, {{ROOT, 0x1000}}, "r"},
	{"its last byte", {{0x1000, 16}}, {{ROOT, 0x100f}}, "r"},
	{"one past the end", {{0x1000, 16}}, {{ROOT, 0x1010}}, "r"},
	{"two past the end", {{0x1000, 16}}, {{ROOT, 0x1011}}, "d"},
	{"one before it", {{0x1000, 16}}, {{ROOT, 0xfff}}, "d"},
	{"an odd address inside", {{0x1000, 1 << 20}}, {{ROOT, 0x81235}}, "r"},
	{"adjacent: the second one's", {{0x1000, 16}, {0x1010, 16}}, {{ROOT, 0x1010}}, "dr"},
	{"adjacent: the first one's", {{0x1000, 16}, {0x1010, 16}}, {{ROOT, 0x100f}}, "rd"},
	{"adjacent, in other order", {{0x1010, 16}, {0x1000, 16}}, {{ROOT, 0x1010}}, "rd"},
	{"of no bytes", {{0x1000, 0}}, {{ROOT, 0x1000}}, "r"},
	{"behind one of no bytes", {{0x1000, 0}}, {{ROOT, 0x1001}}, "d"},
	{"of no bytes behind another", {{0x1000, 16}, {0x1010, 0}}, {{ROOT, 0x1010}}, "dr"},
	{"of no bytes before another", {{0x1000, 0}, {0x1001, 16}}, {{ROOT, 0x1001}}, "dr"},
	{"two of no bytes", {{0x1000, 0}, {0x1010, 0}}, {{ROOT, 0x1010}}, "dr"},
	{"lowest address", {{0, 16}}, {{ROOT, 0}}, "r"},
	{"where no memory is", /* a handle that was given to ms_alloc, perhaps */
	 {{0x1000, 16}, {UINT64_C(1) << 60, 16}},
	 {{ROOT, UINT64_C(1) << 60}, {ROOT, UINT64_C(1) << 48}, {ROOT, 0x1000}},
	 "rd"},
	{"up to there", {{(UINT64_C(1) << 48) - 16, 16}}, {{ROOT, (UINT64_C(1) << 48) - 1}}, "r"},
	{"behind that", {{(UINT64_C(1) << 48) - 16, 16}}, {{ROOT, UINT64_C(1) << 48}}, "d"},
	{"highest address", {{(UINT64_C(1) << 47) - 16, 16}}, {{ROOT, UINT64_C(1) << 47}}, "r"},
	{"bits above an address", {{0x1000, 16}}, {{ROOT, UINT64_C(1) << 63 | 0x1000}}, "d"},
	{"all bits", {{0x1000, 16}}, {{ROOT, UINT64_MAX}}, "d"},
	{"itself only", {{0x1000, 16}}, {{0, 0x1000}}, "d"},
	{"a pair", {{0x1000, 16}, {0x2000, 16}}, {{0, 0x2000}}, "di"},
	{"a pair, the younger first", {{0x1000, 16}, {0x2000, 16}}, {{1, 0x1000}}, "id"},
	{"a pair by its middle", {{0x1000, 16}, {0x2000, 16}}, {{0, 0x2007}}, "di"},
	{"two that point to one another",
	 {{0x2000, 16}, {0x1000, 16}},
	 {{0, 0x1000}, {1, 0x2000}},
	 "di"},
	{"two with a root",
	 {{0x2000, 16}, {0x1000, 16}},
	 {{0, 0x1000}, {1, 0x2000}, {ROOT, 0x1000}},
	 "rr"},
	{"three, a pointer into the cycle",
	 {{0x1000, 16}, {0x2000, 16}, {0x3000, 16}},
	 {{0, 0x2000}, {1, 0x1000}, {2, 0x2000}},
	 "iid"},
	{"a cycle of three, the oldest in the middle",
	 {{0x2000, 16}, {0x1000, 16}, {0x3000, 16}},
	 {{0, 0x3000}, {2, 0x1000}, {1, 0x2000}},
	 "dii"},
	{"two direct ones, one that both lead to",
	 {{0x1000, 16}, {0x2000, 16}, {0x3000, 16}},
	 {{0, 0x3000}, {1, 0x3000}},
	 "ddi"},
	{"the older of two has the higher address",
	 {{0x2000, 16}, {0x1000, 16}, {0x3000, 16}},
	 {{0, 0x3000}, {1, 0x3000}},
	 "ddi"},
	{"the older of two by a longer way",
	 {{0x1000, 16}, {0x2000, 16}, {0x3000, 16}, {0x4000, 16}},
	 {{0, 0x3000}, {2, 0x4000}, {1, 0x4000}},
	 "ddii"},
	{"a list, the last one made is its head",
	 {{0x1000, 16}, {0x2000, 16}, {0x3000, 16}},
	 {{2, 0x2000}, {1, 0x1000}},
	 "iid"},
	{"one that is reachable, and keeps nothing lost",
	 {{0x1000, 16}, {0x2000, 16}, {0x3000, 16}},
	 {{ROOT, 0x1000}, {1, 0x3000}, {1, 0x1000}},
	 "rdi"},
	{"what is reachable leads on",
	 {{0x1000, 16}, {0x2000, 16}, {0x3000, 16}},
	 {{ROOT, 0x2000}, {1, 0x3000}, {2, 0x2000}},
	 "drr"},
	{"unreachable to reachable",
	 {{0x1000, 16}, {0x2000, 16}},
	 {{0, 0x2000}, {ROOT, 0x2000}},
	 "dr"},
	{"a gigabyte further", {{0x1000, UINT64_C(3) << 30}}, {{ROOT, UINT64_C(2) << 30}}, "r"},
	{"behind a gigabyte",
	 {{0x1000, UINT64_C(3) << 30}, {UINT64_C(4) << 30, 16}},
	 {{ROOT, (UINT64_C(4) << 30) + 8}},
	 "dr"},
	{"an object in a block, both",
	 {{0x1000, 256}, {USER | 0x1040, 64}},
	 {{ROOT, 0x1050}},
	 "rr"},
	{"an object in a block, the block",
	 {{0x1000, 256}, {USER | 0x1040, 64}},
	 {{ROOT, 0x1000}},
	 "rd"},
	{"an object in no block", {{0x1000, 256}, {USER | 0x2000, 64}}, {{ROOT, 0x2000}}, "dr"},
	{"an object at a block's address",
	 {{0x1000, 256}, {USER | 0x1000, 64}},
	 {{ROOT, 0x1000}},
	 "rr"},
	{"objects point to each other",
	 {{0x1000, 256}, {USER | 0x1000, 64}, {USER | 0x1040, 64}},
	 {{1, 0x1040}},
	 "idi"},
	{"an object in another one, behind a third",
	 {{USER | 0x1000, 256}, {USER | 0x1010, 16}, {USER | 0x1040, 64}},
	 {{ROOT, 0x1030}},
	 "rdd"},
	{"an object in two others",
	 {{USER | 0x1000, 256}, {USER | 0x1040, 64}, {USER | 0x1050, 8}},
	 {{ROOT, 0x1051}},
	 "rrr"},
	{"an object in one that another one overlaps",
	 {{USER | 0x1000, 64}, {USER | 0x1020, 64}, {USER | 0x1050, 8}},
	 {{ROOT, 0x1052}},
	 "drr"},
};

/* Lists what retains each block, by number; - = it is reachable. */
static const struct {
	const char *name, *roots;
} retained[] = {
	{"three, a pointer into the cycle", "222"},
	{"a cycle of three, the oldest in the middle", "000"},
	{"two direct ones, one that both lead to", "010"},
	{"the older of two has the higher address", "010"},
	{"the older of two by a longer way", "0100"},
	{"a list, the last one made is its head", "222"},
	{"one that is reachable, and keeps nothing lost", "-11"},
};

static void note_root(void *arg, uint32_t direct, uint32_t block)
{
	((char *)arg)[retaining->v[block].number] = (char)('0' + retaining->v[direct].number);
}

static void by_hand(void)
{
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct graph_block v[6];
		struct graph g;
		char got[8];
		uint32_t n = (uint32_t)strlen(cases[c].want);
		size_t words = 0;
		for (uint32_t i = 0; i < n; i++)
			v[i] = (struct graph_block){.address = cases[c].blocks[i].address & ~USER,
						    .size = cases[c].blocks[i].size,
						    .number = i,
						    .user = cases[c].blocks[i].address & USER};
		while (words < 6 && (cases[c].words[words].in || cases[c].words[words].value))
			words++;
		graph_init(&g, v, n, 100);
		feed(&g, cases[c].words, words);
		graph_solve(&g, true);
		tell(&g, got);
		check(strcmp(got, cases[c].want) == 0, cases[c].name, got);
		memset(got, '-', n);
		retaining = &g;
		graph_retained(&g, note_root, got);
		for (size_t i = 0; i < sizeof retained / sizeof *retained; i++)
			check(strcmp(cases[c].name, retained[i].name) != 0 ||
				      strcmp(got, retained[i].roots) == 0,
			      cases[c].name, got);
		graph_free(&g);
	}
}

/* ---- memory that is as bad as can be ---- */

struct kept {
	uint64_t direct, blocks, bytes;
};

static void add_kept(void *arg, uint32_t direct, uint32_t block)
{
	struct kept *k = arg;
	k->direct += direct == block;
	k->blocks++;
	k->bytes += retaining->v[block].size;
}

/* Block i of `n`, in the order of age that an odd factor makes of that of addresses. */
static struct graph_block *made(uint32_t n, uint64_t size, uint64_t stride)
{
	struct graph_block *v = calloc(n, sizeof *v);
	for (uint32_t i = 0; v && i < n; i++)
		v[i] = (struct graph_block){.address =
						    UINT64_C(0x7f0000000000) +
						    (uint64_t)((i * UINT64_C(7919)) % n) * stride,
					    .size = size,
					    .number = i};
	return v;
}

enum shape { CHAIN, RING, COMB, STAR };

/* Returns the block that `i` leads to. Every other one of a comb is a tooth, which leads to the
 * last one; each also leads to the one behind it. */
static uint32_t next_of(enum shape shape, uint32_t i)
{
	switch (shape) {
	case CHAIN:
		return i + 1;
	case RING:
		return (i + 1) % MANY;
	case COMB:
		return i % 2 ? MANY - 1 : i + 2;
	default:
		return 0;
	}
}

static void long_memory(enum shape shape, bool root, uint64_t direct, const char *what)
{
	struct graph_block *v = made(MANY, 48, 64);
	struct graph g;
	struct kept k = {0};
	uint64_t counts[MS_VERDICTS] = {0};
	graph_init(&g, v, MANY, (size_t)MANY * 4);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t to = next_of(shape, i);
		uint64_t words[2] = {to < MANY ? v[to].address + i % 49 : 0,
				     shape == COMB && i + 1 < MANY ? v[i + 1].address : 0};
		graph_words(&g, i, 0, words, 8);
		graph_words(&g, i, 0, words + 1, 8);
	}
	uint64_t first = v[0].address;
	if (root)
		graph_roots(&g, 0, &first, 8);
	graph_solve(&g, true);
	for (uint32_t i = 0; i < MANY; i++)
		counts[v[i].verdict]++;
	retaining = &g;
	graph_retained(&g, add_kept, &k);
	check(counts[MS_VERDICT_IS_DIRECT] == direct && k.direct == direct, what, "direct");
	check(counts[MS_VERDICT_IS_REACHABLE] == (root ? MANY : 0), what, "reachable");
	check(counts[MS_VERDICT_IS_UNKNOWN] == 0, what, "unknown");
	check(k.blocks == (root ? 0 : MANY) && k.bytes == k.blocks * 48, what, "retained");
	graph_free(&g);
	free(v);
}

/* Sorted, and found again, wherever they lie. */
static void sorted(void)
{
	uint32_t n = 20000;
	struct graph_block *v = calloc(n, sizeof *v);
	struct graph g;
	uint64_t seed = 5;
	for (uint32_t i = 0; v && i < n; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		v[i] = (struct graph_block){.address = seed >> 29 & ~UINT64_C(63),
					    .size = 1 + i % 64,
					    .number = i,
					    .user = i % 7 == 0};
	}
	graph_init(&g, v, n, 1);
	for (uint32_t i = 1; i < n; i++)
		check(v[i - 1].user < v[i].user ||
			      (v[i - 1].user == v[i].user && v[i - 1].address <= v[i].address),
		      "sorted", "order");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = graph_find(&g, v[i].address, v[i].user);
		check(at <= i && v[at].address + v[at].size > v[i].address, "sorted", "found");
		graph_roots(&g, 0, &v[i].address, 8);
		check(g.marked[i], "sorted", "marked");
	}
	graph_free(&g);
	free(v);
}

/* Blocks that overlap are not what the graph is made for: it answers all the same, and reads
 * nothing that is not its own. */
static void overlapping(void)
{
	uint32_t n = 6000;
	struct graph_block *v = calloc(n, sizeof *v);
	struct graph g;
	uint64_t seed = 9;
	for (uint32_t i = 0; v && i < n; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		v[i] = (struct graph_block){.address = seed >> 33 &
						       (i % 500 ? 0xffffff : 0x7fffffffffff),
					    .size = i % 3 ? seed >> 54 : seed >> 44,
					    .number = i / 2,
					    .user = i % 11 == 0};
	}
	graph_init(&g, v, n, (size_t)n * 8);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t words[] = {v[n - 1 - i].address, v[i].address + v[i].size,
				    v[i / 2].address + 5, ~v[i].address};
		graph_words(&g, i, 0, words, 32);
		if (i % 100 == 0)
			graph_roots(&g, 0, words, 32);
	}
	graph_solve(&g, true);
	struct kept k = {0};
	retaining = &g;
	graph_retained(&g, add_kept, &k);
	uint64_t unreachable = 0;
	for (uint32_t i = 0; i < n; i++)
		unreachable += v[i].verdict <= MS_VERDICT_IS_INDIRECT;
	check(k.blocks == unreachable, "overlapping", "all that is unreachable is retained once");
	graph_free(&g);
	free(v);
}

/* A block of a terabyte, as one that reserves address space has, is indexed without memory for all of
 * it: there are parts of the index for its ends, and for its neighbours. */
static void huge(void)
{
	enum { PART = 4 << 20, PARTS = 3 };
	const uint64_t at = (UINT64_C(1) << 32) + 1024, size = (UINT64_C(1) << 40) - 2048;
	struct graph_block v[] = {{.address = at + size + 64, .size = 16, .number = 2},
				  {.address = at, .size = size, .number = 1},
				  {.address = 4096, .size = 16, .number = 0}};
	const struct {
		uint64_t value;
		uint32_t block;
	} words[] = {{4100, 0},          {at - 1, NOBODY}, {at, 1},
		     {at + size / 2, 1}, {at + size, 1},   {at + size + 1, NOBODY},
		     {at + size + 70, 2}};
	long before = held_bytes;
	struct graph g;
	graph_init(&g, v, 3, 1000);
	check(held_bytes - before <= PARTS * PART + (long)(LEAVES * sizeof(uint32_t *)) + 4 * 4096,
	      "huge", "memory for more than its ends");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		check(target(&g, &g.kinds[0], words[i].value) == words[i].block, "huge",
		      "another block");
	graph_free(&g);
}

/* Too many pointers, or not all of them seen: nothing is called a leak. */
static void unsure(void)
{
	for (unsigned how = 0; how < 2; how++) {
		struct graph_block v[] = {{.address = 0x1000, .size = 64},
					  {.address = 0x2000, .size = 64, .number = 1},
					  {.address = 0x3000, .size = 64, .number = 2}};
		struct word words[] = {{ROOT, 0x1000}, {1, 0x3000}, {2, 0x2000}};
		struct graph g;
		char got[8];
		graph_init(&g, v, 3, how ? 0 : 10);
		feed(&g, words, 3);
		graph_solve(&g, how != 0);
		tell(&g, got);
		check(strcmp(got, "r??") == 0 && g.overflow == (how == 1), "unsure", got);
		graph_free(&g);
	}
	struct graph g;
	uint64_t word = 0x1000;
	graph_init(&g, NULL, 0, 10);
	graph_roots(&g, 0, &word, 8);
	graph_solve(&g, true);
	graph_free(&g);
}

/* Places of pointers: in roots by address, in blocks by offset; and pointers to ranges, which are
 * taken only where no block lies. */
static void keeping(void)
{
	static const struct graph_range ranges[] = {{0x500, 0x600}, {0x3000, 0x9000}};
	struct graph_block v[] = {{.address = 0x1000, .size = 64},
				  {.address = 0x3100, .size = 64, .number = 1}};
	const uint64_t in_root[] = {0x1040, 0x2000, 0x8fff, 0x3110, 0x9000};
	const uint64_t in_block[] = {0, 0x3100, 0x3120, 0x510, 0x600};
	struct graph_kept kept = {
		.ranges = ranges, .range_count = 2, .types = ranges, .type_count = 2};
	struct graph g;
	char got[160] = "";
	size_t at = 0;
	graph_init(&g, v, 2, 10);
	graph_keep(&g, &kept);
	graph_roots(&g, 0x7000, in_root, 40);
	graph_words(&g, 0, 0x1000, in_block, 40);
	graph_words(&g, 1, 0x3100, in_block + 3, 8);
	for (size_t i = 0; i < kept.words.n; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%x:%u ",
				       (unsigned)kept.words.v[i].address, kept.words.v[i].to);
	for (size_t i = 0; i < g.edge_count; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "+%u:%u ", kept.offsets[i],
				       g.edges[i]);
	for (size_t i = 0; i < kept.links.n; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%u+%u:%u ", kept.links.v[i].from,
				       kept.links.v[i].offset, kept.links.v[i].to);
	for (uint32_t i = 0; i < 2; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%x ", (unsigned)kept.type_of[i]);
	/* The types are words 1 of the first block and 0 of the second. */
	check(strcmp(got, "7000:0 7010:3 7018:1 +8:1 0+24:2 1+0:2 3101 510 ") == 0, "kept pointers",
	      got);
	graph_kept_free(&kept);
	graph_free(&g);
}

/* Words at any multiple, and without some bits, in 26 bytes that are otherwise 0. */
static const struct {
	const char *name;
	unsigned align;
	uint64_t cleared;
	struct {
		unsigned at; /* where in the bytes the word begins */
		uint64_t value;
	} words[3];
	const char *want; /* of the blocks at 0x1000, 0x2000 and 0x3000 */
} odd[] = {
	{"whole words only", 8, 0, {{0, 0x1000}, {9, 0x2000}, {18, 0x3000}}, "rdd"},
	{"at each byte", 1, 0, {{0, 0x1000}, {9, 0x2000}, {18, 0x3000}}, "rrr"},
	{"at each fourth", 4, 0, {{0, 0x1000}, {8, 0x2000}, {18, 0x3000}}, "rrd"},
	{"half of a word on", 4, 0, {{4, 0x1000}, {12, 0x2000}}, "rrd"},
	{"half of a word on, not looked for", 8, 0, {{4, 0x1000}, {12, 0x2000}}, "ddd"},
	{"the last word that is whole", 1, 0, {{17, 0x1000}}, "rdd"},
	{"which goes on behind it", 1, 0, {{19, 0x1000}}, "ddd"},
	{"tags above",
	 8,
	 0xff00000000000000,
	 {{0, 0xab00000000001000}, {8, 0xff00000000002000}, {16, 0xab80000000003000}},
	 "rrd"},
	{"tags above, which are not cleared", 8, 0, {{0, 0xab00000000001000}, {8, 0x2000}}, "drd"},
	{"tags below", 8, 7, {{0, 0x1047}, {8, 0x2041}, {16, 0x3048}}, "rrd"},
	{"tags below, which are not cleared",
	 8,
	 0,
	 {{0, 0x1047}, {8, 0x2041}, {16, 0x3048}},
	 "ddd"},
	{"tags at each byte",
	 1,
	 0xff00000000000000,
	 {{0, 0xab00000000001000}, {9, 0xcd00000000002000}, {18, 0xef00000000003000}},
	 "rrr"},
};

static void odd_words(void)
{
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct graph_block v[] = {{.address = 0x1000, .size = 64},
					  {.address = 0x2000, .size = 64, .number = 1},
					  {.address = 0x3000, .size = 64, .number = 2}};
		_Alignas(8) uint8_t bytes[32] = {0};
		struct graph g;
		char got[8];
		for (unsigned k = 0; k < 3; k++)
			if (odd[i].words[k].value)
				memcpy(bytes + odd[i].words[k].at, &odd[i].words[k].value, 8);
		graph_init(&g, v, 3, 10);
		g.align = odd[i].align;
		g.cleared = odd[i].cleared;
		graph_roots(&g, 0, bytes, 26);
		graph_solve(&g, true);
		tell(&g, got);
		check(strcmp(got, odd[i].want) == 0, odd[i].name, got);
		graph_free(&g);
	}
}

/* ---- what the program says is no leak ---- */

/* Lists addresses that the program ignores, among blocks at 0x1000, 0x1040, of 0 bytes at 0x2000,
 * and one of ms_alloc in the first, with numbers from 0; the first points to the third. */
static const struct {
	const char *name;
	uint64_t address, next;
	unsigned count;
	const char *want; /* in that order */
} said[] = {
	{"its address", 0x1040, 2, 1, "drid"},
	{"allocated just then", 0x1040, 1, 0, "ddid"},
	{"within it", 0x107f, 9, 1, "drid"},
	{"behind it", 0x1080, 9, 0, "ddid"},
	{"behind one and in the other", 0x1040, 9, 1, "drid"},
	{"of no bytes", 0x2000, 9, 1, "ddrd"},
	{"behind one of no bytes", 0x2001, 9, 0, "ddid"},
	{"what it points to", 0x1000, 9, 1, "rdrd"},
	{"in two", 0x1015, 9, 2, "rdrr"},
	{"in two, of which one is later", 0x1015, 3, 1, "rdrd"},
	{"nowhere", UINT64_MAX, UINT64_MAX, 0, "ddid"},
	{"at 0", 0, 9, 0, "ddid"},
};

static void ignoring(void)
{
	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		struct graph_block v[] = {
			{.address = 0x1000, .size = 64},
			{.address = 0x1040, .size = 64, .number = 1},
			{.address = 0x2000, .number = 2},
			{.address = 0x1010, .size = 8, .number = 3, .user = true},
		};
		struct graph g;
		char got[8];
		uint64_t to_third = 0x2000;
		graph_init(&g, v, 4, 10);
		uint32_t n = graph_ignore(&g, said[i].address, said[i].next);
		check(n == said[i].count, said[i].name, "the count");
		n = graph_ignore(&g, said[i].address, said[i].next);
		check(n == 0, said[i].name, "said again");
		graph_words(&g, 0, 0, &to_third, 8);
		graph_solve(&g, true);
		tell(&g, got);
		check(strcmp(got, said[i].want) == 0, said[i].name, got);
		graph_free(&g);
	}
}

/* ---- random memory, and the definitions ---- */

#define MOST 12u
#define WORDS 24u

struct model {
	struct graph_block v[MOST]; /* by number */
	uint32_t n;
	struct word words[WORDS];
	bool leads[MOST][MOST], reached[MOST];
};

static uint32_t random_below(uint32_t n)
{
	static uint64_t seed = 77;
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % n;
}

/* To which block of that kind the value points; -1 = to none. */
static int pointed(const struct model *m, uint64_t value, bool user)
{
	int behind = -1;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct graph_block *b = &m->v[i];
		if (b->user != user)
			continue;
		if (value == b->address || (value > b->address && value < b->address + b->size))
			return (int)i;
		if (value == b->address + b->size)
			behind = (int)i;
	}
	return behind;
}

static void make_model(struct model *m)
{
	uint64_t at[2] = {0x1000, 0x1000};
	uint32_t ages[MOST];
	memset(m, 0, sizeof *m);
	m->n = 1 + random_below(MOST);
	for (uint32_t i = 0; i < m->n; i++)
		ages[i] = i;
	for (uint32_t i = m->n; i-- > 1;) {
		uint32_t k = random_below(i + 1), t = ages[i];
		ages[i] = ages[k];
		ages[k] = t;
	}
	for (uint32_t i = 0; i < m->n; i++) {
		bool user = random_below(4) == 0;
		uint64_t size = random_below(5) * 8, gap = random_below(3) * 8;
		m->v[ages[i]] = (struct graph_block){
			.address = at[user] + gap, .size = size, .number = ages[i], .user = user};
		at[user] += gap + (size ? size : 8);
	}
	for (uint32_t k = 0; k < WORDS; k++) {
		const struct graph_block *to = &m->v[random_below(m->n)];
		uint32_t in = random_below(m->n + 1);
		m->words[k] = (struct word){in == m->n ? (random_below(4) ? m->n : ROOT) : in,
					    to->address + random_below((uint32_t)to->size + 3)};
	}
}

static void close_model(struct model *m)
{
	for (uint32_t k = 0; k < WORDS; k++)
		for (int user = 0; user < 2; user++) {
			int to = pointed(m, m->words[k].value, user);
			if (to >= 0 && m->words[k].in == ROOT)
				m->reached[to] = true;
			else if (to >= 0 && m->words[k].in < m->n)
				m->leads[m->words[k].in][to] = true;
		}
	for (uint32_t k = 0; k < m->n; k++)
		for (uint32_t i = 0; i < m->n; i++)
			for (uint32_t j = 0; j < m->n; j++)
				m->leads[i][j] |= m->leads[i][k] && m->leads[k][j];
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; m->reached[i] && j < m->n; j++)
			m->reached[j] |= m->leads[i][j];
}

static char verdict(const struct model *m, uint32_t i)
{
	if (m->reached[i])
		return 'r';
	for (uint32_t j = 0; j < m->n; j++)
		if (j != i && !m->reached[j] && m->leads[j][i] && (!m->leads[i][j] || j < i))
			return 'i';
	return 'd';
}

static void models(void)
{
	for (unsigned round = 0; round < 1000; round++) {
		struct model m;
		struct graph_block v[MOST];
		struct graph g;
		char want[MOST + 1] = "", got[MOST + 1], text[80];
		make_model(&m);
		memcpy(v, m.v, sizeof v);
		graph_init(&g, v, m.n, 1000);
		feed(&g, m.words, WORDS);
		graph_solve(&g, true);
		tell(&g, got);
		close_model(&m);
		for (uint32_t i = 0; i < m.n; i++)
			want[i] = verdict(&m, i);
		snprintf(text, sizeof text, "round %u: %s, not %s", round, got, want);
		check(strcmp(got, want) == 0, "random memory", text);
		graph_free(&g);
	}
}

static void all(void)
{
	by_hand();
	long_memory(CHAIN, false, 1, "a chain");
	long_memory(CHAIN, true, 0, "a chain that is kept");
	long_memory(RING, false, 1, "a ring");
	long_memory(COMB, false, 1, "a comb");
	long_memory(STAR, false, MANY - 1, "a star");
	sorted();
	overlapping();
	huge();
	unsure();
	odd_words();
	keeping();
	ignoring();
	models();
}

int main(void)
{
	all();
	few = 100;
	all();
	check(held_blocks == 0, "all", "is given back");
	check(held_bytes == 0, "all", "is unmapped");
	return failures != 0;
}
