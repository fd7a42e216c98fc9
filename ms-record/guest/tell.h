/* SPDX-License-Identifier: MIT
 * Declares the messages to ms-record over its socket, which both backends send.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

#define MG_NAME_BYTES 512u

struct mg_handshake_reply;

/* Makes a system call that may wait for ms-record, and repeats it if a stop of this process
 * interrupted it: with a timeout on the socket, that happens without a signal handler too
 * (signal(7)). */
static inline long mg_wait_call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				uint64_t f)
{
	long r;
	do
		r = mg_syscall(nr, a, b, c, d, e, f);
	while (r == -EINTR);
	return r;
}

/* Connects to ms-record's socket. Returns the descriptor, or -1. */
int mg_tell_connect(const char *socket);
/* Sends a mg_handshake for the program `exe`; `exec`: enum mg_exec. Returns false if it could not
 * be sent. */
bool mg_tell_send(int fd, const char *exe, uint32_t exec);
/* Receives the answer. Returns the session memory's descriptor, or -1. */
int mg_tell_receive(int fd, struct mg_handshake_reply *w);
/* Reports to ms-record, over `socket`, a program that will make no handshake; `how`: enum
 * mg_exec. Waits until ms-record has answered. */
void mg_tell_exec(const char *socket, const char *path, uint32_t how);

/* Opens an executable file. Returns its descriptor; < 0: the kernel's error. */
long mg_open_program(const char *path);
/* Tells whether `path` is a program that will not load the guest. False also if that is unknown:
 * the file is not a program, or cannot be read. */
bool mg_stays_out(const char *path);
/* Returns a name by which ms-record can open a file too. `path` is relative to the open folder
 * `folder` or AT_FDCWD; "" = `folder` is the file itself. The name is built in `room` if needed. */
const char *mg_file_name(int32_t folder, const char *path, char room[MG_NAME_BYTES]);

/* Returns the base name of a module's path. */
const char *mg_base_name(const char *path);
bool mg_starts(const char *s, const char *prefix);
/* Appends `from` after the first `at` characters of `to`, truncated to fit into `size` bytes.
 * Returns the new length. */
size_t mg_append(char *to, size_t size, size_t at, const char *from);
