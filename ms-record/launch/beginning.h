/* SPDX-License-Identifier: MIT
 * A traced process at the beginning of a program.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "ms-record/ptrace/hijack.h"

struct ms_err;

struct beginning {
	struct hijack_stop stop;
	uint64_t sp;     /* before anything of it had run */
	const int *quit; /* atomic, given: it is not waited for any more; NULL = that cannot be */
};

/* Lets it run from its exec on until it can be attached to. 0, or -1 with `err` set: it ended, or
 * its C library is not known. It is left at some stop; the calling thread traces it. */
int beginning_reach(struct beginning *b, pid_t pid, struct ms_err *err);
void beginning_free(struct beginning *b);
