/* SPDX-License-Identifier: MIT
 * The handshake with guests, over an abstract socket with a random name.
 */
#ifndef HELLO_H
#define HELLO_H

struct control;
struct ms_err;

/* Makes the socket. 0, or -1 with `err` set. */
int hello_listen(struct control *c, struct ms_err *err);
struct session;
/* The running session of a process, or NULL. */
struct session *hello_running(struct control *c, int pid);
/* `now` takes the place of `old` in the same process. */
void hello_succeed(struct control *c, struct session *old, const struct session *now);
/* Answers everyone who waits at the socket: a new image is recorded, or told to stay out. */
void hello_accept(struct control *c);

#endif
