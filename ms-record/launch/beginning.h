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
	uint64_t sp;     /* stack pointer before the program's first instruction */
	const int *quit; /* atomic, borrowed: set to stop waiting; NULL = never */
};

/* Lets the process run from its exec until it can be attached to, and leaves it in a ptrace stop;
 * the calling thread traces it. Returns 0, or -1 with `err` set: the process ended, *b->quit was
 * set, or the C library is unknown. */
int beginning_reach(struct beginning *b, pid_t pid, struct ms_err *err);
void beginning_free(struct beginning *b);
