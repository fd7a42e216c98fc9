/* SPDX-License-Identifier: MIT
 * The handshake with guests, over an abstract socket with a random name.
 */
#ifndef HELLO_H
#define HELLO_H

#include <stdbool.h>

struct control;
struct ms_err;

/* Makes the socket. 0, or -1 with `err` set. */
int hello_listen(struct control *c, struct ms_err *err);
struct session;
/* Who is at the other end of a connection to it, and said hello: *pid. False = nobody to answer. */
bool hello_hear(const struct control *c, int fd, int *pid);
/* Answers with the session's memory; NULL = it is not recorded. False = it did not arrive. */
bool hello_welcome(int fd, const struct session *s);
/* The running session of a process, or NULL. */
struct session *hello_running(struct control *c, int pid);
/* `now` takes the place of `old` in the same process. */
void hello_succeed(struct control *c, struct session *old, const struct session *now);
/* Answers everyone who waits at the socket: a new image is recorded, or told to stay out. */
void hello_accept(struct control *c);

#endif
