/* SPDX-License-Identifier: MIT
 * The control group that accounts for a process's memory, and the groups around it (cgroups, version
 * 2 and 1; version 1 is used where it has the controller of memory).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_CGROUP_PATH 4096u
#define MS_CGROUP_ROOT "/sys/fs/cgroup"

/* Holds the figures of one group at a time: bytes; UINT64_MAX = not known, or no limit. */
struct ms_cgroup {
	uint64_t bytes, max, high; /* memory.current, memory.max, memory.high */
	int at;                    /* descriptor that `root` is relative to; not closed */
	const char *root;          /* folder of all groups; borrowed */
	bool one, begun;           /* one: version 1 */
	char path[MS_CGROUP_PATH]; /* of the group, below `root` */
};

/* Stores the path of a process's group below the folder of all groups; `proc`: its /proc/PID. Returns
 * false if that is not known. A group outside of our namespace has a path with "/..". */
bool ms_cgroup_find(int proc, char path[MS_CGROUP_PATH]);
/* Begins with the group `path`, copied; AT_FDCWD and MS_CGROUP_ROOT are those of this machine. */
void ms_cgroup_begin(struct ms_cgroup *g, int at, const char *root, const char *path);
/* Reads the figures of the group, with each further call those of the group around the last one.
 * Returns false when the topmost one was read. A group that cannot be seen has no figures: in a
 * container the path may be that of the machine. */
bool ms_cgroup_next(struct ms_cgroup *g);
/* Reads a file of the present group into `text`, terminated by a NUL. Returns false if there is
 * none. */
bool ms_cgroup_text(const struct ms_cgroup *g, const char *name, char *text, size_t room);
