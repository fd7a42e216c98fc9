/* SPDX-License-Identifier: MIT
 * Room control: who is recorded, from when to when, under what name.
 *   In:  options; signals; handshakes of guests; requests of --tell.
 *   Out: sessions, handed to room drain; names of traces; the end.
 *   Used by: main, cli and poll; it starts launch, attach and the threads.
 *
 * What the control thread knows, and what others ask of its loop (loop.c).
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "ms-record/attach/hook_late.h"
#include "ms-record/drain/drain.h"
#include "control_options.h"
#include "files.h"
#include "images.h"
#include "ms-record/launch/launch.h"
#include "requests.h"
#include "ms-record/scan/scan.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/session/session.h"
#include "tell.h"
#include "triggers.h"
#include "ms-record/write/writer.h"

struct standby_attach;

struct attach_process {
	struct attach *attach;
	struct standby_attach *standby; /* NULL = the process is not on standby */
	pid_t pid;
	char *program;           /* path of its executable */
	struct session *session; /* the process's session, until the draining thread owns it */
	bool failed;             /* the recording failed or never began */
};

struct refusal {
	pid_t pid;
	char *why; /* a complete message */
};

/* Holds the processes named by -p. Each is attached to separately, and all are recorded in one run.
 * The trace of the first process that can be attached to is FILE, those of the others are in
 * FILE.d/. A process that cannot be attached to is listed with the reason and does not affect the
 * others. c->attach belongs to the first process. */
struct multi_attach {
	size_t asked; /* number of processes named by -p */
	MS_ARRAY(struct attach_process) all;
	MS_ARRAY(struct refusal) refused;
};

struct control {
	const struct control_options *opt;
	struct multi_attach multi_attach;
	/* attachment to the (first) process; NULL = the guest is preloaded */
	struct attach *attach;
	struct inject *inject; /* state of inject.h if the guest is injected or exec calls are
				  traced; else NULL */
	struct launch launch;
	struct files files;
	struct writer writer;
	struct drain drain;
	struct scanner *scanner;
	struct requests requests;
	struct tell tell;
	struct acting acting; /* state of --when */
	struct run run;
	struct output *first; /* output for the command's first program image (process between two
				 execs), until its handshake */
	struct session *sessions;
	char socket_name[48];
	int listener, signals, child; /* descriptors */
	uint8_t run_id[16];
	uint32_t next_image;
	uint64_t buffer_used;
	uint64_t alive_ns; /* last time at which a process that --wait=all waits for still
			      existed */
	/* processes that outlive the command, and are no longer recorded */
	struct session_pids left;
	uint64_t start_ns, end_ns, sample_ns, forwarded_ns, stopped_ns;
	unsigned still;       /* number of consecutive /proc samples without a change */
	const char *stop_why; /* name of the option or event that stopped the recording */
	bool symbols_done, symbols_late;
	bool attached; /* -p: launch.pid is not our child */
	bool ended;    /* the command has ended; its child processes may still be recorded */
	bool closing;  /* remaining sessions are being ended: processes that still run are no longer
			  recorded */
	bool showing;  /* the terminal shows the progress of the final scan */
	bool stopped, over, abandoned, skip_symbols, no_snap;
	unsigned symbols_failed;
	int status; /* waitpid status of the command */
	MS_ARRAY(struct image) images;
	uint64_t rewritten;             /* number of rewritten traces at the last check */
	uint64_t progress, progress_ns; /* the writing thread's progress at the last check, and time
					   of its last change */
	uint64_t kept, trivial, missed; /* numbers of program images after the first: kept, trivial,
					   not recorded */
	struct hook_results hooks;      /* results of --hook */
	bool not_run; /* the command was killed before it ran, because a hook or the recording
			 failed */
	struct ms_err refused; /* first reason why a program image could not be recorded */
};

/* Creates the socket and the signal descriptor, opens the trace, starts the threads and the
 * command. Returns 0, or -1 with `err` set and the exit status in c->launch.status. */
int control_start(struct control *c, const struct control_options *o, struct ms_err *err);
/* Records until the command (with --wait=all its children too) has ended and every trace is
 * closed. */
void control_run(struct control *c);
/* Records how a program image ended; its trace is closed soon after. Only the first call has an
 * effect. */
void control_end(struct control *c, struct session *s, int how, int status);
/* Stops the recording of all program images; the command keeps running. `why` is shown at the
 * end. */
void control_stop(struct control *c, const char *why);
/* Ends the recording of a process that outlives the command. */
void control_leave(struct control *c, struct session *s);
/* Tells whether all threads of a process have ended; only for kernels without pidfds, else
 * false. */
bool control_is_gone(const struct session *s);
/* Frees sessions whose trace is closed. Returns true if any are left. */
bool control_reap(struct control *c);
/* Begins to record, or ends a pause that was asked for from outside. */
void control_resume(struct control *c);
/* Makes signals readable from c->signals and handshakes from c->listener. Forks the child, which
 * waits before it executes the command found by launch_find. Returns 0, or -1 with `err` set. */
int control_fork(struct control *c, struct ms_err *err);
/* Handles pending signals. */
void control_read_signals(struct control *c);
/* Forwards pending signals to the command during start-up. The recording cannot be stopped yet, not
 * even by a second signal. */
void control_hand_on_signals(struct control *c);
/* Appends symbols to all traces that are kept. */
void control_symbols(struct control *c);
void control_free(struct control *c);

/* ---- forked children that began to record: fork_children.c ---- */

/* Begins recording all forked children that the draining thread has found. */
void fork_children_accept(struct control *c);
/* Waits briefly until every child that had begun to record before the call has been found. */
void fork_children_settle(struct control *c);

/* Adds to c->left the forked children that have recorded nothing yet, and would begin to record at
 * their next allocation. */
void fork_children_left(struct control *c);

/* Tells whether the session's process still has the guest's shared memory mapped. */
bool fork_children_keeps(const struct session *s);

/* ---- the processes of -p: multi_attach.c ---- */

/* Attaching to a process that keeps calling exec is retried for CHANGES_NS, and CHANGES_LEAST times
 * on a machine on which one try takes that long. */
#define CHANGES_NS UINT64_C(1000000000)
#define CHANGES_LEAST 3u

/* Examines each process without affecting it. Returns 0, or -1 with `err` set if none can be
 * attached to; c->attach belongs to the first one that can. */
int multi_attach_look(struct control *c, struct ms_err *err);
/* Maps the guest into each process. Returns 0, or -1 with `err` set if none can be attached to. */
int multi_attach_prepare(struct control *c, struct ms_err *err);
/* Patches the entries of the hooked functions in each process, and thereby starts recording.
 * Returns 0, or -1 with `err` set if none can be attached to. */
int multi_attach_go(struct control *c, struct ms_err *err);
/* Tells whether -p named a single process that has called exec since multi_attach_look. */
bool multi_attach_changed(const struct control *c);
/* Detaches from all processes. */
void multi_attach_detach(struct control *c);
/* Tells whether all processes have ended. */
bool multi_attach_ended(const struct control *c);
void multi_attach_free(struct control *c);
