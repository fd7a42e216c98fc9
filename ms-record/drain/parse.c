/* SPDX-License-Identifier: MIT
 * Checks the records of a ring and turns them into items of the merge.
 *
 * A word of shared memory is read once into a local: the process that wrote it may change it at
 * any time. Every count and offset is checked against what was read before it is used.
 */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "drained.h"
#include "ms-record/base/cpu.h"
#include "ms-record/heap/heaps.h"
#include "libcommon/base/arena.h"
#include "ms-record/code/modules.h"
#include "parse_code.h"
#include "parse_stack.h"
#include "ms-record/session/session.h"
#include "ms-record/session/threads.h"

#define COPY_MAX (4u << 20)
#define MARK_MAX 4096u
/* Flag in addresses of the live table: a block reported by ms_alloc. */
#define USER_BLOCK (UINT64_C(1) << 63)
/* Limit for moving items to sort them by stamp: MOVES_MOST moves, plus MOVES_EACH per event. */
#define MOVES_MOST (UINT64_C(1) << 26)
#define MOVES_EACH 16u

_Static_assert(CPU_ADDRESS_BITS == MG_ADDRESS_BITS, "the live table holds what records hold");

/* ---- items ---- */

/* Makes room for one more item. */
static void make_item_room(struct session *s, struct reader *r)
{
	parse_stack_settle(s, r);
	if (r->first > r->room / 2) {
		memmove(r->items, r->items + r->first, (r->count - r->first) * sizeof *r->items);
		r->count -= r->first;
		r->first = 0;
	} else {
		r->room = r->room ? r->room * 2 : 32;
		r->items = ms_xrealloc(r->items, r->room + ITEMS_AHEAD, sizeof *r->items);
	}
}

/* Moves the last item to its place by stamp, before items with later stamps, and returns the
 * item. */
static struct item *sort_in(struct session *s, struct reader *r)
{
	size_t last = r->count - 1, i = last;
	parse_stack_settle(s, r);
	struct item it = r->items[i];
	/* Changes the stamp to a later one if the merge has passed the stamp already, or if the
	 * limit for moves is exceeded: sorting stamps that always run backwards would take days. */
	bool much = s->drained->moved > MOVES_MOST + MOVES_EACH * s->stats.events;
	uint64_t least = much && i > r->first ? r->items[i - 1].key : s->merged_key;
	if (it.key < least) {
		it.key = least;
		s->stats.violations++;
	}
	/* Items with the same stamp keep their thread's order. */
	if (i > r->first && r->items[i - 1].key >> 1 == it.key >> 1 && r->items[i - 1].key > it.key)
		it.key = r->items[i - 1].key;
	for (; i > r->first && r->items[i - 1].key > it.key; i--)
		r->items[i] = r->items[i - 1];
	s->drained->moved += last - i;
	r->items[i] = it;
	return &r->items[i];
}

/* Adds an item after all items that do not have a later stamp. Items of one ring arrive nearly
 * sorted. */
static inline struct item *add(struct session *s, struct reader *r, uint64_t stamp, bool takes,
			       uint8_t kind)
{
	if (r->count == r->room)
		make_item_room(s, r);
	struct item *it = &r->items[r->count++];
	*it = (struct item){.key = stamp << 1 | takes, .kind = kind};
	uint64_t before = r->count - 1 > r->first ? it[-1].key : 0;
	return it->key >= s->merged_key && it->key >= before ? it : sort_in(s, r);
}

static inline int no_address(struct session *s)
{
	return session_damaged(s, "an allocation or a free without an address");
}

#define LOW(bits) ((UINT64_C(1) << (bits)) - 1)

/* Parses the record of nearly all events: MG_ALLOC_SHORT or a short free, with first word
 * `head`. One path serves both, because the kind cannot be predicted and a misprediction costs
 * as much as all the rest. The second word of a free belongs to the next record and is not used.
 * Returns the record's length in words, or -1. */
static inline int64_t short_event(struct session *s, struct reader *r, const struct record *c,
				  uint64_t head)
{
	bool takes = !(head >> 63);
	uint64_t second = word(c, 1);
	uint64_t since =
		takes ? head >> 32 : head >> MG_SHORT_FREE_SHIFT & LOW(MG_SHORT_FREE_STAMP);
	uint64_t address =
		takes ? second & LOW(MG_SHORT_ADDRESS) : (head & LOW(MG_SHORT_FREE_SHIFT)) << 4;
	uint32_t count = takes ? (uint32_t)head >> 8 & LOW(MG_SHORT_COUNT) : 0;
	uint32_t keep = takes ? (uint32_t)head >> 16 : r->depth;
	int64_t words = 1 + (int64_t)takes + count;
	if ((uint64_t)words * 8 > c->left)
		return session_damaged(s, "a record runs past the end of its buffer");
	if (!address)
		return no_address(s);
	if ((count || keep != r->depth || (takes && r->base)) &&
	    parse_stack_new(s, r, keep, count, c->w + 2, false))
		return -1;
	r->last += since;
	struct item *it = add(s, r, r->last, takes, takes ? ITEM_ALLOC : ITEM_FREE);
	it->address = address;
	it->size = second >> MG_SHORT_ADDRESS; /* a free has no size: the value is not used */
	if (takes)
		parse_stack_give(s, r, it);
	return words;
}

/* Returns the size of a block, or 0 if the size is impossible, as can happen if a program reports
 * custom blocks. */
static uint64_t block_size(const struct record *c)
{
	return ms_event_size_fits(word(c, 3)) ? word(c, 3) : 0;
}

/* Tells whether the record's stack is sent as frames, so that parse_stack_give may look it up. */
static bool is_simple(const struct record *c)
{
	return (c->flags & (MG_F_STACK | MG_F_NOT_TAKEN | MG_F_COPIED)) == MG_F_STACK;
}

/* Parses a full-length record of an allocation or a free. */
static int event(struct session *s, struct reader *r, const struct record *c)
{
	bool whole = c->kind == MG_ALLOC_WHOLE;
	bool takes = whole || c->kind == MG_ALLOC || c->kind == MG_USER_ALLOC;
	bool user = c->kind == MG_USER_ALLOC || c->kind == MG_USER_FREE;
	bool simple = !whole && is_simple(c);
	uint32_t stack = 0;
	if (whole    ? parse_stack_whole(s, r, c, &stack)
	    : simple ? parse_stack_change(s, r, c, frames_of(c))
		     : c->flags && parse_stack_of(s, r, c, &stack))
		return -1;
	uint64_t address = word(c, 2);
	if (!address)
		return no_address(s);
	uint8_t kind = takes ? ITEM_ALLOC : ITEM_FREE;
	if (c->flags & MG_F_UNSURE && !takes)
		kind = ITEM_FREE_UNSURE;
	struct item *it = add(s, r, c->stamp, takes, kind);
	it->address = user ? address | USER_BLOCK : address;
	it->size = takes ? block_size(c) : 0;
	it->stack = stack;
	if (simple)
		parse_stack_give(s, r, it);
	if (c->flags & MG_F_USABLE && takes)
		it->extra = slack_of(c, it->size);
	return 0;
}

/* Adds an item for the release of a reallocation's old block. Returns the number that links the
 * item with the new block's. */
static uint8_t release(struct session *s, struct reader *r, uint64_t stamp, uint64_t address)
{
	struct item *it = add(s, r, stamp, false, ITEM_RELEASE);
	it->address = address;
	return it->link = (uint8_t)(r->releases++ % RELEASED);
}

static int reallocation(struct session *s, struct reader *r, const struct record *c)
{
	uint32_t stack = 0;
	if (is_simple(c) ? parse_stack_change(s, r, c, frames_of(c))
			 : parse_stack_of(s, r, c, &stack))
		return -1;
	uint64_t after = c->stamp, address = word(c, 2), size = block_size(c), old = word(c, 4);
	uint64_t before = word(c, 5), user = c->kind == MG_USER_REALLOC ? USER_BLOCK : 0;
	if (!address)
		return session_damaged(s, "a reallocation without an address");
	uint8_t link = 0;
	if (old)
		link = release(s, r, before < after ? before : after, old | user);
	struct item *it = add(s, r, after, true, old ? ITEM_REALLOC : ITEM_ALLOC);
	it->address = address | user;
	it->size = size;
	it->stack = stack;
	if (is_simple(c))
		parse_stack_give(s, r, it);
	it->link = link;
	it->extra = slack_of(c, size);
	return 0;
}

/* Returns the stamp at which a reallocation freed its old block. If that stamp was merged already,
 * returns the earliest stamp not merged yet. */
static uint64_t stamp_before(const struct session *s, const struct record *c)
{
	uint64_t before = word(c, 5) < c->stamp ? word(c, 5) : c->stamp;
	uint64_t least = (s->merged_key + 1) >> 1;
	return before < least ? least : before;
}

static int heap_release(struct session *s, struct reader *r, const struct record *c)
{
	uint64_t old = word(c, 4), own = word(c, 6) & MG_HEAP_PLAIN ? 0 : USER_BLOCK;
	if (!old)
		return no_address(s);
	struct item *it = add(s, r, stamp_before(s, c), false, ITEM_FREE_UNSURE);
	it->address = old | own;
	return 0;
}

/* Adds an allocation in a custom heap. For a reallocation, also adds the free of the old block,
 * which no earlier record has reported. */
static int heap_block(struct session *s, struct reader *r, const struct record *c)
{
	uint32_t stack;
	uint8_t link = 0;
	if (c->flags & MG_F_UNSURE && c->kind == MG_HEAP_REALLOC)
		return heap_release(s, r, c);
	if (parse_stack_of(s, r, c, &stack))
		return -1;
	bool again = c->kind == MG_HEAP_REALLOC;
	uint64_t address = word(c, 2), size = address ? block_size(c) : word(c, 3);
	uint64_t heap = word(c, again ? 6 : 4), pool = word(c, again ? 7 : 5);
	uint64_t own = heap & MG_HEAP_PLAIN ? 0 : USER_BLOCK;
	if (again && (!address || !word(c, 4)))
		return no_address(s);
	if (again)
		link = release(s, r, stamp_before(s, c), word(c, 4) | own);
	struct item *it = add(s, r, c->stamp, true,
			      again      ? ITEM_HEAP_REALLOC
			      : !address ? ITEM_HEAP_FAILED
					 : ITEM_HEAP_ALLOC);
	it->address = address ? address | own : 0;
	it->size = size;
	it->stack = stack;
	it->link = link;
	it->extra = heaps_add_detail(s, heap & UINT32_MAX, pool, NULL);
	return 0;
}

static int backing(struct session *s, struct reader *r, const struct record *c)
{
	if (!word(c, 2))
		return no_address(s);
	struct item *it = add(s, r, c->stamp, true, ITEM_BACKING);
	it->address = word(c, 2);
	it->size = word(c, 3);
	it->extra = (uint32_t)(word(c, 4) & UINT16_MAX) << 1 | ((word(c, 4) & MG_HEAP_HIDDEN) != 0);
	return 0;
}

static int pool(struct session *s, struct reader *r, const struct record *c, uint64_t *words)
{
	uint64_t n = word(c, 5), step = word(c, 2), address = word(c, 4);
	char *name = NULL;
	if (n > MG_POOL_NAME_MOST)
		return session_damaged(s, "a pool's name is too long");
	*words += (n + 7) / 8;
	if (*words * 8 > c->left)
		return session_damaged(s, "a pool's name runs past its buffer");
	if (n) {
		name = ms_xcalloc(n + 1, 1);
		memcpy(name, c->w + 6, n);
	}
	struct item *it = add(s, r, c->stamp, step == MG_POOL_MADE, ITEM_POOL);
	it->address = address;
	it->extra = heaps_add_detail(s, step, 0, name);
	return 0;
}

static int failure(struct session *s, struct reader *r, const struct record *c)
{
	uint32_t stack;
	if (parse_stack_of(s, r, c, &stack))
		return -1;
	struct item *it = add(s, r, c->stamp, true, ITEM_FAILED);
	it->size = word(c, 2);
	it->stack = stack;
	return 0;
}

/* Parses the mapping or unmapping of address space. */
static int mapping(struct session *s, struct reader *r, const struct record *c)
{
	uint32_t stack;
	if (parse_stack_of(s, r, c, &stack))
		return -1;
	bool takes = c->kind == MG_MAP;
	uint64_t address = word(c, 2), bytes = word(c, 3), from = takes ? word(c, 5) : 0;
	if (!bytes || bytes > UINT64_MAX - address)
		return session_damaged(s, "a mapping is out of range");
	uint64_t stamp = c->stamp;
	if (from)
		add(s, r, stamp, takes, ITEM_LOOK)->address = from;
	struct item *it = add(s, r, stamp, takes, takes ? ITEM_MAP : ITEM_UNMAP);
	it->address = address;
	it->size = bytes;
	it->stack = stack;
	it->extra = (uint32_t)word(c, 4) & (MG_MAP_BRK | MG_MAP_REMAP);
	if (from)
		it->extra |= MAP_SECOND;
	return 0;
}

/* ---- other records ---- */

static int thread_start(struct session *s, struct reader *r, const struct record *c)
{
	uint64_t tid = word(c, 2);
	if (tid == 0 || tid > INT32_MAX)
		return session_damaged(s, "a thread has an invalid number");
	if (r->thread != UINT32_MAX)
		return session_damaged(s, "a buffer switches to another thread midway");
	r->thread = threads_add(s, (uint32_t)tid, c->stamp);
	session_update_modules(s);
	r->epoch = modules_epoch_at(&s->modules, c->stamp);
	r->depth = r->base = r->noded = r->cut_from = r->cut_valid = 0;
	r->quiet_ns = session_now(s);
	parse_code_forget(r);
	return 0;
}

static int new_epoch(struct session *s, struct reader *r, const struct record *c)
{
	parse_stack_settle(s, r);
	r->epoch = (uint32_t)word(c, 2);
	r->depth = r->base = r->noded = r->cut_from = r->cut_valid = 0;
	session_update_modules(s);
	return 0;
}

/* Parses a mark or a label. */
static int named(struct session *s, struct reader *r, const struct record *c, uint64_t *words,
		 uint8_t kind)
{
	uint64_t n = (uint32_t)word(c, 2);
	if (n > (kind == ITEM_LABEL ? MG_LABEL_MOST : MARK_MAX))
		return session_damaged(s, "the name of a mark or a label is too long");
	*words += (n + 7) / 8;
	if (*words * 8 > c->left)
		return session_damaged(s, "a mark or a label runs past its buffer");
	char *name = ms_xrealloc(NULL, n + 1, 1);
	memcpy(name, c->w + 3, n);
	name[n] = '\0';
	struct item *it = add(s, r, c->stamp, true, kind);
	it->size = (uint64_t)(uintptr_t)name;
	it->extra = (uint32_t)(word(c, 2) >> 32);
	return 0;
}

static int copy_part(struct session *s, struct reader *r, const struct record *c, uint64_t *words)
{
	uint64_t start = word(c, 2), n = word(c, 3);
	unsigned regs = c->keep ? 0 : MG_COPY_REGS;
	if (n > MG_RECORD_MOST || c->keep > COPY_MAX || (c->keep && c->keep != r->copy_bytes))
		return session_damaged(s, "a stack copy is out of range");
	*words += regs + (n + 7) / 8;
	if (*words * 8 > c->left)
		return session_damaged(s, "a stack copy runs past its buffer");
	if (!c->keep) {
		memcpy(r->regs, c->w + 4, sizeof r->regs);
		r->copy_start = start;
		r->copy_bytes = 0;
	}
	if (r->copy_bytes + n > r->copy_room) {
		r->copy_room = (r->copy_bytes + n) * 2;
		r->copy = ms_xrealloc(r->copy, r->copy_room, 1);
	}
	if (n)
		memcpy(r->copy + r->copy_bytes, c->w + 4 + regs, n);
	r->copy_bytes += n;
	return 0;
}

/* Parses one record and sets *words to its length. Returns 0, or -1 if it is damaged. */
static int parse_one(struct session *s, struct reader *r, const struct record *c, uint64_t *words)
{
	if (r->thread == UINT32_MAX && c->kind != MG_THREAD && c->kind != MG_WRAP)
		return session_damaged(s, "the first record of a buffer does not name its thread");
	switch (c->kind) {
	case MG_ALLOC:
	case MG_ALLOC_WHOLE:
	case MG_USER_ALLOC:
	case MG_FREE:
	case MG_USER_FREE:
		return event(s, r, c);
	case MG_REALLOC:
	case MG_USER_REALLOC:
		return reallocation(s, r, c);
	case MG_HEAP_ALLOC:
	case MG_HEAP_REALLOC:
		return heap_block(s, r, c);
	case MG_HEAP_BACKING:
		return backing(s, r, c);
	case MG_POOL:
		return pool(s, r, c, words);
	case MG_FAILED:
		return failure(s, r, c);
	case MG_MAP:
	case MG_UNMAP:
		return mapping(s, r, c);
	case MG_PUSH:
		return parse_stack_change(s, r, c, c->w + 1);
	case MG_THREAD:
		return thread_start(s, r, c);
	case MG_EPOCH:
		return new_epoch(s, r, c);
	case MG_MARK:
		return named(s, r, c, words, ITEM_MARK);
	case MG_LABEL:
		return named(s, r, c, words, ITEM_LABEL);
	case MG_COPY:
		return copy_part(s, r, c, words);
	case MG_CODE:
		return parse_code(s, r, c, words);
	case MG_FORK:
		add(s, r, c->stamp, true, ITEM_FORK);
		if (s->run)
			__atomic_store_n(&s->run->forked, 1, __ATOMIC_RELAXED);
		return 0;
	case MG_PAUSE:
		add(s, r, c->stamp, true, ITEM_PAUSE)->size = word(c, 2);
		return 0;
	case MG_IGNORE:
		add(s, r, c->stamp, true, ITEM_IGNORE)->address = word(c, 2);
		return 0;
	default: /* MG_WRAP */
		return 0;
	}
}

/* Parses a record that begins with `head` and is not a short one. Returns its length in words,
 * or -1. */
static int64_t full_record(struct session *s, struct reader *r, struct record *c, uint64_t head)
{
	c->kind = head & 0xff;
	c->flags = head >> 8 & 0xff;
	c->count = head >> 16 & 0xffff;
	c->keep = (uint32_t)(head >> 32);
	uint64_t words = head_words(c);
	if (is_one(c->kind, HAVE_FRAMES))
		words += c->count;
	if (head >> 63 || !fixed_words(c->kind) || words * 8 > c->left)
		return session_damaged(s, "a buffer holds no record where one should be");
	if (!is_one(c->kind, HAVE_NO_STAMP))
		r->last = c->stamp = word(c, 1);
	return parse_one(s, r, c, &words) ? -1 : (int64_t)words;
}

static int64_t parse(struct session *s, struct reader *r, uint64_t bytes, uint64_t most)
{
	uint64_t all = bytes, enough = bytes > most ? bytes - most : 0;
	bool copying = false; /* the event of a stack copy may have an earlier stamp than the copy:
				 parse both in one call */
	if (r->first == r->count)
		r->first = r->count = 0;
	while (bytes > enough || (bytes && copying)) {
		if (bytes < 8 || r->offset + 16 > r->window_bytes)
			return session_damaged(s, "a buffer has lost its records");
		struct record c = {.w = (const uint64_t *)(r->window + r->offset)};
		c.left = bytes;
		if (c.left > r->window_bytes - r->offset)
			c.left = r->window_bytes - r->offset;
		uint64_t head = word(&c, 0);
		bool is_short = head >> 63 || (head & 0xff) == MG_ALLOC_SHORT;
		int64_t words = is_short && r->thread != UINT32_MAX ? short_event(s, r, &c, head)
								    : full_record(s, r, &c, head);
		if (words < 0)
			return -1;
		bytes -= (uint64_t)words * 8;
		copying = c.kind == MG_WRAP ? copying : c.kind == MG_COPY;
		r->offset = c.kind == MG_WRAP ? 0 : r->offset + (uint64_t)words * 8;
	}
	return (int64_t)(all - bytes);
}

int64_t parse_records(struct session *s, struct reader *r, uint64_t bytes, uint64_t most)
{
	int64_t parsed = parse(s, r, bytes, most);
	parse_stack_settle(s, r);
	return parsed;
}
