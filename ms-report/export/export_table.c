/* SPDX-License-Identifier: MIT
 * Finds the formats of other programs by name, lists them, and refuses unavailable ones.
 */
#include "export.h"

#include "ms-report/model/figures.h"
#include "ms-report/words/page.h"

#include <string.h>
#include <unistd.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

#define EXPORT_ROW(id, function, end, mark, flags, text, ...)                                      \
	{.name = id,                                                                               \
	 .write = export_##function,                                                               \
	 .file = {end, mark},                                                                      \
	 .traits = flags,                                                                          \
	 .help = text,                                                                             \
	 __VA_ARGS__},
static const struct export_kind kinds[] = {EXPORT_FORMATS(EXPORT_ROW)};

#define KINDS (sizeof kinds / sizeof *kinds)

const struct export_kind *export_find(const char *name, size_t n)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, name, n) == 0)
			return &kinds[i];
	return NULL;
}

const char *export_names(struct ms_arena *a, unsigned traits, const char *between)
{
	const char *all = NULL;
	for (size_t i = 0; i < KINDS; i++)
		if ((kinds[i].traits & traits) == traits)
			all = all ? ms_arena_printf(a, "%s%s%s", all, between, kinds[i].name)
				  : kinds[i].name;
	return all;
}

const char *export_list(struct ms_arena *a)
{
	const char *all = "";
	for (size_t i = 0; i < KINDS; i++)
		all = ms_arena_printf(a, "%s%-12s  %s\n", all, kinds[i].name, kinds[i].help);
	return all;
}

/* ---- figures that a format lacks ---- */

static bool has_moment(const struct model *m, const char *label)
{
	for (size_t i = 0; i < m->snapshots.n; i++)
		if (strcmp(m->snapshots.v[i].label, label) == 0)
			return true;
	return false;
}

static const char *say_at(struct model *m)
{
	static const struct style whole = {.full_names = true};
	return say_moment(m, &whole);
}

/* Returns the text shown if the snapshot lacks the peak, or NULL. A format with one figure needs
 * the text only if that figure may be the peak's. */
static const char *lacks_peak(struct model *m, const struct export_kind *kind, enum metric asked)
{
	bool one = kind->traits & EXPORT_ONE;
	if (has_moment(m, "peak") || (one && asked != METRIC_PEAK && asked != METRIC_COUNT))
		return NULL;
	const char *instead = kind->peakless ? kind->peakless
			      : one && asked == METRIC_COUNT
				      ? SAY("what is live at %s is shown instead", say_at(m))
				      : "figures of the peak are 0 or left out";
	return SAY("no moment 'peak' in the snapshot: %s", instead);
}

static const char *lacks_end(struct model *m, const struct export_kind *kind, enum metric asked)
{
	bool one = kind->traits & EXPORT_ONE;
	const char *instead = kind->endless ?: say_at(m);
	if (has_moment(m, "end") || !*instead || (one && asked != METRIC_LIVE))
		return NULL;
	return SAY("no moment 'end' in the snapshot: figures shown as live at the end, in use or "
		   "leaked are those at %s",
		   instead);
}

const char *export_lacks(struct model *m, const struct export_kind *kind, enum metric asked)
{
	if (!(kind->traits & EXPORT_MOMENTS) || m->proc_only || m->diff || !m->snapshots.n)
		return NULL;
	const char *peak = lacks_peak(m, kind, asked), *end = lacks_end(m, kind, asked);
	return peak && end ? SAY("%s; %s", peak, end) : peak ? peak : end;
}

/* ---- formats that are not available ---- */

#define EVENTS_MOST UINT64_C(10000000000)
static bool too_many(const struct model *m)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < m->sites.n; i++)
		sum = figure_add(sum, figure_or_0(m->sites.v[i].allocations));
	return sum > EVENTS_MOST || (figure_or_0(m->totals.allocations) > EVENTS_MOST);
}

const char *export_refuses(const struct page *p, const struct output *output)
{
	struct model *m = p->m;
	const char *name = output->name, *path = output->path;
	unsigned traits = output->export ? output->export->traits : 0;
	size_t n = path ? strlen(path) : 0;
	if ((traits & EXPORT_RUN) && m->diff)
		return SAY("--%s shows one run: for a comparison use --html or --export=folded",
			   name);
	if ((traits & EXPORT_RUN) && m->proc_only)
		return SAY("--%s shows a recording, not figures from /proc only: use --html", name);
	if ((traits & EXPORT_SITES) && m->proc_only)
		return "the snapshot has no allocations, only figures from /proc: use "
		       "--export=chrome-trace, "
		       "--json or --csv";
	if ((traits & EXPORT_BYTES) && !path && isatty(STDOUT_FILENO))
		return SAY("--%s is not for a terminal: name a file, such as --%s%cheap%s", name,
			   name, output->joint, output->file.ending);
	if ((traits & EXPORT_EVENTS) && too_many(m))
		return SAY("--%s writes a line for each allocation, of which there are more "
			   "than 10,000,000,000",
			   name);
	if ((traits & EXPORT_EVENTS) && n >= 4 && strcmp(path + n - 4, ".zst") == 0)
		return SAY("--%s cannot write zstd, which %s expects in a file named .zst: use .gz",
			   name, output->export->name);
	return NULL;
}
