/* SPDX-License-Identifier: MIT
 * Events of a trace and their columns: encoder and decoder of one event block.
 *
 * Allocation numbers: every ALLOC, REALLOC and REALLOC_UNKNOWN makes the next number, from 0. A
 * free names its block by how many allocations ago it was made, so that a reader replays with an
 * array. No malloc, no I/O: the caller gives the memory. Every block decodes by itself (predictors
 * start empty).
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
	MS_EV_FAILED = 3,          /* size, stack; changes nothing */
	MS_EV_FREE_UNKNOWN = 4,    /* address not held live; counted apart */
	MS_EV_REALLOC_UNKNOWN = 5, /* realloc of a block not held live: size, stack, address */
	MS_EV_FREE_INFERRED = 6,   /* freed: its address was given out again, the free was lost */
	MS_EV_EXT = 7,             /* extended: what `ext` says */
};

/* Does an event of that kind make a block, and does it release the block `freed`? */
static inline bool ms_event_allocates(unsigned kind)
{
	return (1u << kind) &
	       (1u << MS_EV_ALLOC | 1u << MS_EV_REALLOC | 1u << MS_EV_REALLOC_UNKNOWN);
}
static inline bool ms_event_releases(unsigned kind)
{
	return (1u << kind) & (1u << MS_EV_FREE | 1u << MS_EV_REALLOC | 1u << MS_EV_FREE_INFERRED);
}

/* No process has room for a block of 2^48 bytes. Sums of live blocks rest on that. */
static inline bool ms_event_size_fits(uint64_t size)
{
	return size >> 48 == 0;
}

/* Extended events: stack, address, size and `freed` carry what the kind says, 0 where it says
 * nothing. They change no figure of the heap. */
enum ms_event_ext {
	/* Explains the FREE_UNKNOWN or REALLOC_UNKNOWN that follows at once on the same thread: its
	 * old block was allocated before a fork, in the process that forked. address, size (bytes);
	 * freed = its allocation number there | generations up << 56 (1 = the parent). */
	MS_EXT_INHERITED = 1,
	/* Address space taken with mmap, mremap or brk (--mmap): address, size in bytes, stack;
	 * freed = MS_MAP_*. What was mapped there before goes. */
	MS_EXT_MAP = 2,
	MS_EXT_UNMAP = 3, /* and given back: address, size; freed = MS_MAP_* */
	/* A block of malloc's that a custom allocator cuts its own blocks from: address, size;
	 * stack = the marker of its heap (MS_FRAME_HEAP). In no figure of the heap. */
	MS_EXT_BACKING = 4,
	MS_EXT_UNBACKING = 5, /* the block was given back: fields as of BACKING */
	/* Explains a free as INHERITED does: the old block was allocated before the recorder
	 * attached. size (usable bytes, 0 = not known); freed = MS_BEFORE_EARLIER: explains one of
	 * the frees of unknown blocks before it instead. */
	MS_EXT_BEFORE = 6,
};
#define MS_BEFORE_EARLIER 1u
#define MS_MAP_BRK 1u   /* by brk or sbrk */
#define MS_MAP_REMAP 2u /* half of an mremap: the other half is its neighbour */

struct ms_event {
	uint64_t time_ticks; /* since the start of the recording, in ticks of the header */
	uint64_t size;       /* bytes asked for */
	uint64_t number;     /* allocation number made (ALLOC, REALLOC*) */
	uint64_t freed;      /* allocation number released (FREE, REALLOC, FREE_INFERRED) */
	uint64_t address;    /* of the new block, or of the unknown one; 0 = not recorded */
	uint32_t thread;     /* thread index */
	uint32_t stack; /* node number of the innermost frame; 0 = none. Of a free: where it was
			   freed, if recorded */
	uint32_t
		slack; /* of a new block: usable size - size + 1; 0 = not asked for (--with=usable-size)
			 */
	uint8_t kind; /* enum ms_event_kind */
	uint8_t ext;  /* enum ms_event_ext, of MS_EV_EXT; a reader may meet others */
};

/* ---- prediction, the same in encoder and decoder (ms-trace(5), EVENT BLOCKS) ---- */

#define MS_EVENT_THREAD_SLOTS 64u
#define MS_EVENT_TABLE 4096u

struct ms_event_thread {
	uint64_t freed;         /* number that its last free released */
	uint32_t stack, before; /* of its last two allocations */
	uint32_t frees;         /* since then */
};

struct ms_event_model {
	uint64_t number; /* next allocation number */
	uint64_t time;   /* ticks, of the event before */
	uint32_t thread; /* of the event before */
	struct ms_event_thread threads[MS_EVENT_THREAD_SLOTS];
	uint32_t stack1[MS_EVENT_TABLE]; /* next stack after a stack */
	uint32_t stack2[MS_EVENT_TABLE]; /* next stack after two stacks */
	uint64_t size1[MS_EVENT_TABLE];  /* size by stack */
	uint64_t size2[MS_EVENT_TABLE];  /* size by stack and stack before */
	uint64_t free1[MS_EVENT_TABLE];  /* free distance by last stack and frees since */
};

/* ---- encoding ---- */

/* Memory for the columns of a block of at most `n` events (97 bytes each; what is not used is not
 * touched). */
#define MS_EVENT_MEMORY(n) ((size_t)(n)*97 + 64)
#define MS_EVENT_COLUMNS 10u /* at most, without MS_COL_ADDRESS (format/address.h) */

struct ms_event_encoder {
	struct ms_event_model m;
	uint64_t first_number, first_event, first_tick;
	size_t count, max; /* events of the block; at most */
	uint8_t *memory;
	bool slacks; /* the block has them */
	struct ms_event_ends {
		uint8_t *op, *thread, *stack, *size, *freed, *time, *unknown, *ext, *slack;
	} to; /* ends of the columns */
};

/* `memory` of MS_EVENT_MEMORY(max_events) bytes is borrowed for the encoder's life. */
void ms_event_encoder_init(struct ms_event_encoder *e, void *memory, size_t max_events);
/* Starts a block: number of its first allocation, of its first event (both from 0 at the file's
 * start) and the tick at which it starts (no event may be earlier). */
void ms_event_encoder_begin(struct ms_event_encoder *e, uint64_t first_number, uint64_t first_event,
			    uint64_t first_tick);
/* Adds events, in order of time: one earlier than the last is written with the last one's tick.
 * Reads kind, thread, time_ticks and what the kind has (slack: once an allocation has one, those
 * of the block that have none count as 0 bytes); `freed` must be below the next allocation
 * number. The number of an allocation is implied (ms_event_next_number). Returns how many; *rc is
 * MS_FMT_OK when all, else what the next one gave. MS_FMT_FULL: the block has max_events.
 * MS_FMT_BAD: kind or freed out of range. Nothing is changed then. */
size_t ms_event_put_many(struct ms_event_encoder *e, const struct ms_event *v, size_t n,
			 enum ms_fmt *rc);
/* Adds one. */
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
/* Fills `out` (MS_EVENT_COLUMNS entries) with the columns that are not empty; returns how many.
 * They stay valid until the next begin. */
size_t ms_event_encoder_finish(struct ms_event_encoder *e, struct ms_column *out);

/* ---- decoding ---- */

struct ms_event_decoder {
	struct ms_event_model m;
	uint64_t first_number, first_event, first_tick, count; /* of the block, valid after init */
	uint64_t left;
	struct ms_event_cursors {
		struct ms_cursor op, thread, stack, size, freed, time, unknown, ext, slack;
	} from;
};

/* Starts to decode a block from its columns (of ms_trace_next, or of finish). MS_COL_ADDRESS is not
 * used. The bytes may be hostile. MS_FMT_OK or MS_FMT_BAD. */
enum ms_fmt ms_event_decoder_init(struct ms_event_decoder *d, const struct ms_column *columns,
				  size_t n);
/* The next events, `max` (over 0) at most. `address` is set for unknown frees only (0 when the column
 * was left out): see format/address.h. What a kind does not have is 0. `freed` is always below the
 * next allocation number. Returns how many; *rc is MS_FMT_OK when there are `max`, else what came
 * after the last one: MS_FMT_END or MS_FMT_BAD. */
size_t ms_event_next_many(struct ms_event_decoder *d, struct ms_event *ev, size_t max,
			  enum ms_fmt *rc);
/* The next one. */
static inline enum ms_fmt ms_event_next(struct ms_event_decoder *d, struct ms_event *ev)
{
	enum ms_fmt rc;
	ms_event_next_many(d, ev, 1, &rc);
	return rc;
}
