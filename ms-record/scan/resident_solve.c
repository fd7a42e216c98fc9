/* SPDX-License-Identifier: MIT
 * Finds what resident pages are used for.
 */
#include "resident.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "format/trace.h"
#include "libcommon/base/order.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"
#include "scan_work.h"

#define PAGE UINT64_C(4096)
/* Sizes in glibc, in bytes. HEADER: of a block's header. CHUNK_LEAST: of the smallest chunk.
 * FREE_HEADER: of the used part of a free chunk. THREAD_BYTES: of the area after the thread
 * pointer. ARENA_BYTES: of the area before an arena's first chunk. MMAP_THRESHOLD: of the
 * smallest block with a mapping of its own. */
#define HEADER 8u
#define CHUNK_LEAST 32u
#define FREE_HEADER 48u
#define THREAD_BYTES 2304u
#define ARENA_BYTES 2304u
#define MMAP_THRESHOLD (128u << 10)

/* Describes a block and its extent with the allocator's overhead. */
struct placed {
	uint64_t address, size;
	uint64_t start, end;
	uint32_t stack;
	bool user;
};

struct solving {
	struct work *w;
	struct resident *r;
	struct placed *v; /* sorted by address, not nested */
	size_t n, at;     /* at: first block that may touch the current page or lie after it */
	size_t heap;      /* first heap that may hold the current page or lie after it */
	uint64_t used_to; /* end of the last block before the page, in this heap */
	/* The members below describe the current region. */
	size_t region;
	/* figure to which the whole region is added; NULL = decided page by page */
	uint64_t *whole;
	uint64_t stack_end; /* end of a thread's stack in this region */
	bool blocks;        /* an allocator other than glibc has blocks in the region */
};

static int by_address(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return MS_ORDER(x->address, y->address) ?: MS_ORDER(x->user, y->user);
}

/* Fills g->v with the blocks that do not lie in other blocks. */
static void place_blocks(struct solving *g)
{
	const struct scan_live *l = &g->w->q->live;
	g->v = ms_xrealloc(NULL, l->count + 1, sizeof *g->v);
	for (uint32_t i = 0; i < l->count; i++)
		g->v[i] = (struct placed){.address = l->blocks[i].address,
					  .size = l->blocks[i].size,
					  .stack = l->blocks[i].stack,
					  .user = l->blocks[i].user};
	qsort(g->v, l->count, sizeof *g->v, by_address);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct placed *last = g->n ? &g->v[g->n - 1] : NULL;
		struct resident_site *s = &g->r->sites[g->v[i].stack];
		bool inside = last && g->v[i].address < last->address + last->size;
		if (inside)
			continue;
		s->blocks++;
		s->bytes += g->v[i].size;
		g->v[g->n++] = g->v[i];
	}
}

static bool is_in_heap(const struct resident *r, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(r->heaps.v, r->heaps.n, start, address);
	return i && r->heaps.v[i - 1].end > address;
}

/* Sets the extent of a block, including its header and rounding, which are known only for glibc. */
static void find_extent(const struct resident *r, struct placed *b)
{
	b->start = b->address;
	b->end = b->address + b->size;
	if (!r->glibc || b->user)
		return;
	uint64_t chunk = (b->size + HEADER + 15) & ~UINT64_C(15);
	b->start = b->address - HEADER;
	b->end = b->start + (chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk);
	if (!is_in_heap(r, b->address)) { /* the block has its own mapping */
		b->start = (b->address - 1) & ~(PAGE - 1);
		b->end = (b->address + b->size + PAGE - 1) & ~(PAGE - 1);
	}
}

static void find_extents(struct solving *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct placed *b = &g->v[i], *last = i ? b - 1 : NULL;
		find_extent(g->r, b);
		if (!last || last->end <= b->start)
			continue;
		uint64_t least = last->address + last->size; /* no byte belongs to two blocks */
		last->end = b->start > least ? b->start : least;
		b->start = last->end;
	}
}

/* ---- pages ---- */

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t page)
{
	start = start > page ? start : page;
	end = end < page + PAGE ? end : page + PAGE;
	return end > start ? end - start : 0;
}

static bool is_own(const struct solving *g, uint64_t page)
{
	const struct session *s = g->w->s;
	for (size_t i = 0; i < MG_OWN_MAX; i++)
		if ((page >= s->pool->head->own[i][0] && page < s->pool->head->own[i][1]) ||
		    (s->forked && page >= s->mem->own[i][0] && page < s->mem->own[i][1]))
			return true;
	return false;
}

/* Returns the live bytes of block `b` on a page; *all receives the sum of its live bytes and
 * slack there. */
static uint64_t on_page(const struct placed *b, uint64_t page, uint64_t *all)
{
	uint64_t live = overlap(b->address, b->address + b->size, page);
	uint64_t held = overlap(b->start, b->end, page);
	*all = held > live ? held : live;
	return live;
}

/* Divides the free bytes of a page with blocks on it among their call stacks, in proportion to the
 * bytes that each block holds there. */
static void pin(struct solving *g, uint64_t page, uint64_t held, uint64_t hole)
{
	uint64_t all, left = hole;
	uint32_t stack = g->v[g->at].stack;
	struct resident_site *last = NULL;
	bool alone = true;
	for (size_t i = g->at; i < g->n && g->v[i].start < page + PAGE; i++) {
		on_page(&g->v[i], page, &all);
		uint64_t part = hole * all / held;
		last = &g->r->sites[g->v[i].stack];
		last->pinned += part;
		left -= part;
		alone &= g->v[i].stack == stack;
	}
	if (last)
		last->pinned += left;
	g->r->sites[stack].alone += alone ? PAGE : 0;
	g->r->pinned += hole;
}

/* Counts a page of a glibc heap that holds no block, by whether it could be returned to the
 * kernel. */
static void weigh_free(struct solving *g, uint64_t page)
{
	const struct resident *r = g->r;
	const struct resident_heap *h = g->heap < r->heaps.n && r->heaps.v[g->heap].start <= page
						? &r->heaps.v[g->heap]
						: NULL;
	uint64_t next = h && g->at < g->n && g->v[g->at].start < h->end ? g->v[g->at].start : 0;
	if (!h || !r->glibc)
		return;
	g->r->arena_free += h->arena ? PAGE : 0;
	if (page >= g->used_to + FREE_HEADER && (next || !h->arena))
		g->r->trim += PAGE;
	if (next && next - g->used_to >= MMAP_THRESHOLD)
		g->r->gaps += PAGE;
}

/* Splits a heap page into live bytes, slack and free bytes. */
static void split(struct solving *g, uint64_t page, uint64_t live, uint64_t held)
{
	g->r->slack += held - live;
	g->r->free += PAGE - held;
	if (held)
		pin(g, page, held, PAGE - held);
	else
		weigh_free(g, page);
}

static void advance(struct solving *g, uint64_t page)
{
	const struct resident *r = g->r;
	while (g->heap < r->heaps.n && r->heaps.v[g->heap].end <= page)
		g->heap++;
	const struct resident_heap *h = g->heap < r->heaps.n ? &r->heaps.v[g->heap] : NULL;
	if (h && h->start <= page && g->used_to < h->start)
		g->used_to = h->start + (h->arena ? ARENA_BYTES : 0);
	for (; g->at < g->n && g->v[g->at].end <= page; g->at++)
		g->used_to = g->v[g->at].end > g->used_to ? g->v[g->at].end : g->used_to;
}

/* Returns the figure to which the whole page is added; NULL = the page holds blocks, or its use
 * is unknown. */
static uint64_t *whole_page(struct solving *g, uint64_t page)
{
	return g->whole              ? g->whole
	       : is_own(g, page)     ? &g->r->recorder
	       : page < g->stack_end ? &g->r->stacks
				     : NULL;
}

static void add_page(struct solving *g, uint64_t page, bool swapped)
{
	struct resident *r = g->r;
	uint64_t live = 0, held = 0, all;
	advance(g, page);
	uint64_t *whole = whole_page(g, page);
	bool in_heap = g->heap < r->heaps.n && r->heaps.v[g->heap].start <= page;
	bool block = g->at < g->n && g->v[g->at].start < page + PAGE;
	for (size_t i = g->at; i < g->n && g->v[i].start < page + PAGE; i++) {
		struct resident_site *s = &r->sites[g->v[i].stack];
		uint64_t bytes = on_page(&g->v[i], page, &all);
		*(swapped || whole ? &s->elsewhere : &s->live) += bytes;
		live += bytes;
		held += all;
	}
	if (swapped)
		return;
	if (whole == &r->files || whole == &r->shared)
		r->region_bytes[g->region] += PAGE;
	if (whole)
		*whole += PAGE;
	else if (in_heap || block || g->blocks)
		split(g, page, live, held < PAGE ? held : PAGE);
	else
		r->other += PAGE;
}

/* ---- regions ---- */

/* Tells whether a region is the zeroed data (.bss) of a file: unnamed memory right behind the
 * file's mappings. */
static bool is_bss(const struct ms_region *v)
{
	const struct ms_proc_map *before = &v[-1].map;
	return !v->map.inode && !*v->map.path && before->inode && before->end == v->map.start &&
	       !strncmp(before->perms, "rw-p", 4) && !strncmp(v->map.perms, "rw-p", 4);
}

bool resident_is_shared(const struct resident *r, const struct ms_proc_map *map,
			uint64_t own_device)
{
	uint64_t device = makedev(map->dev_major, map->dev_minor);
	bool shared = own_device && device == own_device; /* System V's first has inode 0 */
	for (size_t i = 0; i < r->tmpfs.n; i++)
		shared |= r->tmpfs.v[i] == device;
	return shared;
}

/* Returns the figure that a region is added to as a whole. `own`: the recorder's shared memory. */
static uint64_t *whole_region(struct solving *g, size_t i, const struct stat *own)
{
	const struct ms_region *v = &g->r->regions.v[i];
	bool memory =
		!v->map.inode && (v->kind == MS_REGION_ANONYMOUS || v->kind == MS_REGION_HEAP);
	if ((own->st_ino && v->map.inode == own->st_ino) ||
	    !strncmp(v->map.path, "/memfd:memscope-", 16))
		return &g->r->recorder;
	if (v->kind == MS_REGION_STACK)
		return &g->r->stacks;
	if (resident_is_shared(g->r, &v->map, own->st_dev))
		return &g->r->shared;
	return !memory || (i && is_bss(v)) ? &g->r->files : NULL;
}

static void begin_region(struct solving *g, size_t i, const struct stat *own)
{
	const struct ms_proc_map *map = &g->r->regions.v[i].map;
	size_t first = MS_COUNT_UP_TO(g->v, g->n, address, map->start);
	g->region = i;
	g->whole = whole_region(g, i, own);
	g->blocks = !g->r->glibc && first < g->n && g->v[first].address < map->end;
	for (size_t k = 0; k < g->w->thread_count; k++) {
		const struct scan_thread *t = &g->w->threads[k];
		if (t->sp < map->start || t->sp >= map->end)
			continue;
		uint64_t end = (t->tp + THREAD_BYTES + PAGE - 1) & ~(PAGE - 1);
		g->stack_end = t->tp > t->sp && end < map->end ? end : map->end;
	}
}

static void add_runs(struct solving *g)
{
	const struct resident *r = g->r;
	struct stat own;
	if (fstat(g->w->s->pool->memfd, &own))
		own = (struct stat){0};
	size_t next = 0;
	for (size_t i = 0; i < r->runs.n; i++) {
		const struct resident_run *run = &r->runs.v[i];
		while (next < r->regions.n && r->regions.v[next].map.start <= run->start)
			begin_region(g, next++, &own);
		for (uint64_t page = run->start; page < run->end; page += PAGE)
			add_page(g, page, run->swapped);
	}
}

void resident_solve(struct work *w)
{
	struct resident *r = &w->resident;
	const struct scan_live *l = &w->q->live;
	struct solving g = {.w = w, .r = r};
	if (!r->taken || r->state != MS_SCAN_DONE)
		return;
	for (uint32_t i = 0; i < l->count; i++)
		r->site_count =
			l->blocks[i].stack > r->site_count ? l->blocks[i].stack : r->site_count;
	r->sites = ms_xcalloc(++r->site_count, sizeof *r->sites);
	r->region_bytes = ms_xcalloc(r->regions.n, sizeof *r->region_bytes);
	for (size_t i = 0; i < r->heaps.n; i++)
		r->arenas += r->heaps.v[i].arena &&
			     r->heaps.v[i].arena >> 26 == r->heaps.v[i].start >> 26;
	place_blocks(&g);
	find_extents(&g);
	add_runs(&g);
	r->other += r->missing;
	free(g.v);
}
