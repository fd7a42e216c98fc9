/* SPDX-License-Identifier: MIT
 * Following a trace: while it is being written, or as it was left. Each call applies what has
 * become complete since, and every byte is read once.
 *
 * The model is never finished, so that more can always come. What is a sum of others is made by
 * those who look: see replay_cells.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recording.h"

struct ms_err;

/* Says what has happened to the file, besides growing. */
enum ms_follow_file {
	MS_FILE_THERE,
	MS_FILE_REMOVED,  /* the name is gone; what is open is read on */
	MS_FILE_REPLACED, /* another file has the name */
	MS_FILE_CUT,      /* it became shorter than what was read: nothing more is read */
};

struct ms_follow {
	char *path;
	struct ms_recording *rec;
	int fd; /* of rec */
	enum ms_follow_file file;
	uint64_t next_check_ns; /* of the file, on the monotonic clock */
	uint64_t size;          /* of it, at the latest check */
	int same_boot;          /* was it recorded since this machine started? -1 = not looked */
	bool caught_up;         /* all that is there has been applied */
	unsigned images;        /* by exec, that were followed before this one */
	char waits_for[4096];   /* the trace of the next image, which is not there yet; "" = none */
};

/* Opens the trace. NULL with `err` set. */
struct ms_follow *ms_follow_open(const char *path, struct ms_err *err);
void ms_follow_close(struct ms_follow *f);
/* Applies what is there, for about `budget_ns` of time. 1: there is more, call again; 0: that is
 * all now; -1 with `err` set: reading failed. */
int ms_follow_step(struct ms_follow *f, uint64_t budget_ns, struct ms_err *err);
/* When the image has become another one by exec and the trace of that is there: goes over to it,
 * and f->rec is another recording. `leaving` is called before the old one is closed. */
bool ms_follow_successor(struct ms_follow *f, void (*leaving)(void *arg), void *arg);
/* Goes over, as ms_follow_successor does, to the file that has the name now (MS_FILE_REPLACED, or a
 * file that was cut). 0, or -1 with `err` set and nothing changed. */
int ms_follow_again(struct ms_follow *f, void (*leaving)(void *arg), void *arg, struct ms_err *err);

/* Returns until when all is known: ns since the start of the recording. */
uint64_t ms_follow_reached(const struct ms_follow *f);
/* How long ago that was, of a trace that grows and was made on this machine since it was started;
 * else UINT64_MAX. */
uint64_t ms_follow_lag(struct ms_follow *f);
