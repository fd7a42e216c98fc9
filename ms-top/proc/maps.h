/* SPDX-License-Identifier: MIT
 * Lines of a file of /proc/PID, without taking memory; and which processes are being recorded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `each` for every line of the file, until it says false; a path that is longer than any
 * figure is left out. `folder` is that of the process. False, with errno set: it cannot be read, or
 * has nothing. */
bool lines_each(int folder, const char *name, bool (*each)(void *arg, const char *line), void *arg);

/* The memory that recorders share with the processes that they record, by inode: who maps one of
 * those is being recorded. */
#define RECORDINGS 64u
struct recordings {
	uint64_t v[RECORDINGS];
	size_t n;
};
/* Adds what the recorder, whose folder it is, has open; nothing when its recording has stopped. */
void recordings_add(struct recordings *r, int folder);
/* Does the process map one of them? */
bool recordings_have(const struct recordings *r, int folder);
