/* SPDX-License-Identifier: MIT
 * Finds the parts of mappings that are no roots: heaps, unused and ended stacks, and what scan_roots.c
 * lists beside these.
 */
#include <stdlib.h>

#include "libcommon/base/order.h"
#include "ms-record/guest/layout.h"
#include "scan_roots_work.h"

#define RED_ZONE 128u
#define ARENA_ALIGN (UINT64_C(1) << 26)
#define TCB_ROOM 8192u
#define TCB_BYTES 2304u /* size of glibc's struct pthread; musl's is smaller */
#define TLS_ROOM 4096u  /* static TLS of a thread, below its TCB */
#define LARGE 65536u

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
			roots_add_span(cut, at, at + h.writable);
}

/* Lists offsets in glibc's struct malloc_state, equal in all versions since 2.26. */
enum { STATE_FAST = 16, STATE_BINS = 112, STATE_NEXT = 2160, STATE_SYSTEM = 2184 };
#define STATE_BYTES 2200u
#define BINS 127u
#define BINS_EMPTY_LEAST 40u

/* Tells whether an arena is at `w`. Most of its bins are empty, which means that they point to
 * themselves. An address a little further on also looks like that, but the other fields do not fit
 * there. In a static program the brk area, and so its size, does not begin with a page. */
static bool is_arena(const uint64_t *w, uint64_t at)
{
	unsigned empty = 0;
	uint64_t next = w[STATE_NEXT / 8], bytes = w[STATE_SYSTEM / 8];
	bool fits = next == at || (next % ARENA_ALIGN >= 32 && next % ARENA_ALIGN <= 128);
	for (unsigned i = 0; i < BINS && fits; i++) {
		uint64_t bin = at + STATE_BINS - 16 + 16 * i;
		empty += w[STATE_BINS / 8 + 2 * i] == bin && w[STATE_BINS / 8 + 2 * i + 1] == bin;
	}
	return empty >= BINS_EMPTY_LEAST && fits && !(bytes % 16);
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
				roots_add_span(cut, m->start + at, m->start + at + STATE_BYTES);
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

struct span roots_stack_of(const struct roots *r, uint64_t tcb, uint64_t inside, uint64_t end)
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
	if (bytes <= (size_t)MG_TID_GLIBC || !memory_get(r->memory, tcb, w, bytes))
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
	roots_add_span(cut, start, tcb + 8);
	roots_add_span(cut, tcb + 16, end);
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
		roots_add_span(cut, m->start, bottom(r, t));
	if (m->stack && !t && !is_thread(r, r->main_tp) &&
	    r->main_entry - m->start < m->end - m->start)
		roots_add_span(cut, m->start, r->main_entry);
	if (m->stack)
		return;
	uint64_t tcb = t ? t->tp : control_block(r, m->start, end);
	struct span s = roots_stack_of(r, tcb, t ? t->sp : tcb, m->end);
	s.start = s.start < m->start ? m->start : s.start; /* the size includes the guard */
	if (t && s.end)
		roots_add_span(cut, s.start, bottom(r, t));
	else if (!t && s.end && !is_thread(r, tcb) && is_unjoined(r, tcb, s.end))
		roots_add_span(cut, s.start, tcb - s.start > TLS_ROOM ? tcb - TLS_ROOM : s.start);
	else if (!t && s.end && !is_thread(r, tcb))
		cut_ended(s.start, s.end, tcb, cut);
}

/* ---- all cuts ---- */

static void note_heap(const struct roots *r, uint64_t start, uint64_t end)
{
	if (r->kept && start < end)
		*MS_PUSH(&r->kept->heaps) = (struct graph_range){start, end};
}

/* Tells whether the C library has a file of its own; else it is part of the program's. */
static bool has_libc(const struct roots *r)
{
	for (size_t i = 0; i < r->memory->maps.n; i++)
		if (r->memory->maps.v[i].libc)
			return true;
	return false;
}

struct spans roots_find_cuts(const struct roots *r)
{
	struct spans cut = {0};
	bool apart = has_libc(r);
	for (size_t i = 0; i < r->own_count; i++)
		roots_add_span(&cut, r->own[i][0], r->own[i][1]);
	for (size_t i = 0; i < r->arena_count; i++) {
		note_heap(r, r->arenas[i][0], r->arenas[i][1]);
		if (!r->wide)
			roots_add_span(&cut, r->arenas[i][0], r->arenas[i][1]);
	}
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		if (!roots_may_hold(r, m) || !m->write || m->shared)
			continue;
		if (apart ? m->libc : !m->anonymous)
			cut_main_arena(r, m, &cut);
		if (m->heap)
			note_heap(r, m->start, m->end);
		if (m->heap && !r->wide && !r->dense && !r->own_brk)
			roots_add_span(&cut, m->start, m->end);
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
			roots_add_span(&cut, r->graph->v[i].address,
				       r->graph->v[i].address + r->graph->v[i].size);
	if (cut.n)
		qsort(cut.v, cut.n, sizeof *cut.v, ms_by_first_number);
	return cut;
}
