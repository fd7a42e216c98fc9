/* SPDX-License-Identifier: MIT
 * Sums up the figures of a control group and the groups around it.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/proc/proc.h"

const char *const cgroup_event_names[CGROUP_EVENTS] = {"high", "max", "oom", "oom_kill"};

/* Adds the events of one group, which include those of the groups in it. */
static void add_events(const struct ms_cgroup *from, struct cgroup *g)
{
	char text[4096] = "\n";
	if (!ms_cgroup_text(from, from->one ? "memory.oom_control" : "memory.events", text + 1,
			    sizeof text - 1))
		return;
	for (int e = 0; e < CGROUP_EVENTS; e++) {
		char label[16];
		snprintf(label, sizeof label, "\n%s ", cgroup_event_names[e]);
		g->events[e] += ms_proc_status_number(text, label, 0);
	}
	if (from->one && ms_cgroup_text(from, "memory.failcnt", text, sizeof text))
		g->events[CGROUP_MAX] += strtoull(text, NULL, 10);
}

void cgroup_read(struct cgroup *g, const char *root)
{
	struct ms_cgroup one;
	g->bytes = g->limit = g->own_bytes = UINT64_MAX;
	memset(g->events, 0, sizeof g->events);
	ms_cgroup_begin(&one, AT_FDCWD, root, g->path);
	while (ms_cgroup_next(&one)) {
		uint64_t limit = one.high < one.max ? one.high : one.max;
		add_events(&one, g);
		if (one.bytes == UINT64_MAX)
			continue;
		g->own_bytes = g->own_bytes == UINT64_MAX ? one.bytes : g->own_bytes;
		bool nearer = (long double)one.bytes * (long double)g->limit >
			      (long double)g->bytes * (long double)limit;
		if (g->bytes == UINT64_MAX || nearer) {
			g->bytes = one.bytes;
			g->limit = limit;
		}
	}
}
