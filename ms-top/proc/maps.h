/* SPDX-License-Identifier: MIT
 * Lines of /proc/PID/maps, without taking memory; and which processes are being recorded.
 */
#ifndef TOP_MAPS_H
#define TOP_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `each` for every line, until it says false. `folder` is that of the process. False: it
 * cannot be read. */
bool maps_each(int folder, bool (*each)(void *arg, const char *line), void *arg);

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

#endif
