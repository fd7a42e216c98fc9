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
#include "libcommon/proc/cgroup.h"
#include "libcommon/proc/proc.h"

#define FAR_S (365.25 * 86400)

static uint64_t room_of(uint64_t max, uint64_t now)
{
	return max > now ? max - now : 0;
}

/* Reads the limits of the control group and those around it; the one with the least memory left
 * counts. */
static void read_cgroup(struct limits *l, int folder)
{
	char path[MS_CGROUP_PATH];
	struct ms_cgroup g;
	/* a group outside our namespace cannot be read */
	if (!ms_cgroup_find(folder, path) || strstr(path, "/.."))
		return;
	ms_cgroup_begin(&g, folder, "../../sys/fs/cgroup", path);
	while (ms_cgroup_next(&g))
		if (g.max != SOURCE_UNKNOWN && g.bytes != SOURCE_UNKNOWN &&
		    (l->group_max == SOURCE_UNKNOWN ||
		     room_of(g.max, g.bytes) < room_of(l->group_max, l->group_now))) {
			l->group_max = g.max;
			l->group_now = g.bytes;
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
