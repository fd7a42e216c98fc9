/* SPDX-License-Identifier: MIT
 * Events of a trace and their columns: encoder and decoder of one event block.
 *
 * Allocation numbers: every ALLOC, REALLOC and REALLOC_UNKNOWN makes the next number, from 0. A
 * free names its block by how many allocations ago it was made, so that a reader replays with an
 * array. No malloc, no I/O: the caller gives the memory. Every block decodes by itself (predictors
 * start empty).
 */
#ifndef MS_FORMAT_EVENT_H
#define MS_FORMAT_EVENT_H

#include <stddef.h>
#include <stdint.h>

enum ms_event_kind {
	MS_EV_ALLOC = 0,           /* size, stack, address */
	MS_EV_FREE = 1,            /* freed */
	MS_EV_REALLOC = 2,         /* freed (old block), size, stack, address (new block) */
	MS_EV_FAILED = 3,          /* size, stack; changes nothing */
	MS_EV_FREE_UNKNOWN = 4,    /* address not held live; counted apart */
	MS_EV_REALLOC_UNKNOWN = 5, /* realloc of a block not held live: size, stack, address */
	MS_EV_FREE_INFERRED = 6,   /* freed: its address was given out again, the free was lost */
	MS_EV_EXT = 7,             /* reserved: extended kinds */
};

struct ms_event {
	uint64_t time_ticks; /* since the start of the recording, in ticks of the header */
	uint64_t size;       /* bytes asked for */
	uint64_t number;     /* allocation number made (ALLOC, REALLOC*) */
	uint64_t freed;      /* allocation number released (FREE, REALLOC, FREE_INFERRED) */
	uint64_t address;    /* of the new block, or of the unknown one; 0 = not recorded */
	uint32_t thread;     /* thread index */
	uint32_t stack;      /* node number of the innermost frame; 0 = none */
	uint8_t kind;        /* enum ms_event_kind */
};

#endif
