/* SPDX-License-Identifier: MIT
 * Finds a thread's writer in the image: in a table by thread pointer, since the image has no
 * thread-local storage. Included before the core's files when they are compiled for the image.
 */
#pragma once

#define MG_IMAGE 1

#include "ms-record/guest/cpu.h"

/* Renames fork.c's mg_shut in the guest image, where it handles only forked children; image.c's
 * mg_shut first checks whether a session has to begin. */
#define MG_SHUT mg_shut_forked

/* Describes what the guest keeps of one thread, found by its thread pointer. `tid` identifies
 * the thread, because thread pointers are reused. */
struct mg_place {
	uint64_t tp;            /* 0 = unused */
	uintptr_t self;         /* the writer: see MG_SELF */
	const uint64_t *inside; /* frame of the hook whose hooked function is running, NULL =
				   none */
	void *held;             /* writer of a realloc in progress */
	uint64_t before;        /* stamp of the realloc in progress */
	uint64_t lost;          /* number of lost events at the last check */
	uint32_t tid;
};

extern struct mg_place *mg_places __attribute__((visibility("hidden")));
/* Returns the place of the thread with thread pointer `tp` if it is not at index `first`; takes a
 * free one if the thread has none. Returns NULL if no place is free. */
struct mg_place *mg_place_far(uint64_t tp, uint32_t first) __attribute__((visibility("hidden")));

MG_INLINE struct mg_place *mg_place_here(void)
{
	uint64_t tp = mg_thread_pointer();
	uint32_t first = (uint32_t)((tp >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 50);
	struct mg_place *p = &mg_places[first];
	return MG_LIKELY(p->tp == tp) ? p : mg_place_far(tp, first);
}

/* Names the word that leads to this thread's writer. The core reads it only after image.c has
 * found the thread's place. */
#define MG_SELF (&mg_place_here()->self)
