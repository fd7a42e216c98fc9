/* SPDX-License-Identifier: MIT
 * Follows a trace that is still being written, or reads a finished one. Each call applies the
 * blocks completed since the last call, and every byte is read once.
 *
 * The model is never finished, so that more events can be applied. Callers compute its sums by
 * ms_replay_sum_cells.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recording.h"

struct ms_err;

/* State of the followed file. */
enum ms_follow_file {
	MS_FILE_THERE,
	MS_FILE_REMOVED,  /* the name is gone; the open file is still read */
	MS_FILE_REPLACED, /* the name now belongs to another file */
	MS_FILE_CUT,      /* file is shorter than the part already read, so reading stops */
};

struct ms_follow {
	char *path;
	struct ms_recording *rec;
	int fd; /* descriptor of the file of `rec` */
	enum ms_follow_file file;
	uint64_t next_check_ns; /* time of the next check of the file, on the monotonic clock */
	uint64_t size;          /* size in bytes at the latest check */
	int same_boot;          /* 1 = recorded since this machine started, 0 = not, -1 = not
				   checked yet */
	bool caught_up;         /* everything in the file has been applied */
	unsigned images;        /* number of program images followed before this one, one per
				   exec */
	char waits_for[4096];   /* path of the next program image's trace, if it does not exist yet;
				   "" = none */
};

/* Opens the trace. Returns NULL with `err` set on failure. */
struct ms_follow *ms_follow_open(const char *path, struct ms_err *err);
void ms_follow_close(struct ms_follow *f);
/* Applies new events for about `budget_ns`. Returns 1 if there are more, so that the caller should
 * call again; 0 if all present events are applied; or -1 with `err` set if reading failed. */
int ms_follow_step(struct ms_follow *f, uint64_t budget_ns, struct ms_err *err);
/* If the process has replaced its program image by exec and the new image's trace exists, switches
 * to that trace and returns true: f->rec is then another recording. Calls `leaving` before the old
 * one is closed. */
bool ms_follow_successor(struct ms_follow *f, void (*leaving)(void *arg), void *arg);
/* Switches, as ms_follow_successor does, to the file that now has the name (after MS_FILE_REPLACED
 * or MS_FILE_CUT). Returns 0, or -1 with `err` set and nothing changed. */
int ms_follow_again(struct ms_follow *f, void (*leaving)(void *arg), void *arg, struct ms_err *err);

/* Returns the time up to which all events are applied, in ns since the start of the recording. */
uint64_t ms_follow_reached(const struct ms_follow *f);
/* Returns how far, in ns, ms_follow_reached lies in the past, if the trace is growing and was
 * recorded on this machine since it started; else UINT64_MAX. */
uint64_t ms_follow_lag(struct ms_follow *f);
