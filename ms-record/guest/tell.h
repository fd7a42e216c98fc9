/* SPDX-License-Identifier: MIT
 * What is said to ms-record over its socket, by either backend.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

#define MG_NAME_BYTES 512u

struct mg_handshake_reply;

/* A call that may wait for ms-record, again when a stop of this process interrupted it: with a time
 * limit on the socket that happens without a signal handler, too (signal(7)). */
static inline long mg_wait_call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				uint64_t f)
{
	long r;
	do
		r = mg_syscall(nr, a, b, c, d, e, f);
	while (r == -EINTR);
	return r;
}

/* Connects to ms-record's socket; the descriptor, or -1. */
int mg_tell_connect(const char *socket);
/* Says what begins: `exec` is of enum mg_exec, `exe` the program. */
bool mg_tell_send(int fd, const char *exe, uint32_t exec);
/* Receives the answer; returns the session's descriptor, or -1. */
int mg_tell_receive(int fd, struct mg_handshake_reply *w);
/* Tells ms-record, at its `socket`, of a program that will make no handshake; `how`: enum mg_exec.
 * Waits until it knows. */
void mg_tell_exec(const char *socket, const char *path, uint32_t how);

/* Opens a file that may be executed; an error is < 0. */
long mg_open_program(const char *path);
/* Tells whether it is a program that will not load us. Of what is none, or cannot be read, that is
 * not known: false. */
bool mg_stays_out(const char *path);
/* Returns the name of a file, relative to an open folder of ours or AT_FDCWD, or with "" that file
 * itself, so that ms-record can use it, too; in `room` where it needs any. */
const char *mg_file_name(int32_t folder, const char *path, char room[MG_NAME_BYTES]);

/* Returns the base name of a module's path. */
const char *mg_base_name(const char *path);
bool mg_starts(const char *s, const char *prefix);
/* Puts text behind `at` characters of it, cut to fit. How many there are then. */
size_t mg_append(char *to, size_t size, size_t at, const char *from);
