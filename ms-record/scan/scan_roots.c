/* SPDX-License-Identifier: MIT
 * Finds the memory of a process that can hold the program's pointers.
 *
 * Roots are all registers, all private memory that is readable (of files' mappings the changed
 * pages), and shared memory that is writable (of files on a disk the present pages), except:
 *
 *   - blocks: their words count if something points to the block;
 *   - the heap between blocks: the brk area, and glibc's arenas, found by their heads at multiples
 *     of 64 MB, which hold freed memory and glibc's lists of it. Not if `wide`; not the brk area if
 *     `own_brk`;
 *   - mappings that an allocator other than glibc's made for itself, if the guest saw them
 *     (arenas.c in guest). Not if `wide`;
 *   - glibc's main arena in the C library's data, or in that of a static program: its lists point to
 *     free memory next to blocks;
 *   - stacks below the stack pointer, or below the red zone if a function may use it; frames of the
 *     functions that end the process (end_frame.c in guest); stacks of ended threads, which glibc
 *     keeps for new ones (of a thread yet to be joined all but its result and variables);
 *   - memory of MemScope.
 *
 * If it is not certain that memory is one of these, the memory is a root: a leak may be missed, but
 * no reachable block is reported as a leak. Memory that the program registers (ms_root) is always a
 * root.
 */
#include "scan_roots.h"

#include <stdlib.h>

#include "ms-record/guest/layout.h"
#include "scan_roots_work.h"

#define DENSE_GAP 131072u
#define READ_GAP 65536u
#define NONE_MOST ((uint64_t)64 << 20)

/* Tells whether the memory between block `next` and the one before it belongs to the allocator. */
static bool between(const struct roots *r, uint32_t next)
{
	const struct graph *g = r->graph;
	if (!r->dense || r->wide || next == 0 || next >= g->heap)
		return false;
	return g->v[next].address - (g->v[next - 1].address + g->v[next - 1].size) <= DENSE_GAP;
}

/* ---- words at any alignment ---- */

/* Searches `size` bytes of the process's memory at `address`, a multiple of the alignment. */
typedef void look_fn(void *arg, uint64_t address, const uint8_t *bytes, size_t size);

struct looking {
	struct roots *r;
	look_fn *f;
	void *arg;
};

/* Passes a piece of memory to l->f. If the previous piece ends where this one begins, the unaligned
 * words that lie in both are passed first. */
static void look_at_piece(void *arg, uint64_t address, const uint64_t *words, size_t n)
{
	const struct looking *l = arg;
	struct roots *r = l->r;
	unsigned align = r->graph->align, before = 8 - align;
	if (!n)
		return;
	const uint64_t seam[2] = {r->last_word, *words};
	if (before && r->last_end == address)
		l->f(l->arg, address - before, (const uint8_t *)seam + align, (size_t)2 * before);
	l->f(l->arg, address, (const uint8_t *)words, n * 8);
	r->last_end = address + n * 8;
	r->last_word = words[n - 1];
}

/* Passes the memory in [start, end), multiples of 8, to `f`. */
static void look_at_memory(struct roots *r, uint64_t start, uint64_t end, enum memory_pages which,
			   look_fn *f, void *arg)
{
	struct looking l = {r, f, arg};
	memory_words(r->memory, start, end, which, look_at_piece, &l);
}

static uint64_t align_up(const struct graph *g, uint64_t address)
{
	return (address + g->align - 1) & ~(uint64_t)(g->align - 1);
}

static uint64_t align_down(const struct graph *g, uint64_t address)
{
	return address & ~(uint64_t)(g->align - 1);
}

/* Returns the end of the memory before a block at `start`. With alignment 8 that memory includes
 * a word that lies partly in the block; with a smaller alignment it does not. */
static uint64_t end_before(const struct graph *g, uint64_t start)
{
	return g->align == 8 ? align_up(g, start) : start;
}

/* Returns the start of the memory after a block that ends at `end`; it includes a partial word
 * with alignment 8 only. */
static uint64_t start_behind(const struct graph *g, uint64_t end)
{
	return g->align == 8 ? align_down(g, end) : align_up(g, end);
}

/* Calls `f` for each part of [address, + size) that lies in no block of that kind. */
static void around(struct graph *g, bool user, uint64_t address, const uint8_t *bytes, size_t size,
		   void (*f)(void *arg, uint32_t next, uint64_t address, const uint8_t *bytes,
			     size_t size),
		   void *arg)
{
	uint64_t at = address, end = address + size;
	uint32_t last = user ? g->count : g->heap;
	for (uint32_t i = graph_find(g, at, user); at < end; i++) {
		uint64_t start = i < last ? g->v[i].address : end;
		uint64_t stop = start < end ? end_before(g, start) : end;
		if (at < stop)
			f(arg, i, at, bytes + (at - address), (size_t)(stop - at));
		if (start >= end)
			break;
		stop = start_behind(g, g->v[i].address + g->v[i].size);
		at = stop > at ? stop : at;
	}
}

static void outside_user(void *arg, uint32_t next, uint64_t address, const uint8_t *bytes,
			 size_t size)
{
	const struct roots *r = arg;
	(void)next;
	graph_roots(r->graph, address, bytes, size);
}

static void outside_heap(void *arg, uint32_t next, uint64_t address, const uint8_t *bytes,
			 size_t size)
{
	const struct roots *r = arg;
	if (between(r, next))
		return;
	if (r->graph->heap == r->graph->count)
		graph_roots(r->graph, address, bytes, size);
	else
		around(r->graph, true, address, bytes, size, outside_user, arg);
}

/* Searches root memory, without the blocks in it. */
static void look_at_roots(void *arg, uint64_t address, const uint8_t *bytes, size_t size)
{
	const struct roots *r = arg;
	around(r->graph, false, address, bytes, size, outside_heap, arg);
}

/* Searches a mapping except the cuts (ranges that are not roots). *first: the first cut that may
 * touch this mapping or a later one. */
static void look_at_map(struct roots *r, const struct memory_map *m, const struct spans *cut,
			size_t *first)
{
	uint64_t at = m->start;
	enum memory_pages which = m->shared      ? MEMORY_SHARED
				  : m->anonymous ? MEMORY_TOUCHED
						 : MEMORY_OWN;
	while (*first < cut->n && cut->v[*first].end <= m->start)
		++*first;
	for (size_t i = *first; i < cut->n && cut->v[i].start < m->end && at < m->end; i++) {
		const struct span *c = &cut->v[i];
		if (c->end <= at)
			continue;
		uint64_t stop = c->start & ~UINT64_C(7);
		if (stop > at)
			look_at_memory(r, at, stop, which, look_at_roots, r);
		at = (c->end + 7) & ~UINT64_C(7);
	}
	if (at < m->end)
		look_at_memory(r, at, m->end, which, look_at_roots, r);
}

/* ---- roots that the program registered ---- */

struct range {
	struct graph *g;
	uint64_t start, end;
};

static void look_at_part(void *arg, uint64_t address, const uint8_t *bytes, size_t size)
{
	const struct range *a = arg;
	uint64_t low = a->start > address ? a->start : address, end = address + size;
	uint64_t high = a->end < end ? a->end : end;
	if (low < high)
		graph_roots(a->g, ROOTS_MARKED | low, bytes + (low - address),
			    (size_t)(high - low));
}

/* Searches all of [start, end), blocks and cuts included. In a file's mapping also reads pages that
 * the process has not touched yet; in shared memory only those that were written, as its file
 * shows. */
static void look_at_range(struct roots *r, uint64_t start, uint64_t end)
{
	struct range a = {r->graph, align_up(r->graph, start), align_down(r->graph, end)};
	bool mapped = false;
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		uint64_t low = m->start > start ? m->start : start & ~UINT64_C(7);
		uint64_t high = m->end < end ? m->end : (end + 7) & ~UINT64_C(7);
		enum memory_pages which = m->shared && m->volatile_file ? MEMORY_SHARED
					  : m->anonymous                ? MEMORY_TOUCHED
									: MEMORY_ALL;
		if (low >= high)
			continue;
		mapped = true;
		look_at_memory(r, low, high, which, look_at_part, &a);
	}
	r->user_seen += mapped;
}

static void look_at_ranges(struct roots *r)
{
	for (size_t i = 0; i < r->user_count; i++) {
		uint64_t start = ~r->user[i].start, bytes = r->user[i].bytes;
		bool taken = r->user[i].start > MG_ROOT_BUSY;
		if (taken && bytes && start + bytes > start)
			look_at_range(r, start, start + bytes);
	}
}

/* ---- blocks ---- */

struct inside {
	struct graph *g;
	uint32_t block;
};

static void look_inside(void *arg, uint32_t next, uint64_t address, const uint8_t *bytes,
			size_t size)
{
	const struct inside *in = arg;
	(void)next;
	graph_words(in->g, in->block, address, bytes, size);
}

/* Searches memory of a block, without the blocks of ms_alloc inside it. */
static void look_at_block(struct graph *g, uint32_t block, uint64_t address, const uint8_t *bytes,
			  size_t size)
{
	struct inside in = {g, block};
	if (g->v[block].user || g->heap == g->count)
		graph_words(g, block, address, bytes, size);
	else
		around(g, true, address, bytes, size, look_inside, &in);
}

struct passing {
	struct graph *g;
	uint32_t block, end;
};

static void pass_blocks(void *arg, uint64_t address, const uint8_t *bytes, size_t size)
{
	struct passing *p = arg;
	uint64_t end = address + size;
	for (; p->block < p->end; p->block++) {
		const struct graph_block *b = &p->g->v[p->block];
		uint64_t from = align_up(p->g, b->address);
		uint64_t to = align_down(p->g, b->address + b->size);
		if (from >= end)
			return;
		uint64_t low = from > address ? from : address, high = to < end ? to : end;
		if (low < high)
			look_at_block(p->g, p->block, low, bytes + (low - address),
				      (size_t)(high - low));
		if (to > end)
			return; /* the block continues in the next piece */
	}
}

/* Searches the blocks [first, end), sorted by address; blocks that lie close together are read at
 * once. */
static void look_at_blocks(struct roots *r, uint32_t first, uint32_t end)
{
	struct graph *g = r->graph;
	unsigned reach = 8 - g->align; /* bytes by which the last word may extend past the block */
	while (first < end && !g->overflow) {
		uint64_t start = g->v[first].address & ~UINT64_C(7);
		uint64_t stop = g->v[first].address + g->v[first].size;
		uint32_t i = first + 1;
		for (; i < end && g->v[i].address - stop < READ_GAP; i++)
			stop = g->v[i].address + g->v[i].size;
		struct passing p = {g, first, i};
		look_at_memory(r, start, (stop + reach) & ~UINT64_C(7), MEMORY_TOUCHED, pass_blocks,
			       &p);
		first = i;
	}
}

/* Searches the blocks of ms_alloc; a block inside another one is searched with that one. */
static void look_at_user_blocks(struct roots *r)
{
	const struct graph *g = r->graph;
	for (uint32_t i = g->heap, end; i < g->count; i = end) {
		end = i + 1;
		while (graph_is_alone(g, i) && end < g->count && graph_is_alone(g, end))
			end++;
		if (!graph_is_inside(g, i))
			look_at_blocks(r, i, end);
	}
}

/* Searches a mapping that may be unreadable: memory that the program has made inaccessible for now
 * may hold pointers, and a debugger may read it. Skips large reservations if each of their pages
 * would need a look-up. Shared memory may be a driver's. */
static void look_at_some(struct roots *r, const struct memory_map *m, const struct spans *cut,
			 size_t *first)
{
	bool unreadable = r->memory->unreadable;
	if (m->read || !r->memory->old_kernel || m->end - m->start <= NONE_MOST)
		look_at_map(r, m, cut, first);
	r->memory->unreadable = unreadable;
}

void roots_look(struct roots *r)
{
	struct spans cut = roots_find_cuts(r);
	size_t first = 0;
	if (r->kept)
		roots_find_ranges(r, &cut);
	for (size_t i = 0; i < r->thread_count; i++)
		graph_roots(r->graph, ROOTS_REGISTERS | (uint64_t)i << 16, r->threads[i].regs,
			    r->threads[i].reg_count * 8);
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		bool all = m->read && (!m->shared || m->volatile_file);
		if (roots_may_hold(r, m))
			(all ? look_at_map : look_at_some)(r, m, &cut, &first);
	}
	graph_roots(r->graph, ROOTS_KERNEL, r->kernel, r->kernel_count * 8);
	look_at_ranges(r);
	free(cut.v);
	look_at_blocks(r, 0, r->graph->heap);
	look_at_user_blocks(r);
}
