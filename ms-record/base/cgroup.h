/* SPDX-License-Identifier: MIT
 * Figures of a process's control group, and of the groups around it, as conditions need them.
 */
#pragma once

#include <stdint.h>

#include "libcommon/proc/cgroup.h"

/* Counts of memory.events. Version 1 has only max and oom_kill. */
enum cgroup_event { CGROUP_HIGH, CGROUP_MAX, CGROUP_OOM, CGROUP_OOM_KILL, CGROUP_EVENTS };
extern const char *const cgroup_event_names[CGROUP_EVENTS];

struct cgroup {
	char *path; /* see ms_cgroup_find */
	/* bytes, limit: of the group itself, or of a group around it that is nearer to its limit;
	 * bytes: UINT64_MAX = not known. limit: memory.max or memory.high, whichever is smaller;
	 * UINT64_MAX = there is none */
	uint64_t bytes, limit;
	uint64_t own_bytes; /* bytes of the lowest group that has them; UINT64_MAX = not known */
	uint64_t events[CGROUP_EVENTS];
	uint64_t read_ns; /* for the caller: time of the last read */
};

/* Reads the figures of the group `path` below `root` (normally MS_CGROUP_ROOT), and of the groups
 * around it. */
void cgroup_read(struct cgroup *g, const char *root);
