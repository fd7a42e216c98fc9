/* SPDX-License-Identifier: MIT
 * Packets between processes: sockets with a name that is no file's, and packets with an open file,
 * for whom is to have it too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One that listens, and never waits. -1 with errno set. */
int packet_listen(const char *name, int backlog);
/* A connection to who listens there, which waits for so many seconds at most. -1 with errno set. */
int packet_connect(const char *name, unsigned patience_s);

/* Sends the `n` bytes over the connection `to`, and the file `fd` with them unless that is -1.
 * False = not all of it was taken. Raises no signal. */
bool packet_send(int to, const void *bytes, size_t n, int fd);
/* Takes such a message of at most `n` bytes, and the file that came with it: *fd, -1 = none.
 * `flags` and result as of recvmsg(2). */
ssize_t packet_take(int from, void *bytes, size_t n, int flags, int *fd);
