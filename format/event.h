/* SPDX-License-Identifier: MIT
 * Events of a trace and their columns: encoder and decoder of one event block.
 *
 * Allocation numbers: every ALLOC, REALLOC and REALLOC_UNKNOWN takes the next number, from 0. A
 * free refers to its block by that number, so that a reader can replay with an array. No malloc, no
 * I/O: the caller provides the memory. Every event block can be decoded by itself (predictors start
 * empty).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "varint.h"

enum ms_event_kind {
	MS_EV_ALLOC = 0,           /* size, stack, address */
	MS_EV_FREE = 1,            /* freed */
	MS_EV_REALLOC = 2,         /* freed (old block), size, stack, address (new block) */
	MS_EV_FAILED = 3,          /* size, stack; has no other effect */
	MS_EV_FREE_UNKNOWN = 4,    /* the address is not that of a live block; counted separately */
	MS_EV_REALLOC_UNKNOWN = 5, /* realloc of an address that is not that of a live block: size,
				      stack, address */
	MS_EV_FREE_INFERRED = 6,   /* freed: its address was allocated again without a free */
	MS_EV_EXT = 7,             /* extended event, see `ext` */
};

/* Tells whether an event of that kind allocates a block. ms_event_releases tells whether it frees
 * the block `freed`. */
static inline bool ms_event_allocates(unsigned kind)
{
	return (1u << kind) &
	       (1u << MS_EV_ALLOC | 1u << MS_EV_REALLOC | 1u << MS_EV_REALLOC_UNKNOWN);
}
static inline bool ms_event_releases(unsigned kind)
{
	return (1u << kind) & (1u << MS_EV_FREE | 1u << MS_EV_REALLOC | 1u << MS_EV_FREE_INFERRED);
}

/* Tells whether a size is below 2^48, as in every real process; then sums of live blocks cannot
 * overflow. */
static inline bool ms_event_size_fits(uint64_t size)
{
	return size >> 48 == 0;
}

/* Kinds of extended events, with the meaning of stack, address, size and `freed`; unused ones are
 * 0. Extended events do not count in heap figures. */
enum ms_event_ext {
	/* Explains the FREE_UNKNOWN or REALLOC_UNKNOWN that follows directly on the same thread:
	 * its old block was allocated before a fork, by an ancestor process. address, size (bytes);
	 * freed = the block's allocation number in the ancestor's trace | generation << 56 (1 =
	 * parent, 2 = grandparent, ...). */
	MS_EXT_INHERITED = 1,
	/* Maps address space by mmap, mremap or brk (--mmap): address, size in bytes, stack; freed
	 * = MS_MAP_*. Replaces earlier mappings there. */
	MS_EXT_MAP = 2,
	MS_EXT_UNMAP = 3, /* unmaps address space: address, size; freed = MS_MAP_* */
	/* A malloc block that a custom allocator cuts its own blocks from: address, size; stack =
	 * the marker of its heap (MS_FRAME_HEAP). Not included in figures of the heap. */
	MS_EXT_BACKING = 4,
	MS_EXT_UNBACKING = 5, /* the block was freed; fields as for BACKING */
	/* Explains the unknown free that follows directly on the same thread: its block was
	 * allocated before the recorder attached. size (usable bytes, 0 = not known). freed =
	 * MS_BEFORE_EARLIER: explains an earlier free of an unknown block instead. */
	MS_EXT_BEFORE = 6,
};
#define MS_BEFORE_EARLIER 1u
#define MS_MAP_BRK 1u   /* by brk or sbrk */
#define MS_MAP_REMAP 2u /* half of an mremap; the other half is the adjacent event */

struct ms_event {
	uint64_t time_ticks; /* time since the start of the recording, in ticks of the header */
	uint64_t size;       /* bytes requested */
	uint64_t number;     /* allocation number of the new block (ALLOC, REALLOC*) */
	uint64_t freed;      /* allocation number of the freed block (FREE, REALLOC,
				FREE_INFERRED) */
	uint64_t address;    /* new block, or unknown freed block; 0 = not recorded */
	uint32_t thread;     /* thread index */
	uint32_t stack; /* node number of the innermost frame; 0 = none. For a free: stack of the
			   free, if recorded */
	uint32_t
		slack; /* of a new block: usable size - size + 1; 0 = not asked for (--with=usable-size)
			 */
	uint8_t kind; /* enum ms_event_kind */
	uint8_t ext;  /* enum ms_event_ext, if kind is MS_EV_EXT; may be a kind unknown to this
			 version */
};

/* ---- prediction, the same in encoder and decoder (ms-trace(5), EVENT BLOCKS) ---- */

#define MS_EVENT_THREAD_SLOTS 64u
#define MS_EVENT_TABLE 4096u

struct ms_event_thread {
	uint64_t freed;         /* block freed by the thread's last free */
	uint32_t stack, before; /* stacks of the thread's last two allocations */
	uint32_t frees;         /* frees since the thread's last allocation */
};

struct ms_event_model {
	uint64_t number; /* next allocation number */
	uint64_t time;   /* tick of the previous event */
	uint32_t thread; /* thread of the previous event */
	struct ms_event_thread threads[MS_EVENT_THREAD_SLOTS];
	uint32_t stack1[MS_EVENT_TABLE]; /* predicts the next stack from the last one */
	uint32_t stack2[MS_EVENT_TABLE]; /* predicts the next stack from the last two */
	uint64_t size1[MS_EVENT_TABLE];  /* predicts the size from the stack */
	uint64_t size2[MS_EVENT_TABLE];  /* predicts the size from two stacks */
	uint64_t free1[MS_EVENT_TABLE];  /* predicts which block is freed, as a distance */
};

/* ---- encoding ---- */

/* Memory in bytes for the columns of a block of at most `n` events (97 bytes each; unused memory is
 * not touched). */
#define MS_EVENT_MEMORY(n) ((size_t)(n)*97 + 64)
#define MS_EVENT_COLUMNS 10u /* maximum number, without MS_COL_ADDRESS (format/address.h) */

struct ms_event_encoder {
	struct ms_event_model m;
	uint64_t first_number, first_event, first_tick;
	size_t count, max; /* count: events in the block; max: their limit */
	uint8_t *memory;
	bool slacks; /* the block has usable sizes */
	struct ms_event_ends {
		uint8_t *op, *thread, *stack, *size, *freed, *time, *unknown, *ext, *slack;
	} to; /* ends of the columns */
};

/* Initialises an encoder. `memory` of MS_EVENT_MEMORY(max_events) bytes is borrowed for the
 * encoder's life. */
void ms_event_encoder_init(struct ms_event_encoder *e, void *memory, size_t max_events);
/* Starts a block: its first allocation number and first event number (both 0 at the start of the
 * file), and its first tick (no event may be earlier). */
void ms_event_encoder_begin(struct ms_event_encoder *e, uint64_t first_number, uint64_t first_event,
			    uint64_t first_tick);
/* Adds events in order of time; an event earlier than the previous one gets its tick. Reads kind,
 * thread, time_ticks and the fields of the kind. `freed` must be below the next allocation number.
 * Slack: once an allocation has one, others of the block without one count as 0 bytes. Allocation
 * numbers are implied (ms_event_next_number). Returns how many were added; *rc is MS_FMT_OK if all,
 * else the result for the next event, which changed nothing. That is MS_FMT_FULL if the block has
 * max_events, MS_FMT_BAD if kind or freed is out of range. */
size_t ms_event_put_many(struct ms_event_encoder *e, const struct ms_event *v, size_t n,
			 enum ms_fmt *rc);
/* Adds one event. */
static inline enum ms_fmt ms_event_put(struct ms_event_encoder *e, const struct ms_event *ev)
{
	enum ms_fmt rc;
	ms_event_put_many(e, ev, 1, &rc);
	return rc;
}
static inline uint64_t ms_event_next_number(const struct ms_event_encoder *e)
{
	return e->m.number;
}
/* Fills `out` (MS_EVENT_COLUMNS entries) with the columns that are not empty. Returns how many.
 * They are valid until the next begin. */
size_t ms_event_encoder_finish(struct ms_event_encoder *e, struct ms_column *out);

/* ---- decoding ---- */

struct ms_event_decoder {
	struct ms_event_model m;
	uint64_t first_number, first_event, first_tick, count; /* valid after init */
	uint64_t left;
	struct ms_event_cursors {
		struct ms_cursor op, thread, stack, size, freed, time, unknown, ext, slack;
	} from;
};

/* Starts decoding a block from its columns (from ms_trace_next, or an encoder's finish). Does not
 * use MS_COL_ADDRESS. The bytes may be hostile. Returns MS_FMT_OK or MS_FMT_BAD. */
enum ms_fmt ms_event_decoder_init(struct ms_event_decoder *d, const struct ms_column *columns,
				  size_t n);
/* Decodes the next events, at most `max` (above 0). `address` is set for unknown frees only (0 if
 * the column was left out): see format/address.h. Fields that a kind does not have are 0. `freed`
 * is always below the next allocation number. Returns how many; *rc is MS_FMT_OK if there are
 * `max`, else the reason to stop: MS_FMT_END or MS_FMT_BAD. */
size_t ms_event_next_many(struct ms_event_decoder *d, struct ms_event *ev, size_t max,
			  enum ms_fmt *rc);
/* Decodes one event. */
static inline enum ms_fmt ms_event_next(struct ms_event_decoder *d, struct ms_event *ev)
{
	enum ms_fmt rc;
	ms_event_next_many(d, ev, 1, &rc);
	return rc;
}
