/* SPDX-License-Identifier: MIT
 * Reads lines of a file of /proc/PID without allocating memory, and finds processes that are being
 * recorded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `each` for every line of the file until it returns false. Very long paths are shortened.
 * `folder` is the process's folder. False with errno set = the file cannot be read, or is empty. */
bool lines_each(int folder, const char *name, bool (*each)(void *arg, const char *line), void *arg);

/* Lists the inodes of memory that recorders share with the processes that they record: a process
 * that maps one of them is being recorded. */
#define RECORDINGS 64u
struct recordings {
	uint64_t v[RECORDINGS];
	size_t n;
};
/* Adds the shared memory that a recorder has open; nothing if its recording has stopped. `folder`:
 * the recorder's folder in /proc. */
void recordings_add(struct recordings *r, int folder);
/* Tells whether the process maps the shared memory of one of the recordings. */
bool recordings_have(const struct recordings *r, int folder);
