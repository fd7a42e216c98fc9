/* SPDX-License-Identifier: MIT
 * Triggers: what --when does once a condition is true, and the scans of --retention-at.
 *
 * The control thread judges all conditions every TRIGGER_LOOK_NS, in each program image apart. A
 * trigger that fires sets marks at once, then has the process scanned, then stops the recording,
 * and runs its command last, when all of that is in the trace. Nothing here waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/cgroup.h"
#include "triggers_parse.h"

struct control;
struct session;

#define TRIGGER_LOOK_NS UINT64_C(25000000)
/* longest run of a command; number of commands that run at a time */
#define TRIGGER_RUN_NS UINT64_C(60000000000)
#define TRIGGER_RUNS 4u

/* ---- while recording: triggers.c, triggers_act.c ---- */

/* Counts the firings of a trigger in all program images. */
struct trigger_count {
	uint64_t fired, first_ns, last_ns; /* ns since the start of the run */
	uint32_t images;                   /* number of program images in which it fired */
	uint64_t unscanned;                /* scans that could not be made */
	uint64_t runs, failed;             /* commands run; those that failed */
	char why[64];                      /* how the last one failed */
	bool judged, unlimited; /* judged: its figure was known once; unlimited: the control group
				   had no limit */
};

/* Holds a trigger that has fired, until its last action is over. */
struct firing {
	struct firing *next;
	const struct trigger *trigger;
	size_t index;
	uint32_t image;
	pid_t pid;
	uint64_t rss;
	char *program, *trace;
	uint64_t request; /* number of the request that has its marks */
	unsigned scans;   /* actions that are scans and not over */
	uint64_t asked;   /* ticket of the current scan; 0 = none */
	bool scanned, flushed, stopped;
	/* its command: time when everything else was done, 0 = not yet; 0 = it waits for others to
	 * end, -1 = it could not be started */
	uint64_t due_ns, start_ns;
	pid_t child;
	bool late; /* the command took too long */
};

struct acting {
	struct trigger_count *counts; /* one for each trigger */
	uint64_t look_ns;             /* time of the next look */
	struct firing *first;
	MS_ARRAY(struct cgroup) cgroups;
	unsigned running; /* number of commands that run */
	int log;          /* output of commands; -1 = not open */
	char *log_path;
};

void triggers_start(struct control *c);
/* Judges the conditions if it is time to, and goes on with what fired. */
void triggers_turn(struct control *c);
/* Returns the time of the next look; UINT64_MAX = there are no triggers. */
uint64_t triggers_next(const struct control *c);
/* Judges a program image that is over for the last time: allocations may have failed since. */
void triggers_over(struct control *c, struct session *s);
/* Runs the commands that are left and waits for all. Call once the traces are finished. */
void triggers_end(struct control *c);
void triggers_done(struct control *c);

/* ---- between triggers.c, triggers_act.c and triggers_run.c ---- */

/* Begins the actions of a trigger. `rss`: resident bytes. */
void triggers_fire(struct control *c, struct session *s, size_t index, uint64_t rss);
/* Tells whether actions of that trigger are still due in a program image. */
bool triggers_acts(const struct control *c, uint32_t image, size_t index);
/* Goes on with all actions. */
void triggers_act(struct control *c);
/* Starts the command of a firing once fewer than TRIGGER_RUNS are running, and looks whether it has
 * ended: then returns true. Unless it is `wanted` any longer, it is ended, or not started. */
bool triggers_run(struct control *c, struct firing *f, bool wanted);
