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
 *   - glibc's main arena in the C library's data: its lists point to free memory next to blocks;
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

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "libcommon/base/ranges.h"
#include "ms-record/guest/layout.h"

#define PAGE 4096u
#define RED_ZONE 128u
#define ARENA_ALIGN (UINT64_C(1) << 26)
#define DENSE_GAP 131072u
#define READ_GAP 65536u
#define TCB_ROOM 8192u
#define TCB_BYTES 2304u /* size of glibc's struct pthread; musl's is smaller */
#define TLS_ROOM 4096u  /* static TLS of a thread, below its TCB */
#define NONE_MOST ((uint64_t)64 << 20)
#define LARGE 65536u

struct span {
	uint64_t start, end;
};

struct spans {
	struct span *v;
	size_t n, cap;
};

static void add(struct spans *s, uint64_t start, uint64_t end)
{
	if (start < end)
		*MS_PUSH(s) = (struct span){start, end};
}

/* ---- glibc ---- */

/* Mirrors the header of a glibc heap that belongs to an arena other than the main one. */
struct heap_info {
	uint64_t arena, before, bytes, writable;
};

static bool is_heap(uint64_t at, const struct heap_info *h)
{
	uint64_t base = h->arena & ~(ARENA_ALIGN - 1);
	bool sizes = h->bytes && !(h->bytes % PAGE) && !(h->writable % PAGE) &&
		     h->bytes <= h->writable && h->writable <= ARENA_ALIGN;
	bool first = base == at && h->arena - at >= sizeof *h && h->arena - at <= 128;
	bool further = base != at && base && h->before && !(h->before % ARENA_ALIGN);
	return sizes && (first || further);
}

/* Excludes the glibc arenas in a mapping from the roots. */
static void cut_arenas(const struct roots *r, const struct memory_map *m, struct spans *cut)
{
	struct heap_info h;
	uint64_t at = (m->start + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	for (; at < m->end; at += ARENA_ALIGN)
		if (memory_get(r->memory, at, &h, sizeof h) && is_heap(at, &h))
			add(cut, at, at + h.writable);
}

/* Lists offsets in glibc's struct malloc_state, equal in all versions since 2.26. */
enum { STATE_FAST = 16, STATE_BINS = 112, STATE_NEXT = 2160, STATE_SYSTEM = 2184 };
#define STATE_BYTES 2200u
#define BINS 127u
#define BINS_EMPTY_LEAST 40u

/* Tells whether an arena is at `w`. Most of its bins are empty, which means that they point to
 * themselves. An address a little further on also looks like that, but the other fields do not fit
 * there. */
static bool is_arena(const uint64_t *w, uint64_t at)
{
	unsigned empty = 0;
	for (unsigned i = 0; i < BINS; i++) {
		uint64_t bin = at + STATE_BINS - 16 + 16 * i;
		empty += w[STATE_BINS / 8 + 2 * i] == bin && w[STATE_BINS / 8 + 2 * i + 1] == bin;
	}
	uint64_t next = w[STATE_NEXT / 8], bytes = w[STATE_SYSTEM / 8];
	bool fits = next == at || (next % ARENA_ALIGN >= 32 && next % ARENA_ALIGN <= 128);
	return empty >= BINS_EMPTY_LEAST && fits && !(bytes % PAGE);
}

static void cut_main_arena(const struct roots *r, const struct memory_map *m, struct spans *cut)
{
	size_t bytes = (size_t)(m->end - m->start);
	if (bytes > 1 << 20 || bytes < STATE_BYTES)
		return;
	uint64_t *w = ms_xrealloc(NULL, bytes, 1);
	if (memory_get(r->memory, m->start, w, bytes))
		for (size_t at = 0; at + STATE_BYTES <= bytes; at += 16)
			if (is_arena(w + at / 8, m->start + at)) {
				add(cut, m->start + at, m->start + at + STATE_BYTES);
				break;
			}
	free(w);
}

/* ---- stacks ---- */

/* Returns the thread with the lowest stack pointer in [start, end); NULL = none. */
static const struct scan_thread *lowest(const struct roots *r, uint64_t start, uint64_t end)
{
	const struct scan_thread *least = NULL;
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct scan_thread *t = &r->threads[i];
		if (t->sp >= start && t->sp < end && (!least || t->sp < least->sp))
			least = t;
	}
	return least;
}

/* Returns the lowest address of a thread's stack that is in use. The C library's functions that
 * wait, or call others, use nothing below sp. */
static uint64_t bottom(const struct roots *r, const struct scan_thread *t)
{
	const struct memory_map *code = t->ip ? memory_at(r->memory, t->ip) : NULL;
	return t->sp - (t->calls || (code && code->libc) ? 0 : RED_ZONE);
}

static bool is_thread(const struct roots *r, uint64_t tp)
{
	for (size_t i = 0; i < r->thread_count; i++)
		if (r->threads[i].tp == tp)
			return true;
	return false;
}

/* Returns the address of the thread control block that glibc keeps at the upper end of a stack;
 * 0 = none found. The first and the third word of such a block point to the block. */
static uint64_t control_block(const struct roots *r, uint64_t start, uint64_t end)
{
	uint64_t w[TCB_ROOM / 8];
	uint64_t from = end - start > TCB_ROOM ? end - TCB_ROOM : start;
	if (!memory_get(r->memory, from, w, (size_t)(end - from)))
		return 0;
	for (uint64_t at = (end - 64) & ~UINT64_C(63); at >= from; at -= 64)
		if (w[(at - from) / 8] == at && w[(at - from) / 8 + 2] == at)
			return at;
	return 0;
}

/* Returns the stack of the thread whose control block is at `tcb`. The block holds the stack's
 * start and size next to each other, so mappings right beside the stack are left out. Returns an
 * empty span if start and size are not found, or give a stack that does not contain `inside` or
 * ends above `end`. */
static struct span stack_of(const struct roots *r, uint64_t tcb, uint64_t inside, uint64_t end)
{
	uint64_t w[TCB_BYTES / 8];
	size_t bytes = end - tcb < sizeof w ? (size_t)(end - tcb) : sizeof w;
	if (inside > tcb || tcb >= end || !memory_get(r->memory, tcb, w, bytes))
		return (struct span){0};
	for (size_t i = 0; i + 1 < bytes / 8; i++)
		if (w[i] >= PAGE && !(w[i] % PAGE) && w[i] <= inside && w[i + 1] > tcb - w[i] &&
		    w[i + 1] <= end - w[i])
			return (struct span){w[i], w[i] + w[i + 1]};
	return (struct span){0};
}

/* Tells whether the thread with that control block has ended and was neither joined nor detached.
 * The id in the block is 0 then, or -1 after a join; in a detached thread's block the joiner field
 * points to the block itself. */
static bool is_unjoined(const struct roots *r, uint64_t tcb, uint64_t end)
{
	uint64_t w[TCB_BYTES / 8];
	size_t bytes = end - tcb < sizeof w ? (size_t)(end - tcb) : sizeof w;
	if (bytes <= MG_TID_GLIBC || !memory_get(r->memory, tcb, w, bytes))
		return false;
	for (size_t i = MG_TID_GLIBC / 8; i < bytes / 8; i++)
		if (w[i] == tcb)
			return false;
	return !(uint32_t)w[MG_TID_GLIBC / 8];
}

/* Excludes the stack of an ended thread from the roots, except the second word of its control
 * block, which points to the thread's table of dynamic TLS: glibc keeps the stack and that table
 * for a new thread. */
static void cut_ended(uint64_t start, uint64_t end, uint64_t tcb, struct spans *cut)
{
	add(cut, start, tcb + 8);
	add(cut, tcb + 16, end);
}

/* If the mapping holds a stack, excludes from the roots the parts of the stack that are not
 * roots. A stack made by glibc has a guard right below. The same mapping can also hold an arena
 * that glibc or another allocator mapped right above the stack. */
static void cut_stack(const struct roots *r, const struct memory_map *m, const struct spans *arenas,
		      struct spans *cut)
{
	uint64_t end = m->end;
	if (!m->stack && !m->guard_below)
		return;
	for (size_t i = 0; i < arenas->n; i++)
		if (arenas->v[i].start > m->start && arenas->v[i].start < end)
			end = arenas->v[i].start;
	for (size_t i = 0; i < r->arena_count; i++)
		if (r->arenas[i][0] > m->start && r->arenas[i][0] < end)
			end = r->arenas[i][0];
	const struct scan_thread *t = lowest(r, m->start, end);
	if (m->stack && t)
		add(cut, m->start, bottom(r, t));
	if (m->stack && !t && !is_thread(r, r->main_tp) &&
	    r->main_entry - m->start < m->end - m->start)
		add(cut, m->start, r->main_entry);
	if (m->stack)
		return;
	uint64_t tcb = t ? t->tp : control_block(r, m->start, end);
	struct span s = stack_of(r, tcb, t ? t->sp : tcb, m->end);
	s.start = s.start < m->start ? m->start : s.start; /* the size includes the guard */
	if (t && s.end)
		add(cut, s.start, bottom(r, t));
	else if (!t && s.end && !is_thread(r, tcb) && is_unjoined(r, tcb, s.end))
		add(cut, s.start, tcb - s.start > TLS_ROOM ? tcb - TLS_ROOM : s.start);
	else if (!t && s.end && !is_thread(r, tcb))
		cut_ended(s.start, s.end, tcb, cut);
}

/* ---- all roots ---- */

static bool is_root(const struct roots *r, const struct memory_map *m)
{
	if (m->special || (!m->read && (m->shared || !m->anonymous)))
		return false;
	if (m->shared)
		return m->write && m->inode != r->own_inode;
	return true;
}

static void note_heap(const struct roots *r, uint64_t start, uint64_t end)
{
	if (r->kept && start < end)
		*MS_PUSH(&r->kept->heaps) = (struct graph_range){start, end};
}

/* Returns, sorted, the ranges of all mappings that are not roots. */
static struct spans all_cuts(const struct roots *r)
{
	struct spans cut = {0};
	for (size_t i = 0; i < r->own_count; i++)
		add(&cut, r->own[i][0], r->own[i][1]);
	for (size_t i = 0; i < r->arena_count; i++) {
		note_heap(r, r->arenas[i][0], r->arenas[i][1]);
		if (!r->wide)
			add(&cut, r->arenas[i][0], r->arenas[i][1]);
	}
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		if (!is_root(r, m) || !m->write || m->shared)
			continue;
		if (m->libc)
			cut_main_arena(r, m, &cut);
		if (m->heap)
			note_heap(r, m->start, m->end);
		if (m->heap && !r->wide && !r->dense && !r->own_brk)
			add(&cut, m->start, m->end);
		if (!m->anonymous || m->heap)
			continue;
		struct spans arenas = {0};
		if (!m->stack)
			cut_arenas(r, m, &arenas);
		cut_stack(r, m, &arenas, &cut);
		for (size_t k = 0; k < arenas.n; k++) {
			note_heap(r, arenas.v[k].start, arenas.v[k].end);
			if (!r->wide)
				*MS_PUSH(&cut) = arenas.v[k];
		}
		free(arenas.v);
	}
	/* Blocks are searched separately and therefore cut out of the roots; for small blocks that
	 * is not worthwhile. */
	for (uint32_t i = 0; i < r->graph->heap; i++)
		if (r->graph->v[i].size >= LARGE)
			add(&cut, r->graph->v[i].address,
			    r->graph->v[i].address + r->graph->v[i].size);
	if (cut.n)
		qsort(cut.v, cut.n, sizeof *cut.v, ms_by_first_number);
	return cut;
}

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

/* ---- mappings of the program's own ---- */

static bool in_module(const struct roots_kept *k, uint64_t address)
{
	const struct graph_range *v = k->graph.types;
	size_t i = MS_COUNT_UP_TO(v, k->graph.type_count, start, address);
	return i && address < v[i - 1].end;
}

/* Tells whether a mapping is private memory that the program may have mapped for itself. `before`:
 * the mapping below it, or NULL. Memory right above a module's data begins with the rest of that
 * module, and what was mapped later may follow in the same mapping. */
static bool is_own(const struct roots *r, const struct memory_map *m,
		   const struct memory_map *before)
{
	bool rest = before && before->end == m->start && !before->anonymous && before->write;
	return is_root(r, m) && m->write && !m->shared && m->anonymous && !m->heap && !m->stack &&
	       (!rest || in_module(r->kept, before->start));
}

/* Adds the memory of threads in a mapping: storage and control blocks, and stacks. If it is not
 * known where a stack ends, that is all of the mapping. */
static void add_threads(const struct roots *r, const struct memory_map *m, struct spans *none)
{
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct scan_thread *t = &r->threads[i];
		if (t->sp - m->start >= m->end - m->start)
			continue;
		struct span s = stack_of(r, t->tp, t->sp, m->end);
		add(none, s.end ? s.start : m->start, s.end ? s.end : m->end);
	}
	for (size_t i = 0; i < r->kept->locals.n; i++) {
		const struct graph_range *l = &r->kept->locals.v[i];
		if (l->start < m->end && l->end > m->start)
			add(none, l->start, l->end);
	}
}

/* Adds the whole pages of [start, end) to the ranges; the mappings in it are ranges of their own. */
static void add_range(struct roots_kept *k, uint64_t start, uint64_t end)
{
	start = (start + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end &= ~(uint64_t)(PAGE - 1);
	size_t i = MS_COUNT_UP_TO(k->mapped, k->mapped_count, end, start);
	for (uint64_t stop; start < end; start = stop) {
		const struct ms_range *m = i < k->mapped_count ? &k->mapped[i] : NULL;
		bool inside = m && m->start <= start;
		stop = inside ? m->end : m ? m->start : end;
		stop = stop < end ? stop : end;
		i += inside;
		*MS_PUSH(&k->ranges) = (struct graph_range){start, stop};
	}
}

/* Finds the program's own mappings, without the memory in `cut`, the heaps and the modules. */
static void find_ranges(const struct roots *r, const struct spans *cut)
{
	struct roots_kept *k = r->kept;
	struct spans none = {0};
	size_t at = 0;
	for (size_t i = 0; i < cut->n; i++)
		*MS_PUSH(&none) = cut->v[i];
	for (size_t i = 0; i < k->heaps.n; i++)
		add(&none, k->heaps.v[i].start, k->heaps.v[i].end);
	for (size_t i = 0; i < k->graph.type_count; i++)
		add(&none, k->graph.types[i].start, k->graph.types[i].end);
	for (size_t i = 0; i < k->before.n; i++)
		if (k->before.v[i].end - k->before.v[i].start >= PAGE)
			add(&none, k->before.v[i].start, k->before.v[i].end);
	for (size_t i = 0; i < r->memory->maps.n; i++)
		add_threads(r, &r->memory->maps.v[i], &none);
	if (none.n)
		qsort(none.v, none.n, sizeof *none.v, ms_by_first_number);
	if (k->heaps.n)
		qsort(k->heaps.v, k->heaps.n, sizeof *k->heaps.v, ms_by_first_number);
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		uint64_t from = m->start;
		if (!is_own(r, m, i ? m - 1 : NULL))
			continue;
		while (at < none.n && none.v[at].end <= m->start)
			at++;
		for (size_t c = at; c < none.n && none.v[c].start < m->end; c++) {
			add_range(k, from, none.v[c].start);
			from = none.v[c].end > from ? none.v[c].end : from;
		}
		add_range(k, from, m->end);
	}
	free(none.v);
	for (size_t i = 0; i < k->before.n; i++)
		*MS_PUSH(&k->ranges) = k->before.v[i];
	if (k->before.n)
		qsort(k->ranges.v, k->ranges.n, sizeof *k->ranges.v, ms_by_first_number);
	k->graph.ranges = k->ranges.v;
	k->graph.range_count = k->ranges.n;
	graph_keep(r->graph, &k->graph);
}

void roots_look(struct roots *r)
{
	struct spans cut = all_cuts(r);
	size_t first = 0;
	if (r->kept)
		find_ranges(r, &cut);
	for (size_t i = 0; i < r->thread_count; i++)
		graph_roots(r->graph, ROOTS_REGISTERS | (uint64_t)i << 16, r->threads[i].regs,
			    r->threads[i].reg_count * 8);
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		bool all = m->read && (!m->shared || m->volatile_file);
		if (is_root(r, m))
			(all ? look_at_map : look_at_some)(r, m, &cut, &first);
	}
	graph_roots(r->graph, ROOTS_KERNEL, r->kernel, r->kernel_count * 8);
	look_at_ranges(r);
	free(cut.v);
	look_at_blocks(r, 0, r->graph->heap);
	look_at_user_blocks(r);
}
