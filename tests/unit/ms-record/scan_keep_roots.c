/* SPDX-License-Identifier: MIT
 * Which root each word is of: variables, sections, storage, control blocks and frames of threads, registers, the heap, mappings; with made
 * modules and threads.
 */
#include "ms-record/scan/scan_keep_roots.c" /* it belongs to a tool, of which there is no library */

#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"

/* ---- made modules, threads and memory ---- */

static const struct memory_map map = {.start = 0x90000, .end = 0x92000};
static Elf64_Shdr sections[] = {{.sh_addr = 0x1000, .sh_size = 0x100},
				{.sh_addr = 0x2000, .sh_size = 0x1000}};
static struct kept_symbol variables[] = {
	{0x2010, 0x2020, "first"}, {0x2100, 0x2200, "second"}, {0x2300, 0x2310, "_PyRuntime"}};
static struct kept_symbol locals[] = {{0x10, 0x18, "local"}};
static unsigned unwound;

const struct memory_map *memory_at(const struct memory *m, uint64_t address)
{
	(void)m;
	return address >= map.start && address < map.end ? &map : NULL;
}

struct kept_module *kept_module_at(struct kept_module *v, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (address >= v[i].start && address < v[i].end)
			return &v[i];
	return NULL;
}

void kept_module_read(struct kept_module *m)
{
	m->read = true;
}

const struct kept_symbol *kept_symbol_at(const struct kept_symbols *s, uint64_t address)
{
	for (size_t i = 0; i < s->n; i++)
		if (address >= s->v[i].start && address < s->v[i].end)
			return &s->v[i];
	return NULL;
}

unsigned kept_section_at(const struct kept_module *m, uint64_t address, const char **name)
{
	unsigned i = 0;
	while (i < m->file.elf.section_count &&
	       address - sections[i].sh_addr >= sections[i].sh_size)
		i++;
	*name = i < m->file.elf.section_count ? (i ? ".bss" : ".data") : NULL;
	return i;
}

void kept_thread_unwind(struct kept_thread *t, struct kept_module *v, size_t n)
{
	(void)v;
	(void)n;
	unwound += !t->unwound;
	t->unwound = true;
}

/* ---- words ---- */

static char text[2000];

static void say(const struct kept *k, size_t i)
{
	const struct keep_word *word = &k->words.v[i];
	const struct keep_root *r = &k->roots.v[word->root];
	const struct kept_root *a = &k->about.v[word->root];
	size_t at = strlen(text);
	snprintf(text + at, sizeof text - at, "%d.%u.%s.%u.%x", r->kind, r->rank, a->name ?: "",
		 a->thread, (unsigned)a->size);
	at = strlen(text);
	if (word->offset != KEEP_NONE)
		snprintf(text + at, sizeof text - at, "+%x", (unsigned)word->offset);
	at = strlen(text);
	snprintf(text + at, sizeof text - at, ":%u ", word->node);
}

static const struct {
	uint64_t address;
	const char *want; /* kind, rank, name, thread, size, offset: node */
} words[] = {
	{ROOTS_REGISTERS | 8, "4.5000..7.10000:0"},
	{ROOTS_REGISTERS | 1 << ROOTS_THREAD | 16, "4.5001..9.10000:1"},
	{0x101008, "1.1..data.0.100+8:2"},
	{0x102000, "1.1..bss.0.1000+0:3"},
	{0x102010, "0.1.first.0.10+0:4"},
	{0x102018, "0.1.first.0.10+8:5"},
	{0x102020, "1.1..bss.0.1000+20:6"},
	{0x1021f8, "0.1.second.0.100+f8:7"},
	{0x102800, "1.1..bss.0.1000+800:8"},
	{0x103800, "1.1.data.0.4000+3800:9"},
	{0x201000, "1.1.data.0.2000+1000:10"},
	{0x40000, "3.102..7.100:11"},
	{0x40100, "3.101..7.f00:12"},
	{0x50000, "3.1001..9.1000:13"},
	{0x60000, "2.1..tbss.9.40+0:14"},
	{0x60010, "2.1.local.9.8+0:15"},
	{0x60020, "2.1..tbss.9.40+20:16"},
	{0x60040, "5.1..9.900:17"},
	{0x5ff88, "2.1..tbss.9.80+8:18"},
	{0x70008, "7.7000.heap memory outside of recorded blocks.0.0:19"},
	{0x90008, "6.8000..0.2000+8:20"},
	/* CPython, and a program that has it linked in */
	{0x302010, "1.1.interpreter heap.0.4000+2010:21"},
	{0x302800, "1.1.interpreter heap.0.4000+2800:22"},
	{0x402010, "0.1.first.0.10+0:23"},
	{0x402300, "1.1.interpreter heap.0.4000+2300:24"},
	{0x402800, "1.1.interpreter heap.0.4000+2800:25"},
	{ROOTS_KERNEL, "7.6000.pointers held by the kernel.0.0:26"},
	{ROOTS_MARKED | 0x102010, "7.1.memory that the program marked as a root.0.0:27"},
};
#define WORDS (sizeof words / sizeof *words)

int main(void)
{
	static const struct scan_thread regs[] = {{.tp = 0x41000}, {.tp = 0x60040}};
	static struct kept_frame frames[] = {{0x40000, 5, false}, {0x40100, 6, false}};
	struct kept_thread threads[] = {
		{.regs = &regs[0], .index = 7, .main = true, .start = 0x40000, .end = 0x41000},
		{.regs = &regs[1], .index = 9, .start = 0x50000, .end = 0x51000}};
	struct kept_module modules[] = {
		{.start = 0x100000, .end = 0x104000, .bias = 0x100000, .id = 1, .has_file = true},
		{.start = 0x200000, .end = 0x202000, .bias = 0x200000, .id = 2},
		{.start = 0x300000,
		 .end = 0x304000,
		 .bias = 0x300000,
		 .name = "libpython3.11.so.1.0"},
		{.start = 0x400000, .end = 0x404000, .bias = 0x400000, .name = "editor"}};
	modules[2].python = modules[3].python = true;
	for (size_t i = 2; i < 4; i++)
		modules[i].variables = (struct kept_symbols){variables, 3, 3};
	uint32_t section_roots[3] = {0};
	struct graph_range ranges[] = {{0x80000, 0x81000}}, heaps[] = {{0x70000, 0x78000}};
	static struct kept k;
	static struct work w;
	threads[0].frames.v = frames;
	threads[0].frames.n = 2;
	modules[0].variables = (struct kept_symbols){variables, 2, 2};
	modules[0].locals = (struct kept_symbols){locals, 1, 1};
	modules[0].section_roots = section_roots;
	modules[0].file.elf.sections = sections;
	modules[0].file.elf.section_count = 2;
	k.modules = modules;
	k.module_count = 4;
	k.threads = threads;
	k.thread_count = 2;
	*MS_PUSH(&k.storage) = (struct kept_storage){0x5ff80, 0x60000, 1, KEEP_NONE, 0};
	*MS_PUSH(&k.storage) = (struct kept_storage){0x60000, 0x60040, 1, 0, 0};
	k.found.ranges.v = ranges;
	k.found.ranges.n = 1;
	k.found.heaps.v = heaps;
	k.found.heaps.n = 1;
	for (uint32_t i = 0; i < WORDS; i++)
		*MS_PUSH(&k.found.graph.words) = (struct graph_word){words[i].address, i};
	w.graph.count = 100;
	/* A word in a range is a link of it, but to itself none. */
	*MS_PUSH(&k.found.graph.words) = (struct graph_word){0x80010, 3};
	*MS_PUSH(&k.found.graph.words) = (struct graph_word){0x80018, 100};
	kept_find_roots(&w, &k);
	CHECK(k.words.n == WORDS, "%zu words", k.words.n);
	for (size_t i = 0; i < WORDS; i++) {
		char want[100];
		text[0] = '\0';
		say(&k, i);
		snprintf(want, sizeof want, "%s ", words[i].want);
		CHECK(!strcmp(text, want), "word %zu: %s, not %s", i, text, want);
	}
	CHECK(k.links.n == 1 && k.links.v[0].from == 100 && k.links.v[0].to == 3 &&
		      k.links.v[0].offset == 16,
	      "%zu links", k.links.n);
	CHECK(unwound == 2, "%u threads unwound", unwound);
	bool seen[64] = {0};
	for (size_t i = 0; i < k.roots.n && i < 64; i++)
		seen[k.roots.v[i].order % 64] = true;
	for (size_t i = 0; i < k.roots.n && i < 64; i++)
		CHECK(seen[i], "no root has order %zu", i);
	return failures != 0;
}
