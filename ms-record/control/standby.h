/* SPDX-License-Identifier: MIT
 * --standby: a command that runs with the guest preloaded but asleep, until ms-record -p wakes it.
 *
 * The ms-record that started the command (the holder) makes the shared memory of each of its
 * program images, like a recorder, but leaves the session OFF: hooks read one word and return. The
 * holder listens for each image on an abstract socket (SOCK_SEQPACKET) named after the memory's
 * inode, which /proc/PID/maps shows to any process permitted to read it. A recorder connects,
 * receives the memory, and records; the process is not stopped or traced. The connection stays open
 * during the recording. When it ends for any reason, the holder puts the process back on standby.
 *
 * The kernel reports the user at the other end. The holder serves its own user and root. The
 * recorder trusts its own user and root; a recorder run by root also trusts the owner of the
 * process. The memory that it receives must be the one mapped by the process.
 */
#pragma once

#include <stdint.h>

#include "ms-record/session/hook_spec.h"
#include "ms-record/session/pool.h"

struct control;
struct control_options;

#define STANDBY_HOOKS_BYTES 8192u

struct standby_ask {
	uint64_t magic; /* MG_MAGIC */
	uint32_t version;
};
struct standby_answer {
	uint64_t magic;
	uint32_t version;
	uint32_t ok; /* 1 = the descriptor of the shared memory is sent with the message */
	char why[160];
	uint32_t pid; /* process id of the program image */
	uint32_t wake;
	struct pool_shape shape;
	char hooks[STANDBY_HOOKS_BYTES]; /* arguments of --hook, each followed by a newline */
};

/* Writes the name of the socket for the shared memory with inode `inode` into `name`. */
#define STANDBY_NAME_BYTES 64u
void standby_name(uint64_t inode, char name[STANDBY_NAME_BYTES]);
/* Runs the command on standby. Returns the command's waitpid status, with `err` set if hooks were
 * refused. On failure, returns -1 with `err` set, and sets *own to the exit status for
 * ms-record. */
int standby_run(const struct control_options *o, int *own, struct ms_err *err);

/* ---- the recorder's side: standby_attach.c ---- */

struct standby_attach {
	int connection, memfd, pidfd;
	struct standby_answer answer;
	struct hooks hooks; /* hooks that the standby ms-record placed; set by
			       standby_attach_prepare */
};

/* Reserves a process on standby for this recorder, until standby_attach_free. Returns 1 if the
 * process is reserved; 0 if it is not on standby; or -1 with `err` set if it cannot be recorded. A
 * process whose forked parent is on standby is refused, because it can only be recorded together
 * with its parent. */
int standby_attach_look(struct standby_attach *w, pid_t pid, const struct control_options *o,
			struct ms_err *err);
/* Creates the session of a reserved process, with output c->first, and puts it at the head of
 * c->sessions. Returns 0, or -1 with `err` set. */
int standby_attach_prepare(struct control *c, struct standby_attach *w, pid_t pid,
			   struct ms_err *err);
bool standby_attach_ended(const struct standby_attach *w);
/* Closes the connection; the holder then puts the process back on standby. */
void standby_attach_free(struct standby_attach *w);
