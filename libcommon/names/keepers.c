/* SPDX-License-Identifier: MIT
 * Names of keepers.
 */
#include "keepers.h"

#include "shorten.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/units.h"

#include <string.h>

enum { NAMED = 3 }; /* keepers that the name of a set has */

static bool is(const struct keeper *k, const char *kind)
{
	return strcmp(k->kind, kind) == 0;
}

/* Returns " of thread 'x'" or the like; "" if the thread is not known. */
static const char *of_thread(struct ms_arena *a, const struct keeper *k, const char *format)
{
	return k->thread ? ms_arena_printf(a, "%s'%s'", format, k->thread) : "";
}

const char *ms_keeper_name(struct ms_arena *a, const struct keeper *k, bool full_names)
{
	char size[MS_UNIT_BUF];
	bool frame = is(k, "frame"), local = is(k, "thread_local"), variable = is(k, "variable");
	/* a variable may be of a function, whose "()" tell so: "Bus::instance()::bus" */
	bool brief =
		k->name && !full_names && (frame || ((local || variable) && strchr(k->name, '<')));
	const char *name = brief ? ms_name_short(a, k->name) : k->name;
	if (variable)
		return ms_arena_printf(a, "global %s", name ?: "(unknown)");
	if (is(k, "shared"))
		return ms_arena_printf(a, "shared by %s", name);
	if (frame || local)
		return ms_arena_printf(a, "%s%s%s%s", of_thread(a, k, "thread "),
				       k->thread ? ", " : "",
				       local  ? "thread_local "
				       : name ? "frame "
					      : "stack",
				       name    ? name
				       : local ? "(unknown)"
					       : "");
	if (is(k, "registers") || is(k, "control"))
		return ms_arena_printf(a, "%s%s",
				       is(k, "control") ? "the C library's data" : "registers",
				       of_thread(a, k, " of thread "));
	if (is(k, "mapping") && !name)
		return k->size == UINT64_MAX
			       ? "mapping"
			       : ms_arena_printf(a, "mapping of %s", ms_format_size(size, k->size));
	if (is(k, "other") && !name)
		return "memory of unknown kind";
	return name ?: *k->kind ? k->kind : "(unknown)";
}

/* Returns the name of a keeper in a list of several. */
static const char *listed(struct ms_arena *a, const struct keeper *x)
{
	return ms_arena_printf(a, "%s%s", x->name ?: x->kind, of_thread(a, x, " of thread "));
}

const char *ms_keeper_set_name(struct ms_arena *a, const struct keeper_set *set)
{
	const char *s = "";
	size_t more = set->n > NAMED ? set->n - NAMED : 0;
	for (size_t i = 0; i + more < set->n; i++)
		s = ms_arena_printf(a, "%s%s%s", s, i ? " + " : "", listed(a, set->v[i]));
	if (set->others && !more)
		return ms_arena_printf(a, "%s%sothers", s, *s ? " + " : "");
	return !more ? s
		     : ms_arena_printf(a, "%s + %s%zu more", s, set->others ? "at least " : "",
				       more + set->others);
}

const char *ms_keeper_moment(struct ms_arena *a, const char *label, uint64_t time_ns)
{
	char time[MS_UNIT_BUF];
	if (strcmp(label, "end") == 0)
		return "as of the end";
	const char *what = strcmp(label, "request") == 0 ? "as of a scan"
			   : strcmp(label, "exit") == 0  ? "as of exit"
			   : strncmp(label, "mark:", 5) == 0
				   ? ms_arena_printf(a, "as of mark %s", label + 5)
				   : ms_arena_printf(a, "as of scan %s", label);
	return time_ns == UINT64_MAX
		       ? what
		       : ms_arena_printf(a, "%s at %s", what, ms_format_duration(time, time_ns));
}

const char *ms_keeper_unknown(const char *state)
{
	static const char *const words[][2] = {
		{"memory", "the scan needed more memory than ms-record --retention=memory allows"},
		{"time", "the scan would have taken longer than a minute, or than ms-record "
			 "--leak-check allows"},
		{"unreadable", "some of the program's memory could not be read"},
		{"threads", "the program's threads could not be stopped"},
		{"lost", "events were lost"},
		{"sampled", "only a sample of the blocks was recorded"},
		{"killed",
		 "the program was killed, or ended without calling exit(), before it was scanned"},
		{"ended", "the program ended before the scan was done"},
		{"stopped", "recording was stopped before the program ended"},
		{"files", "the recorder ran out of file descriptors"},
		{"damaged", "the scan's data in the trace is incomplete"},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(state, words[i][0]) == 0)
			return words[i][1];
	return "the scan failed";
}
