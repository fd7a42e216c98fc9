/* SPDX-License-Identifier: MIT
 * Finds and reads control groups.
 */
#include "cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

#define ONE "/memory" /* folder of the controller in version 1 */
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

bool ms_cgroup_find(int proc, char path[MS_CGROUP_PATH])
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
			found = snprintf(path, MS_CGROUP_PATH, "%s%.*s", first ? ONE : "",
					 (int)(end - name - 1), name + 1) < (int)MS_CGROUP_PATH;
		if (first)
			break;
		end += *end == '\n';
	}
	size_t n = found ? strlen(path) : 0;
	if (n && path[n - 1] == '/')
		path[n - 1] = '\0';
	return found;
}

bool ms_cgroup_text(const struct ms_cgroup *g, const char *name, char *text, size_t room)
{
	char path[MS_CGROUP_PATH + 128];
	snprintf(path, sizeof path, "%s%s/%s", g->root, g->path, name);
	return ms_proc_text_at(g->at, path, text, room);
}

static uint64_t number(const struct ms_cgroup *g, const char *name)
{
	char text[64], *end;
	if (!ms_cgroup_text(g, name, text, sizeof text))
		return UINT64_MAX;
	unsigned long long v = strtoull(text, &end, 10);
	return end == text || v >= NO_LIMIT ? UINT64_MAX : v; /* "max" is no number */
}

void ms_cgroup_begin(struct ms_cgroup *g, int at, const char *root, const char *path)
{
	g->at = at;
	g->root = root;
	g->begun = false;
	g->one = strncmp(path, ONE, strlen(ONE)) == 0;
	snprintf(g->path, sizeof g->path, "%s", path);
}

bool ms_cgroup_next(struct ms_cgroup *g)
{
	char *top = g->path + (g->one ? strlen(ONE) : 0), *slash = strrchr(top, '/');
	if (g->begun && !*top)
		return false;
	if (g->begun)
		*(slash ? slash : top) = '\0';
	g->begun = true;
	g->bytes = number(g, g->one ? "memory.usage_in_bytes" : "memory.current");
	g->max = number(g, g->one ? "memory.limit_in_bytes" : "memory.max");
	g->high = g->one ? UINT64_MAX : number(g, "memory.high");
	return true;
}
