/* SPDX-License-Identifier: MIT
 * Finds the root of each word in root memory that points to a block or to a mapping.
 *
 * Words come mostly in order of address, so that those of one root follow each other: what is known
 * of the last word's root holds for a run of addresses, and is looked up once for each run.
 */
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "ms-record/session/session.h"
#include "scan_keep.h"
#include "scan_work.h"

#define FRAMES_RANKED 800u

/* Lists the ranks of roots; frames have one for each depth, the outermost frame the first. Up to 3
 * ranks behind the first one are keep_find's. */
enum {
	RANK_DATA = 1,
	RANK_MAIN = 100,
	RANK_THREADS = 1000,
	RANK_REGISTERS = 5000, /* + 1: not of the main thread */
	RANK_KERNEL = 6000,
	RANK_HEAP = 7000,
	RANK_MAPPING = 8000,
};

struct finder {
	struct kept *k;
	const struct memory *memory;
	/* the root of the addresses in [start, end) */
	uint32_t root;
	uint64_t start, end;
	uint32_t heap, kernel, marked; /* 1 + index of these roots; 0 = none yet */
};

/* Adds a root, whose words lie in [start, end). */
static struct kept_root *add_root(struct finder *f, enum keep_kind kind, uint32_t rank,
				  uint64_t start, uint64_t end)
{
	struct kept *k = f->k;
	f->root = (uint32_t)k->roots.n;
	f->start = start;
	f->end = end;
	*MS_PUSH(&k->roots) = (struct keep_root){.kind = (uint8_t)kind, .rank = rank};
	struct kept_root *about = MS_PUSH(&k->about);
	*about = (struct kept_root){.start = start, .end = end, .size = end - start};
	return about;
}

/* Makes the addresses in [start, end) belong to the root `*root`, 1 + its index. Returns false if
 * there is none yet. */
static bool use_root(struct finder *f, const uint32_t *root, uint64_t start, uint64_t end)
{
	if (!*root)
		return false;
	f->root = *root - 1;
	f->start = start;
	f->end = end;
	return true;
}

/* ---- threads ---- */

/* Narrows [*start, *end) around an address to the part that no symbol covers. */
static void between_symbols(const struct kept_symbols *s, uint64_t address, uint64_t *start,
			    uint64_t *end)
{
	size_t i = MS_COUNT_UP_TO(s->v, s->n, start, address);
	if (i && s->v[i - 1].end > *start)
		*start = s->v[i - 1].end;
	if (i < s->n && s->v[i].start < *end)
		*end = s->v[i].start;
}

static bool in_storage(struct finder *f, uint64_t address)
{
	struct kept *k = f->k;
	size_t i = MS_COUNT_UP_TO(k->storage.v, k->storage.n, start, address);
	struct kept_storage *s = i ? &k->storage.v[i - 1] : NULL;
	if (!s || address >= s->end)
		return false;
	static struct kept_module unknown = {.read = true};
	struct kept_module *m = s->module == KEEP_NONE ? &unknown : &k->modules[s->module];
	uint64_t at = address - s->start, start = 0, end = s->end - s->start;
	kept_module_read(m);
	const struct kept_symbol *y = kept_symbol_at(&m->locals, at);
	if (!y)
		between_symbols(&m->locals, at, &start, &end);
	if (!y && use_root(f, &s->rest, s->start + start, s->start + end))
		return true;
	struct kept_root *r =
		add_root(f, KEEP_THREAD_LOCAL, RANK_DATA, s->start + (y ? y->start : start),
			 s->start + (y ? y->end : end));
	r->thread = k->threads[s->thread].index;
	r->module = m->id;
	r->offset = y ? y->start : 0;
	r->name = y ? y->name : ".tbss";
	if (!y) {
		r->start = s->start;
		r->size = s->end - s->start;
		s->rest = f->root + 1;
	}
	return true;
}

/* Adds the frame that holds the address. */
static void add_frame(struct finder *f, struct kept_thread *t, uint64_t address)
{
	kept_thread_unwind(t, f->k->modules, f->k->module_count);
	size_t n = t->frames.n, i = MS_COUNT_UP_TO(t->frames.v, n, sp, address);
	i -= i != 0;
	size_t depth = n ? n - i : 1;
	depth = depth < FRAMES_RANKED ? depth : FRAMES_RANKED;
	struct kept_root *r = add_root(
		f, KEEP_FRAME, (t->main ? RANK_MAIN : RANK_THREADS) + (uint32_t)depth,
		n && i ? t->frames.v[i].sp : t->start, i + 1 < n ? t->frames.v[i + 1].sp : t->end);
	r->thread = t->index;
	r->ip = n ? t->frames.v[i].ip : 0;
	r->exact = n && t->frames.v[i].exact;
}

static bool in_control(struct finder *f, uint64_t address)
{
	for (size_t i = 0; i < f->k->thread_count; i++) {
		const struct kept_thread *t = &f->k->threads[i];
		uint64_t tp = t->regs->tp;
		if (!tp || address - tp >= KEPT_CONTROL)
			continue;
		add_root(f, KEEP_CONTROL, RANK_DATA, tp, tp + KEPT_CONTROL)->thread = t->index;
		return true;
	}
	return false;
}

static bool in_stack(struct finder *f, uint64_t address)
{
	for (size_t i = 0; i < f->k->thread_count; i++) {
		struct kept_thread *t = &f->k->threads[i];
		if (address - t->start >= t->end - t->start)
			continue;
		add_frame(f, t, address);
		return true;
	}
	return false;
}

static bool in_registers(struct finder *f, uint64_t address)
{
	uint64_t start = address & ~((UINT64_C(1) << ROOTS_THREAD) - 1);
	size_t i = (size_t)((address & ~ROOTS_REGISTERS) >> ROOTS_THREAD);
	if (!(address & ROOTS_REGISTERS))
		return false;
	const struct kept_thread *t = &f->k->threads[i];
	add_root(f, KEEP_REGISTERS, RANK_REGISTERS + !t->main, start,
		 start + (UINT64_C(1) << ROOTS_THREAD))
		->thread = t->index;
	return true;
}

/* ---- modules ---- */

/* Makes the address belong to the root of all variables of CPython, if it is in one of them: its
 * garbage collector links all containers, so that each of these variables leads to everything. In a
 * program that has CPython linked in, those with other names are the program's. */
static bool in_python(struct finder *f, struct kept_module *m, uint64_t at,
		      const struct kept_symbol *y)
{
	bool all = strstr(m->name, "python") != NULL;
	if (!m->python || (!all && y && strncmp(y->name, "Py", 2) && strncmp(y->name, "_Py", 3)))
		return false;
	uint64_t start = m->start - m->bias, end = m->end - m->bias;
	if (!all && y) {
		start = y->start;
		end = y->end;
	} else if (!all)
		between_symbols(&m->variables, at, &start, &end);
	if (use_root(f, &m->python_root, m->bias + start, m->bias + end))
		return true;
	struct kept_root *r = add_root(f, KEEP_SECTION, RANK_DATA, m->bias + start, m->bias + end);
	r->start = m->start;
	r->size = m->end - m->start;
	r->module = m->id;
	r->offset = m->start - m->bias;
	r->name = "interpreter heap";
	r->module_name = m->name;
	m->python_root = f->root + 1;
	f->k->roots.v[f->root].first = true;
	return true;
}

static bool in_module(struct finder *f, uint64_t address)
{
	struct kept_module *m = kept_module_at(f->k->modules, f->k->module_count, address);
	const char *name;
	if (!m)
		return false;
	kept_module_read(m);
	uint64_t at = address - m->bias;
	const struct kept_symbol *y = kept_symbol_at(&m->variables, at);
	if (in_python(f, m, at, y))
		return true;
	if (y) {
		struct kept_root *r =
			add_root(f, KEEP_VARIABLE, RANK_DATA, m->bias + y->start, m->bias + y->end);
		r->module = m->id;
		r->offset = y->start;
		r->name = y->name;
		return true;
	}
	unsigned i = kept_section_at(m, at, &name);
	bool known = m->has_file && i < m->file.elf.section_count;
	uint64_t start = known ? m->file.elf.sections[i].sh_addr : m->start - m->bias;
	uint64_t end = known ? start + m->file.elf.sections[i].sh_size : m->end - m->bias;
	uint64_t from = known ? start : at & ~UINT64_C(7), to = known ? end : from + 8;
	if (known)
		between_symbols(&m->variables, at, &from, &to);
	uint32_t *seen = m->has_file ? &m->section_roots[i] : &m->rest;
	if (use_root(f, seen, m->bias + from, m->bias + to))
		return true;
	struct kept_root *r = add_root(f, KEEP_SECTION, RANK_DATA, m->bias + from, m->bias + to);
	r->start = m->bias + start;
	r->size = end - start;
	r->module = m->id;
	r->offset = start;
	r->name = name ?: "data";
	r->module_name = m->name;
	*seen = f->root + 1;
	return true;
}

/* ---- other memory ---- */

/* Adds a root of kind KEEP_OTHER, or uses the one that there is. */
static void use_other(struct finder *f, uint32_t *seen, uint32_t rank, const char *name,
		      uint64_t start, uint64_t end)
{
	if (use_root(f, seen, start, end))
		return;
	struct kept_root *r = add_root(f, KEEP_OTHER, rank, start, end);
	r->start = r->size = 0;
	r->name = name;
	*seen = f->root + 1;
}

static bool in_heap(struct finder *f, uint64_t address)
{
	for (size_t i = 0; i < f->k->found.heaps.n; i++) {
		const struct graph_range *h = &f->k->found.heaps.v[i];
		if (address < h->start || address >= h->end)
			continue;
		use_other(f, &f->heap, RANK_HEAP, "heap memory outside of recorded blocks",
			  h->start, h->end);
		return true;
	}
	return false;
}

static void in_mapping(struct finder *f, uint64_t address)
{
	const struct memory_map *m = memory_at(f->memory, address);
	uint64_t start = m ? m->start : address, end = m ? m->end : address + 8;
	add_root(f, KEEP_MAPPING, RANK_MAPPING, start, end);
}

/* Sets f->root for a word. */
static void find_root(struct finder *f, uint64_t address)
{
	if (f->start <= address && address < f->end)
		return;
	if (in_registers(f, address))
		return;
	if (address & ROOTS_KERNEL)
		use_other(f, &f->kernel, RANK_KERNEL, "pointers held by the kernel", ROOTS_KERNEL,
			  ROOTS_KERNEL | ROOTS_MARKED);
	else if (address & ROOTS_MARKED)
		use_other(f, &f->marked, RANK_DATA, "memory that the program marked as a root",
			  ROOTS_MARKED, ROOTS_KERNEL);
	else if (!in_storage(f, address) && !in_control(f, address) && !in_module(f, address) &&
		 !in_stack(f, address) && !in_heap(f, address))
		in_mapping(f, address);
}

/* Returns the index of the program's own mapping that holds the address, or UINT32_MAX. */
static uint32_t range_at(const struct roots_kept *f, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(f->ranges.v, f->ranges.n, end, address);
	return i < f->ranges.n && f->ranges.v[i].start <= address ? (uint32_t)i : UINT32_MAX;
}

/* ---- order ---- */

struct place {
	uint64_t module, offset, kind, thread, start;
	uint32_t root;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = MS_ORDER(x->kind, y->kind) ?: MS_ORDER(x->module, y->module);
	c = c ?: MS_ORDER(x->offset, y->offset);
	return c ?: MS_ORDER(x->thread, y->thread) ?: MS_ORDER(x->start, y->start);
}

/* Orders the roots by what they are, not by the addresses of this run. */
static void order_roots(struct kept *k)
{
	struct place *v = ms_xrealloc(NULL, k->roots.n + 1, sizeof *v);
	for (size_t i = 0; i < k->roots.n; i++) {
		const struct kept_root *r = &k->about.v[i];
		v[i] = (struct place){r->module, r->offset, k->roots.v[i].kind,
				      r->thread, r->start,  (uint32_t)i};
	}
	qsort(v, k->roots.n, sizeof *v, by_place);
	for (size_t i = 0; i < k->roots.n; i++)
		k->roots.v[v[i].root].order = (uint32_t)i;
	free(v);
}

void kept_find_roots(struct work *w, struct kept *k)
{
	struct finder f = {.k = k, .memory = &w->memory};
	const struct graph_kept *g = &k->found.graph;
	for (size_t i = 0; i < g->words.n; i++) {
		const struct graph_word *word = &g->words.v[i];
		uint32_t range = range_at(&k->found, word->address);
		if (range != UINT32_MAX) {
			uint64_t offset = word->address - k->found.ranges.v[range].start;
			uint32_t from = w->graph.count + range;
			if (from != word->to)
				*MS_PUSH(&k->links) = (struct graph_link){
					from, word->to,
					offset < KEEP_NONE ? (uint32_t)offset : KEEP_NONE};
			continue;
		}
		find_root(&f, word->address);
		uint64_t offset = word->address - k->about.v[f.root].start;
		bool placed = k->roots.v[f.root].kind <= KEEP_THREAD_LOCAL ||
			      k->roots.v[f.root].kind == KEEP_MAPPING;
		*MS_PUSH(&k->words) = (struct keep_word){
			f.root, kept_node(k, w->graph.count, word->to),
			placed && offset < KEEP_NONE ? (uint32_t)offset : KEEP_NONE};
	}
	order_roots(k);
}
