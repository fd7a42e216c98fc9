/* SPDX-License-Identifier: MIT
 * Figures of a process's control group (cgroups, version 2 and 1).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_PATH 4096u

/* Counts of memory.events. Version 1 has only max and oom_kill. */
enum cgroup_event { CGROUP_HIGH, CGROUP_MAX, CGROUP_OOM, CGROUP_OOM_KILL, CGROUP_EVENTS };
extern const char *const cgroup_event_names[CGROUP_EVENTS];

struct cgroup {
	char *path; /* folder below /sys/fs/cgroup */
	/* bytes, limit: of the group itself, or of a group around it that is nearer to its limit;
	 * bytes: UINT64_MAX = not known. limit: memory.max or memory.high, whichever is smaller;
	 * UINT64_MAX = there is none */
	uint64_t bytes, limit;
	uint64_t own_bytes; /* bytes of the group itself; UINT64_MAX = not known */
	uint64_t events[CGROUP_EVENTS];
	uint64_t read_ns; /* for the caller: time of the last read */
};

/* Stores the folder that accounts for the memory of a process; `proc`: its /proc/PID. Returns
 * false if that is not known. */
bool cgroup_find(int proc, char path[CGROUP_PATH]);
/* Reads the figures of the group `path` below `root` (normally CGROUP_ROOT), and of the groups
 * around it. */
void cgroup_read(struct cgroup *g, const char *root);
#define CGROUP_ROOT "/sys/fs/cgroup"
