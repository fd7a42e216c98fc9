/* SPDX-License-Identifier: MIT
 * Packets between processes: sockets with an abstract name, not in the file system, and packets
 * that can pass an open file to another process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens a non-blocking listening socket. Returns -1 with errno set on failure. */
int packet_listen(const char *name, int backlog);
/* Connects to a listening socket. This call and later calls on the connection time out after
 * `patience_s` seconds. Returns -1 with errno set on failure. */
int packet_connect(const char *name, unsigned patience_s);

/* Sends `n` bytes over the connection `to`, with the file `fd` unless that is -1. Returns false
 * if not all was sent. Raises no signal. */
bool packet_send(int to, const void *bytes, size_t n, int fd);
/* Receives a packet of at most `n` bytes and the file sent with it: *fd, -1 = none. `flags` and
 * result are those of recvmsg(2). */
ssize_t packet_take(int from, void *bytes, size_t n, int flags, int *fd);
/* Tells whether the other end of a connection has been closed. */
bool packet_closed(int fd);
