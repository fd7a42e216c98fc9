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

/* Makes the socket. 0, or -1 with `err` set. */
int handshake_listen(struct control *c, struct ms_err *err);
/* Receives what waits at the socket, and has each answered over `fd`, which is closed then. */
void handshake_each(const struct control *c,
		    void (*answer)(void *arg, int fd, int pid, const struct mg_handshake *h),
		    void *arg);
/* Answers with the session's memory; NULL = it is not recorded. False = it did not arrive. */
bool handshake_reply(int fd, const struct session *s);
/* Places hooks, if hook_launch_wanted said so, after the reply, while the program waits at `fd`.
 * With `own`, it is not run if it has a function that was named and cannot be hooked. */
void handshake_place_hooks(struct control *c, struct session *s, int fd, bool own);
/* The running session of a process, or NULL. */
struct session *handshake_running_session(struct control *c, int pid);
/* `now` takes the place of `old` in the same process. */
void handshake_replace(struct control *c, struct session *old, const struct session *now);

/* Holds what is known of a process that has become another program. */
struct arrival {
	pid_t pid;
	char exe[PROCESS_EXE];
	char *name;          /* as it is shown; malloc'ed */
	struct session *old; /* of its image until now; NULL = it had none */
	uint32_t parent;     /* as in struct session */
	bool further;        /* it does not get FILE */
	bool wanted;
	bool recordable; /* and can be recorded, as far as we are concerned */
	bool let_go;     /* it is traced no more once it is recorded */
};
void handshake_look(struct control *c, pid_t pid, struct arrival *a);
/* Opens the trace of an arrival: FILE for the first image of the command, else one in FILE.d. NULL
 * with `err` set: there can be none. */
struct output *handshake_trace(struct control *c, const struct arrival *a, struct ms_err *err);
/* Notes an arrival that is wanted and not recorded, and why. */
void handshake_missed(struct control *c, const struct arrival *a, const char *why);

/* Answers everyone who waits at the socket: a new image is recorded, or told to stay out. */
void handshake_accept(struct control *c);
