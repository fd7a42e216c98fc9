/* SPDX-License-Identifier: MIT
 * When the live heap of a program that is being recorded will have reached a limit.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"
#include "libcommon/replay/replay_growth.h"
#include "format/trace.h"

/* Does the number of the trace name the program here too? In another name space it is another's. */
static bool is_it(int folder, const struct ms_recording *rec)
{
	char path[4096];
	const char *exe = rec->info.text[MS_INFO_EXE];
	ssize_t n = readlinkat(folder, "exe", path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0 && exe && strcmp(path, exe) == 0;
}

static const struct ms_trend *whole_trend(struct trace *t)
{
	const struct ms_growth *g = t->follow->rec->replay.growth;
	uint64_t key = g->every << 8 | g->count;
	if (t->whole_of != key) {
		t->whole = ms_growth_trend(g, UINT32_MAX);
		t->whole_of = key;
	}
	return &t->whole;
}

void trace_limits(struct trace *t)
{
	char path[48];
	const struct ms_recording *rec = t->follow->rec;
	bool live = t->follow->same_boot == 1 && rec->state == MS_TRACE_GROWING && !t->in_past &&
		    !rec->replay.sampled;
	t->forecast = (struct forecast){0};
	if (!live || whole_trend(t)->kind != MS_TREND_GROWING)
		return;
	snprintf(path, sizeof path, "/proc/%llu",
		 (unsigned long long)rec->info.number[MS_INFO_PID]);
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	if (is_it(folder, rec)) {
		struct limits l;
		limits_read(&l, folder);
		t->forecast = limits_forecast(&l, &t->whole);
	}
	close(folder);
}
