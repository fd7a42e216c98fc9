/* SPDX-License-Identifier: MIT
 * The handshake with guests, over an abstract socket with a random name.
 */
#pragma once

#include <stdbool.h>

#include <stdint.h>

struct control;
struct ms_err;
struct output;

/* Makes the socket. 0, or -1 with `err` set. */
int handshake_listen(struct control *c, struct ms_err *err);
struct session;
/* Receives a request, and whose it is: *pid. False = nobody to answer. */
bool handshake_receive(const struct control *c, int fd, int *pid);
/* Answers with the session's memory; NULL = it is not recorded. False = it did not arrive. */
bool handshake_reply(int fd, const struct session *s);
/* The running session of a process, or NULL. */
struct session *handshake_running_session(struct control *c, int pid);
/* `now` takes the place of `old` in the same process. */
void handshake_replace(struct control *c, struct session *old, const struct session *now);
/* The trace of a process that becomes another program, and whose image that was: *old (NULL: of
 * none that is recorded), *parent as in struct session. NULL with `err` set: there can be none. */
struct output *handshake_trace_for(struct control *c, int pid, struct session **old,
				   uint32_t *parent, struct ms_err *err);
/* Is the program wanted that the process has become? */
bool handshake_wanted(struct control *c, int pid);
/* One that is wanted cannot be recorded, for that reason. */
void handshake_missed(struct control *c, int pid, const char *why);
/* Answers everyone who waits at the socket: a new image is recorded, or told to stay out. */
void handshake_accept(struct control *c);
