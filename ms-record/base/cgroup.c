/* SPDX-License-Identifier: MIT
 * Reads figures of control groups. Version 1 is used where it has the controller of memory.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/proc/proc.h"

const char *const cgroup_event_names[CGROUP_EVENTS] = {"high", "max", "oom", "oom_kill"};

/* Limits of version 1 that are larger are its way of saying that there is none. */
#define NO_LIMIT (UINT64_C(1) << 60)

/* Tells whether the comma-separated list of `n` bytes has the controller of memory. */
static bool has_memory(const char *list, size_t n)
{
	for (const char *end = list + n; list < end; list += strcspn(list, ",:") + 1)
		if (strcspn(list, ",:") == 6 && strncmp(list, "memory", 6) == 0)
			return true;
	return false;
}

bool cgroup_find(int proc, char path[CGROUP_PATH])
{
	char text[8192];
	bool found = false;
	if (!ms_proc_text_at(proc, "cgroup", text, sizeof text))
		return false;
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		char *list = strchr(line, ':'), *name = list ? strchr(list + 1, ':') : NULL;
		if (!name || name >= end)
			break;
		bool first = has_memory(list + 1, (size_t)(name - list - 1));
		if (first || (!found && name == list + 1))
			found = snprintf(path, CGROUP_PATH, "%s%.*s", first ? "/memory" : "",
					 (int)(end - name - 1), name + 1) < (int)CGROUP_PATH;
		if (first)
			break;
		end += *end == '\n';
	}
	/* A group outside of our namespace has a path with "..": the top is what we can see. */
	char *up = found ? strstr(path, "/..") : NULL;
	if (up)
		*up = '\0';
	size_t n = found ? strlen(path) : 0;
	if (n && path[n - 1] == '/')
		path[n - 1] = '\0';
	return found;
}

/* Reads a number from one of two files, by their names in version 2 and 1. UINT64_MAX = none. */
static uint64_t number(int folder, const char *name, const char *other)
{
	char text[64], *end;
	if (!ms_proc_text_at(folder, name, text, sizeof text) &&
	    (!other || !ms_proc_text_at(folder, other, text, sizeof text)))
		return UINT64_MAX;
	unsigned long long v = strtoull(text, &end, 10);
	return end == text || v >= NO_LIMIT ? UINT64_MAX : v;
}

/* Adds the events of one group, which include those of the groups in it. */
static void add_events(int folder, struct cgroup *g)
{
	char text[4096] = "\n";
	if (!ms_proc_text_at(folder, "memory.events", text + 1, sizeof text - 1) &&
	    !ms_proc_text_at(folder, "memory.oom_control", text + 1, sizeof text - 1))
		return;
	for (int e = 0; e < CGROUP_EVENTS; e++) {
		char label[16];
		snprintf(label, sizeof label, "\n%s ", cgroup_event_names[e]);
		g->events[e] += ms_proc_status_number(text, label, 0);
	}
	uint64_t failed = number(folder, "memory.failcnt", NULL);
	g->events[CGROUP_MAX] += failed == UINT64_MAX ? 0 : failed;
}

static void read_one(int folder, struct cgroup *g, bool own)
{
	uint64_t bytes = number(folder, "memory.current", "memory.usage_in_bytes");
	uint64_t limit = number(folder, "memory.max", "memory.limit_in_bytes");
	uint64_t high = number(folder, "memory.high", NULL);
	limit = high < limit ? high : limit;
	if (own)
		g->own_bytes = bytes;
	add_events(folder, g);
	if (bytes == UINT64_MAX)
		return;
	bool nearer = (long double)bytes * (long double)g->limit >
		      (long double)g->bytes * (long double)limit;
	if (g->bytes == UINT64_MAX || nearer) {
		g->bytes = bytes;
		g->limit = limit;
	}
}

void cgroup_read(struct cgroup *g, const char *root)
{
	char path[CGROUP_PATH + 64];
	size_t least = strlen(root) + (strncmp(g->path, "/memory", 7) == 0 ? 7 : 0);
	g->bytes = g->limit = g->own_bytes = UINT64_MAX;
	memset(g->events, 0, sizeof g->events);
	snprintf(path, sizeof path, "%s%s", root, g->path);
	/* In a container, the path may be that of the machine: then the top is the group. */
	if (access(path, F_OK))
		path[least] = '\0';
	for (bool own = true;; own = false) {
		int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0) {
			read_one(folder, g, own);
			close(folder);
		}
		char *slash = strrchr(path, '/');
		if (strlen(path) <= least)
			return;
		*(slash < path + least ? path + least : slash) = '\0';
	}
}
