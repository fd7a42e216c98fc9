/* SPDX-License-Identifier: MIT
 * Finds a thread's writer in the image: in a table by thread pointer, since the image has no
 * thread-local storage. Included before the core's files when they are compiled for the image.
 */
#pragma once

#define MG_IMAGE 1

#include "ms-record/guest/cpu.h"

/* Name of fork.c's mg_shut in the image, for a forked child; the image first checks whether
 * there is a session to begin. */
#define MG_SHUT mg_shut_forked

/* Describes a thread's place. `tid` tells whose it is, because control blocks are reused. */
struct mg_place {
	uint64_t tp;            /* 0 = unused */
	uintptr_t self;         /* the writer: see MG_SELF */
	const uint64_t *inside; /* frame of the hook whose function is running, NULL = none */
	void *held;             /* writer of a realloc in progress */
	uint64_t before;        /* stamp of that realloc */
	uint64_t lost;          /* number of lost events at the last check */
	uint32_t tid;
};

extern struct mg_place *mg_places __attribute__((visibility("hidden")));
/* Returns the place of a thread if it is not the first one probed; takes one if the thread has
 * none. NULL = no place is free. */
struct mg_place *mg_place_far(uint64_t tp, uint32_t first) __attribute__((visibility("hidden")));

MG_INLINE struct mg_place *mg_place_here(void)
{
	uint64_t tp = mg_thread_pointer();
	uint32_t first = (uint32_t)((tp >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 50);
	struct mg_place *p = &mg_places[first];
	return MG_LIKELY(p->tp == tp) ? p : mg_place_far(tp, first);
}

/* The core uses it only after image.c has found the thread's place. */
#define MG_SELF (&mg_place_here()->self)
