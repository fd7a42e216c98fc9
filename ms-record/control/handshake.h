/* SPDX-License-Identifier: MIT
 * The handshake with guests, over an abstract socket with a random name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-record/base/program.h"

struct control;
struct mg_handshake;
struct ms_err;
struct output;
struct session;

/* Creates the socket to which guests connect. Returns 0, or -1 with `err` set. */
int handshake_listen(struct control *c, struct ms_err *err);
/* Accepts all pending connections, and calls `answer` with each valid message and its connection
 * `fd`, which is closed afterwards. */
void handshake_each(const struct control *c,
		    void (*answer)(void *arg, int fd, int pid, const struct mg_handshake *h),
		    void *arg);
/* Sends the guest the session's shared memory, or, if `s` is NULL, the answer that the process is
 * not recorded. Returns false if the guest did not receive it. */
bool handshake_reply(int fd, const struct session *s);
/* Places hooks after the reply, if hook_launch_wanted returned true: the guest waits on connection
 * `fd` meanwhile. `own`: do not run the program if a function named by --hook cannot be hooked. */
void handshake_place_hooks(struct control *c, struct session *s, int fd, bool own);
/* Returns the running session of a process, or NULL. */
struct session *handshake_running_session(struct control *c, int pid);
/* Ends the session `old`, whose process has called exec; `now` is its successor (NULL = none). */
void handshake_replace(struct control *c, struct session *old, const struct session *now);

/* Describes a process that has just called exec. */
struct arrival {
	pid_t pid;
	char exe[PROCESS_EXE];
	char *name;          /* name for messages and reports; malloc'ed */
	struct session *old; /* session of the process's previous program image; NULL = none */
	uint32_t parent;     /* parent program image, as in struct session */
	bool further;        /* the trace goes to FILE.d, not FILE */
	bool wanted;
	bool recordable; /* the new program image is wanted, recording has not stopped, and a trace
			    can be made */
	bool let_go;     /* stop tracing the process once it is recorded */
};
void handshake_look(struct control *c, pid_t pid, struct arrival *a);
/* Returns the output for an arrival: FILE for the command's first program image, else a trace in
 * FILE.d. Returns NULL with `err` set if it cannot be made. */
struct output *handshake_trace(struct control *c, const struct arrival *a, struct ms_err *err);
/* Adds a program image that was wanted, but is not recorded, to the index, with the reason. */
void handshake_missed(struct control *c, const struct arrival *a, const char *why);

/* Answers all guests waiting at the socket: each gets a session, or is told not to record. */
void handshake_accept(struct control *c);
