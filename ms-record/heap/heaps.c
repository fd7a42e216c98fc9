/* SPDX-License-Identifier: MIT
 * Merges the blocks of the program's custom heaps.
 *
 * A pool keeps (address, number) of each block allocated in it, and does not notice when a single
 * block is freed: the live table shows whether a member is still live, when the list is full and
 * when the pool is emptied.
 */
#include "heaps.h"

#include <stdlib.h>
#include <string.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "heap.h"
#include "libcommon/base/lookup.h"
#include "merge.h"
#include "ms-record/code/modules.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/session.h"

struct member {
	uint64_t address, number;
};

struct heap_pool {
	uint32_t heap; /* 1 + index of the name of a memscope.h heap; 0 = a hooked one */
	MS_ARRAY(struct member) members;
	uint32_t next; /* 1 + index of the next free pool */
};

struct item_detail {
	uint64_t heap, pool;
	char *name;
	uint32_t next; /* 1 + index of the next free entry */
};

struct heap_name {
	char *name;
	uint32_t marker;
};

/* Maps a call stack to its copy under a heap's marker. */
struct moved {
	uint32_t marker, node, to;
};

struct heaps {
	MS_ARRAY(struct item_detail) details;
	uint32_t free_detail;
	MS_ARRAY(struct heap_name) names;
	/* index of names by text: each pool may have a name of its own */
	struct ms_lookup names_index;
	MS_ARRAY(struct heap_pool) pools;
	uint32_t free_pool;
	/* pools by address; a block's number is the index in `pools` */
	struct live_table pool_index;
	MS_ARRAY(struct moved) moved;
	struct ms_lookup moved_index; /* index of `moved` by marker and node */
	struct live_table backing;
};

static struct heaps *heaps_of(struct session *s)
{
	if (s->heap->heaps)
		return s->heap->heaps;
	struct heaps *h = ms_xcalloc(1, sizeof *h);
	live_init(&h->pool_index);
	live_init(&h->backing);
	return s->heap->heaps = h;
}

void heaps_free(struct heaps *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->details.n; i++)
		free(h->details.v[i].name);
	for (size_t i = 0; i < h->names.n; i++)
		free(h->names.v[i].name);
	for (size_t i = 0; i < h->pools.n; i++)
		free(h->pools.v[i].members.v);
	live_free(&h->pool_index);
	live_free(&h->backing);
	MS_FREE(h->details.v, h->names.v, h->names_index.slots, h->pools.v, h->moved.v,
		h->moved_index.slots, h);
}

/* ---- details of items ---- */

uint32_t heaps_add_detail(struct session *s, uint64_t heap, uint64_t pool, char *name)
{
	struct heaps *h = heaps_of(s);
	uint32_t i = h->free_detail;
	if (i) {
		h->free_detail = h->details.v[--i].next;
	} else {
		i = (uint32_t)h->details.n;
		*MS_PUSH(&h->details) = (struct item_detail){0};
	}
	h->details.v[i] = (struct item_detail){.heap = heap, .pool = pool, .name = name};
	return i;
}

static struct item_detail take_detail(struct heaps *h, uint32_t i)
{
	struct item_detail s = h->details.v[i];
	h->details.v[i] = (struct item_detail){.next = h->free_detail};
	h->free_detail = i + 1;
	return s;
}

/* ---- names and call stacks ---- */

static uint32_t name_of(struct session *s, const char *name)
{
	struct heaps *h = s->heap->heaps;
	uint32_t hash = ms_hash_text(name), n;
	for (size_t at = hash; (n = ms_lookup_next(&h->names_index, hash, &at));)
		if (!strcmp(h->names.v[n - 1].name, name))
			return n - 1;
	struct ms_frame f = {.module = modules_named(&s->modules, MODULE_HEAP, name),
			     .flags = MS_FRAME_HEAP};
	*MS_PUSH(&h->names) = (struct heap_name){ms_xstrdup(name), stacks_node(&s->stacks, 0, &f)};
	ms_lookup_add(&h->names_index, hash, (uint32_t)h->names.n);
	return (uint32_t)h->names.n - 1;
}

/* Returns the node of a call stack's copy under the marker; 0 = no copy yet. */
static uint32_t moved_to(const struct heaps *h, uint32_t marker, uint32_t node)
{
	uint32_t hash = ms_hash(marker, node), n;
	for (size_t at = hash; (n = ms_lookup_next(&h->moved_index, hash, &at));)
		if (h->moved.v[n - 1].marker == marker && h->moved.v[n - 1].node == node)
			return h->moved.v[n - 1].to;
	return 0;
}

/* Returns the node of the call stack's copy below the marker, made if needed. The outer part of
 * the stack may have been copied before. */
static uint32_t under(struct session *s, uint32_t marker, uint32_t node)
{
	struct heaps *h = s->heap->heaps;
	MS_ARRAY(uint32_t) way = {0};
	uint32_t at = marker;
	for (uint32_t n = node; n; n = s->stacks.nodes.v[n - 1].parent) {
		uint32_t known = moved_to(h, marker, n);
		if (known) {
			at = known;
			break;
		}
		*MS_PUSH(&way) = n;
	}
	while (way.n) {
		uint32_t n = way.v[--way.n];
		struct ms_frame f = s->stacks.frames.v[s->stacks.nodes.v[n - 1].frame - 1];
		at = stacks_node(&s->stacks, at, &f);
		*MS_PUSH(&h->moved) = (struct moved){marker, n, at};
		ms_lookup_add(&h->moved_index, ms_hash(marker, n), (uint32_t)h->moved.n);
	}
	free(way.v);
	return at;
}

/* ---- pools ---- */

/* Tells whether there is a pool at the address. *at: its index in `pools`. */
static bool pool_find(const struct heaps *h, uint64_t address, size_t *at)
{
	struct live_block b = {0};
	bool found = live_find(&h->pool_index, address, &b);
	*at = b.number;
	return found;
}

static struct heap_pool *pool_make(struct heaps *h, uint64_t address)
{
	size_t at;
	if (pool_find(h, address, &at))
		return &h->pools.v[at];
	at = h->free_pool ? h->free_pool - 1 : h->pools.n;
	if (at < h->pools.n)
		h->free_pool = h->pools.v[at].next;
	else
		MS_PUSH(&h->pools);
	h->pools.v[at] = (struct heap_pool){0};
	live_add(&h->pool_index, &(struct live_block){.address = address, .number = at});
	return &h->pools.v[at];
}

static bool still(const struct session *s, const struct member *m)
{
	struct live_block b;
	return live_find(&s->heap->live, m->address, &b) && b.number == m->number;
}

void heaps_join(struct session *s, uint64_t pool, uint64_t address, uint64_t number)
{
	if (!pool)
		return;
	struct heap_pool *p = pool_make(s->heap->heaps, pool);
	if (p->members.n && p->members.n == p->members.cap) {
		size_t kept = 0;
		for (size_t i = 0; i < p->members.n; i++)
			if (still(s, &p->members.v[i]))
				p->members.v[kept++] = p->members.v[i];
		/* The array is enlarged unless half of it is free now; otherwise each further
		 * block would cause another pass. */
		p->members.n = kept;
		if (kept > p->members.cap / 2) {
			p->members.cap *= 2;
			p->members.v =
				ms_xrealloc(p->members.v, p->members.cap, sizeof *p->members.v);
		}
	}
	*MS_PUSH(&p->members) = (struct member){address, number};
}

static void empty(struct session *s, struct reader *r, const struct item *it, struct heap_pool *p)
{
	for (size_t i = p->members.n; i-- > 0;)
		if (still(s, &p->members.v[i]))
			merge_free(s, r, it, p->members.v[i].address);
	p->members.n = 0;
	if (p->members.cap > 1024) { /* frees an array that was large earlier */
		free(p->members.v);
		p->members.v = NULL;
		p->members.cap = 0;
	}
}

static void forget(struct heaps *h, struct heap_pool *p, uint64_t address)
{
	struct live_block gone;
	live_take(&h->pool_index, address, &gone);
	free(p->members.v);
	*p = (struct heap_pool){.next = h->free_pool};
	h->free_pool = (uint32_t)gone.number + 1;
}

void heaps_pool(struct session *s, struct reader *r, const struct item *it)
{
	struct heaps *h = heaps_of(s);
	struct item_detail what = take_detail(h, it->extra);
	size_t at;
	bool known = pool_find(h, it->address, &at);
	if (known)
		empty(s, r, it, &h->pools.v[at]);
	if (what.heap == MG_POOL_MADE && what.name && it->address) {
		uint32_t heap = name_of(s, what.name) + 1;
		pool_make(h, it->address)->heap = heap;
	} else if (known && (what.heap != MG_POOL_RESET || !h->pools.v[at].heap)) {
		forget(h, &h->pools.v[at], it->address);
	}
	free(what.name);
}

/* ---- blocks ---- */

/* Returns the marker of a heap of --hook, numbered from 1; 0 = none. */
static uint32_t marker_of(struct session *s, uint32_t heap)
{
	const struct hooks *hooks = s->hooks;
	if (!heap || heap > hooks->heaps.n)
		return 0;
	uint32_t i = name_of(s, hooks->heaps.v[heap - 1]);
	return s->heap->heaps->names.v[i].marker;
}

uint64_t heaps_place(struct session *s, struct item *it)
{
	struct heaps *h = heaps_of(s);
	struct item_detail what = take_detail(h, it->extra);
	size_t at;
	bool known = what.pool && pool_find(h, what.pool, &at);
	uint32_t marker = marker_of(s, (uint32_t)what.heap);
	it->extra = 0;
	it->kind = it->kind == ITEM_HEAP_REALLOC ? ITEM_REALLOC : ITEM_ALLOC;
	if (!marker && known && h->pools.v[at].heap)
		marker = h->names.v[h->pools.v[at].heap - 1].marker;
	if (marker)
		it->stack = under(s, marker, it->stack);
	return what.pool;
}

/* ---- backing ---- */

/* Encodes the number of a backing block: its heap's number << 1 | hidden. */
#define HIDDEN UINT64_C(1)
#define HEAP_OF(number) ((uint32_t)((number) >> 1))

/* Emits an event for `size` bytes of backing of heap number `heap`. */
static void emit(struct session *s, const struct reader *r, const struct item *it, uint64_t size,
		 uint8_t ext, uint32_t heap)
{
	struct ms_event *e = merge_emit(s, MS_EV_EXT, r->thread, it->key);
	e->stack = marker_of(s, heap);
	e->ext = ext;
	e->address = s->opt->addresses ? it->address : 0;
	e->size = size;
}

void heaps_backing(struct session *s, struct reader *r, const struct item *it)
{
	struct heaps *h = heaps_of(s);
	struct live_block b = {it->address, it->extra, it->size}, old;
	merge_make_way(s, r, it);
	live_take(&h->backing, it->address, &old);
	live_add(&h->backing, &b);
	if (!(b.number & HIDDEN))
		emit(s, r, it, it->size, MS_EXT_BACKING, HEAP_OF(b.number));
}

bool heaps_give(struct session *s, struct reader *r, const struct item *it, bool sure)
{
	struct heaps *h = s->heap->heaps;
	struct live_block b, own;
	if (!h)
		return false;
	if (it->address & LIVE_USER) /* if it is memory of malloc, malloc's own free follows */
		return live_find(&s->heap->live, it->address & ~LIVE_USER, &b) ||
		       live_find(&h->backing, it->address & ~LIVE_USER, &b);
	if (!live_take(&h->backing, it->address, &b))
		return false;
	if (!(b.number & HIDDEN))
		emit(s, r, it, b.size, MS_EXT_UNBACKING, HEAP_OF(b.number));
	if (sure && live_find(&s->heap->live, it->address | LIVE_USER, &own))
		merge_free(s, r, it, own.address);
	return true;
}
