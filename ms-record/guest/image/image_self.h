/* SPDX-License-Identifier: MIT
 * The image's way to a thread's writer: a table by thread pointer, since it has no thread-local
 * storage. Included ahead of the core's files when they are compiled for the image.
 */
#pragma once

#define MG_IMAGE 1

#include "ms-record/guest/cpu.h"

/* fork.c's, for a child; the image asks first whether there is a session to begin. */
#define MG_SHUT mg_shut_forked

/* One thread's place. Whose it is tells its number: control blocks are used again. */
struct mg_place {
	uint64_t tp;            /* 0 = nobody's */
	uintptr_t self;         /* the writer: see MG_SELF */
	const uint64_t *inside; /* frame of the hook whose function runs, NULL = none */
	void *held;             /* a realloc's writer, */
	uint64_t before;        /* and its stamp */
	uint64_t lost;          /* events lost, as last seen */
	uint32_t tid;
};

extern struct mg_place *mg_places __attribute__((visibility("hidden")));
/* Returns a thread's place that is not the first one looked at; takes one if there is none. NULL =
 * no place is left. */
struct mg_place *mg_place_far(uint64_t tp, uint32_t first) __attribute__((visibility("hidden")));

MG_INLINE struct mg_place *mg_place_here(void)
{
	uint64_t tp = mg_thread_pointer();
	uint32_t first = (uint32_t)((tp >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 50);
	struct mg_place *p = &mg_places[first];
	return MG_LIKELY(p->tp == tp) ? p : mg_place_far(tp, first);
}

/* The core asks only where image.c has found the place. */
#define MG_SELF (&mg_place_here()->self)
