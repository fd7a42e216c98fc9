/* SPDX-License-Identifier: MIT
 * Limits of a process's memory, and when its growth reaches one.
 */
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history.h"
#include "ms-top/cells/words.h"
#include "libcommon/proc/proc.h"

#define FAR_S (365.25 * 86400)
#define NO_LIMIT (UINT64_C(1) << 60) /* values from here on mean "no limit" in cgroup v1 */

/* Reads a file that holds one number. */
static uint64_t number_at(int folder, const char *path)
{
	char text[32], *end;
	if (!ms_proc_text_at(folder, path, text, sizeof text))
		return SOURCE_UNKNOWN;
	uint64_t v = strtoull(text, &end, 10);
	return end == text ? SOURCE_UNKNOWN : v; /* "max" is not a number */
}

static uint64_t room_of(uint64_t max, uint64_t now)
{
	return max > now ? max - now : 0;
}

/* Reads the limits of a control group and its ancestors; the one with the least memory left
 * counts. */
static void read_groups(struct limits *l, int folder, const char *root, char *group,
			const char *max_name, const char *now_name)
{
	char path[1200];
	for (;;) {
		snprintf(path, sizeof path, "../../sys/fs/cgroup%s%s/%s", root, group, max_name);
		uint64_t max = number_at(folder, path);
		snprintf(path, sizeof path, "../../sys/fs/cgroup%s%s/%s", root, group, now_name);
		uint64_t now = max >= NO_LIMIT ? SOURCE_UNKNOWN : number_at(folder, path);
		if (now != SOURCE_UNKNOWN &&
		    (l->group_max == SOURCE_UNKNOWN ||
		     room_of(max, now) < room_of(l->group_max, l->group_now))) {
			l->group_max = max;
			l->group_now = now;
		}
		char *slash = strrchr(group, '/');
		if (!slash)
			return;
		*slash = 0;
	}
}

static void read_cgroup(struct limits *l, int folder)
{
	char text[4096];
	if (!ms_proc_text_at(folder, "cgroup", text, sizeof text))
		return;
	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		char *name = strchr(line, ':'), *group = name ? strchr(name + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		/* a group outside our namespace cannot be read */
		if (strncmp(group, "/..", 3) == 0 || strlen(group) > 1000)
			continue;
		if (strcmp(group, "/") == 0)
			*group = 0;
		if (!name[1])
			read_groups(l, folder, "", group, "memory.max", "memory.current");
		else if (strcmp(name + 1, "memory") == 0)
			read_groups(l, folder, "/memory", group, "memory.limit_in_bytes",
				    "memory.usage_in_bytes");
	}
}

static void read_space(struct limits *l, int folder)
{
	char text[4096];
	struct ms_proc_statm m;
	if (!ms_proc_text_at(folder, "limits", text, sizeof text))
		return;
	const char *line = strstr(text, "Max address space");
	line = line ? line + strlen("Max address space") : "";
	line += strspn(line, " ");
	char *end;
	uint64_t max = strtoull(line, &end, 10);
	if (end != line && ms_proc_text_at(folder, "statm", text, sizeof text) &&
	    ms_proc_parse_statm(text, (uint64_t)sysconf(_SC_PAGESIZE), &m)) {
		l->space_max = max;
		l->space_now = m.vsz;
	}
}

void limits_read(struct limits *l, int folder)
{
	char text[4096];
	*l = (struct limits)LIMITS_NONE;
	read_cgroup(l, folder);
	read_space(l, folder);
	text[0] = '\n';
	if (ms_proc_text_at(folder, "../meminfo", text + 1, sizeof text - 1))
		l->available = source_kib(text, "\nMemAvailable:");
}

/* ---- forecast ---- */

static void meet(struct forecast *f, const struct ms_trend *t, const char *what, const char *word,
		 uint64_t limit, uint64_t room)
{
	double seconds = (double)room / t->slope;
	if (limit == SOURCE_UNKNOWN || seconds > FAR_S || (f->what && f->seconds <= seconds))
		return;
	*f = (struct forecast){.what = what,
			       .word = word,
			       .limit = limit,
			       .seconds = seconds,
			       .soonest = t->high > 0 ? (double)room / t->high : seconds,
			       .latest = t->low > 0 ? (double)room / t->low : INFINITY};
}

struct forecast limits_forecast(const struct limits *l, const struct ms_trend *t)
{
	struct forecast f = {0};
	if (t->kind != MS_TREND_GROWING || t->confidence < HISTORY_SURE || !(t->slope > 0))
		return f;
	meet(&f, t, "reaches its cgroup's", "cgroup", l->group_max,
	     room_of(l->group_max, l->group_now));
	meet(&f, t, "reaches its RLIMIT_AS of", "address_space", l->space_max,
	     room_of(l->space_max, l->space_now));
	meet(&f, t, "uses up the available", "memory", l->available, l->available);
	return f;
}

const char *limits_words(const struct forecast *f)
{
	if (!f->what)
		return "";
	const char *from = words_time(f->soonest), *to = words_time(f->latest);
	const char *range = !(f->latest < FAR_S)    ? words_print(" (%s or later)", from)
			    : strcmp(from, to) != 0 ? words_print(" (%s to %s)", from, to)
						    : "";
	return words_print("%s %s in %s%s", f->what, words_size(f->limit), words_time(f->seconds),
			   range);
}
