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
#include "ms-record/scan/scan.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/session/session.h"
#include "tell.h"
#include "ms-record/write/writer.h"

struct standby_attach;

struct attach_process {
	struct attach *attach;
	struct standby_attach *standby; /* it is on standby; NULL = not */
	pid_t pid;
	char *program;           /* path of its executable */
	struct session *session; /* until it is given to the draining thread */
	bool failed;             /* it is recorded no more, or never was */
};

struct refusal {
	pid_t pid;
	char *why; /* a whole message */
};

/* The processes of -p, one or several: each is attached to by itself, all are recorded in one run.
 *
 * The first that can be had gets FILE, each further one a trace in FILE.d/. One that cannot is kept
 * with its reason, and costs the others nothing. c->attach is the first. */
struct multi_attach {
	size_t asked; /* processes that -p named */
	MS_ARRAY(struct attach_process) all;
	MS_ARRAY(struct refusal) refused;
};

struct control {
	const struct control_options *opt;
	struct multi_attach multi_attach;
	/* attachment to the process, of several to the first; NULL = the guest is preloaded */
	struct attach *attach;
	struct inject *inject; /* the command was started by inject.h; else NULL */
	struct launch launch;
	struct files files;
	struct writer writer;
	struct drain drain;
	struct scanner *scanner;
	struct tell tell;
	struct run run;
	struct output *first; /* of the launched image, until its handshake */
	struct session *sessions;
	char socket_name[48];
	int listener, signals, child; /* descriptors */
	uint8_t run_id[16];
	uint32_t next_image;
	uint64_t buffer_used;
	uint64_t alive_ns; /* when a process was seen last that --wait=all waits for */
	/* Processes that the command left behind, and that are not recorded any more. */
	struct session_pids left;
	uint64_t start_ns, end_ns, sample_ns, forwarded_ns, stopped_ns;
	unsigned still;       /* samples since one in which something had changed */
	const char *stop_why; /* the option or what else stopped the recording of the command */
	bool symbols_done, symbols_late;
	bool attached; /* -p: launch.pid is not ours */
	bool ended;    /* the command has; what it started may be recorded still */
	bool closing;  /* what runs on is not recorded any more */
	bool showing;  /* how far the scan at the end is, on a terminal */
	bool stopped, over, abandoned, skip_symbols, no_snap;
	unsigned symbols_failed;
	int status; /* waitpid's, of the command */
	MS_ARRAY(struct image) images;
	uint64_t rewritten;             /* as last seen */
	uint64_t progress, progress_ns; /* of the writing thread, as last seen to change */
	uint64_t kept, trivial, missed; /* further images */
	struct hook_results hooks;      /* --hook */
	bool not_run;                   /* for that, the command was ended before it began */
	struct ms_err refused;          /* why an image could not be recorded; the first one */
};

/* Makes socket and signal descriptor, opens the trace, starts the threads and the command. 0, or -1
 * with `err` set and c->launch.status as the exit status. */
int control_start(struct control *c, const struct control_options *o, struct ms_err *err);
/* Records until the command, with --wait=all what it started too, has ended and every trace is
 * closed. */
void control_run(struct control *c);
/* Says how an image ended; its trace is closed soon after. Only the first call counts. */
void control_end(struct control *c, struct session *s, int how, int status);
/* Stops the recording of all images; the command goes on. `why` is shown at the end. */
void control_stop(struct control *c, const char *why);
/* Has signals come by c->signals and handshakes by c->listener, and forks the child that waits to
 * become the command, which launch_find found. 0, or -1 with `err` set. */
int control_fork(struct control *c, struct ms_err *err);
/* Handles the signals that came. */
void control_read_signals(struct control *c);
/* Passes the signals that came on to the command, while nothing can be stopped yet: a second one
 * does not end the recording. */
void control_hand_on_signals(struct control *c);
/* Appends symbols to the traces that were kept. */
void control_symbols(struct control *c);
void control_free(struct control *c);

/* ---- forked children that began to record: fork_children.c ---- */

/* Takes all that the draining thread has seen. */
void fork_children_accept(struct control *c);
/* Waits, not for long, until no child can have gone unseen that began before. */
void fork_children_settle(struct control *c);

/* Adds to c->left those that have recorded nothing yet, and would have from their first allocation
 * on. */
void fork_children_left(struct control *c);

/* Has its process the memory mapped that the guest writes to? */
bool fork_children_keeps(const struct session *s);

/* ---- the processes of -p: multi_attach.c ---- */

#define CHANGES_NS UINT64_C(1000000000) /* for a process to become another program */

/* Looks at each of them, which none notices. 0, or -1 with `err` set: none can be had; c->attach is
 * the first that can. */
int multi_attach_look(struct control *c, struct ms_err *err);
/* Maps the guest into each of them. The same. */
int multi_attach_prepare(struct control *c, struct ms_err *err);
/* Replaces the entries in each of them: from here on it is recorded. The same. */
int multi_attach_go(struct control *c, struct ms_err *err);
/* Tells whether the only one of them has become another program since it was looked at. */
bool multi_attach_changed(const struct control *c);
/* Detaches from all of them. */
void multi_attach_detach(struct control *c);
/* Have all of them ended? */
bool multi_attach_ended(const struct control *c);
void multi_attach_free(struct control *c);
