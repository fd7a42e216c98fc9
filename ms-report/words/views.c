/* SPDX-License-Identifier: MIT
 * The views of the run as a whole: summary, timeline, modules.
 */
#include "table.h"

#include "ms-report/model/curve.h"

#include <string.h>

/* ---- summary --------------------------------------------------------------------------------- */

static const struct column summary_columns[] = {
	{"figure", NULL, CELL_TEXT, .sum = false}, {NULL, "figure", CELL_TEXT, .sum = false},
	{"value", NULL, CELL_TEXT, .sum = false},  {NULL, "value", CELL_ID, .sum = false},
	{NULL, "unit", CELL_TEXT, .sum = false},
};

/* Returns the words for a figure's name, which CSV and JSON keep. */
static const char *shown(const char *name)
{
	static const char *const words[][2] = {
		{"gone by exec", "discarded by exec"},
		{"blocks gone by exec", "blocks discarded by exec"},
		{"images replaced by exec", "programs replaced by exec"},
		{"stacks whose callers were not found", "stacks truncated, callers not found"},
		{"usable at the peak", "usable size at the peak"},
		{"usable at the end", "usable size at the end"},
		{"most mapped", "peak mapped"},
		{"most mapped at", "time of peak mapped"},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(name, words[i][0]) == 0)
			return words[i][1];
	return name;
}

static void figure(struct model *m, struct row *r, const char *name, const char *unit, uint64_t v,
		   enum est_figure f)
{
	const struct ms_spread *e = f == EST_COUNT ? NULL : est_of(m->est, f);
	r->cells[0].s = shown(name);
	r->cells[1].s = name;
	r->cells[2].s = strcmp(unit, "yes") == 0     ? (v ? "yes" : "no")
			: strcmp(unit, "bytes") == 0 ? est_size(m, v, e)
			: strcmp(unit, "ns") == 0    ? say_time(m, v)
						     : est_count(m, v, e);
	r->cells[3].n = v;
	r->cells[3].e = e;
	r->cells[4].s = unit;
}

struct table table_summary(struct model *m)
{
	const struct totals *s = &m->totals;
	const struct quality *q = &m->quality;
	const struct {
		const char *name, *unit;
		uint64_t v;
		enum est_figure f;
	} figures[] = {
		{"processes", "", m->processes.n, EST_COUNT},
		{"duration", "ns", m->duration_ns, EST_COUNT},
		{"allocations", "", s->allocations, EST_ALLOCATIONS},
		{"allocated", "bytes", s->allocated_bytes, EST_ALLOCATED},
		{"frees", "", s->frees, EST_FREES},
		{"reallocations", "", s->reallocations, EST_COUNT},
		{"failed allocations", "", s->failed_allocations, EST_COUNT},
		{"temporary allocations", "", s->temporary_allocations, EST_COUNT},
		{"peak", "bytes", s->peak_bytes, EST_PEAK},
		{"peak blocks", "", s->peak_blocks, EST_PEAK_BLOCKS},
		{"peak time", "ns", s->peak_time_ns, EST_COUNT},
		{"unfreed", "bytes", s->unfreed_bytes, EST_END},
		{"unfreed blocks", "", s->unfreed_blocks, EST_END_BLOCKS},
		{"gone by exec", "bytes", s->exec_bytes, EST_COUNT},
		{"blocks gone by exec", "", s->exec_blocks, EST_COUNT},
		{"images replaced by exec", "", m->images, EST_COUNT},
		{"peak RSS", "bytes", s->peak_rss_bytes, EST_COUNT},
		{"RSS at the end", "bytes", s->end_rss_bytes, EST_COUNT},
		{"sites", "", m->sites.n, EST_COUNT},
		{"sites hidden by filters", "", m->hidden.sites, EST_COUNT},
		{"threads", "", model_thread_count(m), EST_COUNT},
		{"complete", "yes", q->complete, EST_COUNT},
		{"events lost", "", q->events_lost, EST_COUNT},
		{"stacks cut", "", q->stacks_cut, EST_COUNT},
		{"stacks whose callers were not found", "", q->stacks_truncated, EST_COUNT},
		{"frames without symbol", "", q->frames_without_symbol, EST_COUNT},
		{"usable at the peak", "bytes", s->peak_usable_bytes, EST_COUNT},
		{"usable at the end", "bytes", s->unfreed_usable_bytes, EST_COUNT},
		{"mapped in all", "bytes", s->mapped_bytes, EST_COUNT},
		{"calls that mapped", "", s->maps, EST_COUNT},
		{"calls that unmapped", "", s->unmaps, EST_COUNT},
		{"most mapped", "bytes", s->mapped_peak_bytes, EST_COUNT},
		{"most mapped at", "ns", s->mapped_peak_time_ns, EST_COUNT},
		{"mapped at the end", "bytes", s->mapped_end_bytes, EST_COUNT},
	};
	enum { ALWAYS = 26 }; /* rows always shown; later ones only if recorded */
	struct table t = TABLE_OF(summary_columns);
	size_t n = sizeof figures / sizeof *figures;
	for (size_t i = 0; i < n; i++)
		if (i < ALWAYS || figures[i].v != UNKNOWN)
			figure(m, table_row(m, &t), figures[i].name, figures[i].unit, figures[i].v,
			       figures[i].f);
	return t;
}

/* ---- timeline -------------------------------------------------------------------------------- */

static const struct column timeline_columns[] = {
	{"up to", "to_ns", CELL_TIME, COLUMN_OF(span, to_ns)},
	{NULL, "from_ns", CELL_TIME, COLUMN_OF(span, from_ns)},
	{"live max", "live_max", CELL_SIZE, COLUMN_OF(span, live_max),
	 COLUMN_ALL(totals.peak_bytes)},
	{NULL, "live_min", CELL_SIZE, COLUMN_OF(span, live_min)},
	{"live", "live_bytes", CELL_SIZE, COLUMN_OF(span, live_last),
	 COLUMN_ALL(totals.unfreed_bytes)},
	{"blocks", "live_blocks", CELL_COUNT, COLUMN_OF(span, blocks_last),
	 COLUMN_ALL(totals.unfreed_blocks), .optional = true},
	{"RSS", "rss_bytes", CELL_SIZE, COLUMN_OF(span, rss)},
	{"allocations", "allocations", CELL_COUNT, .sum = true, COLUMN_OF(span, allocations),
	 COLUMN_ALL(totals.allocations)},
	{"frees", "frees", CELL_COUNT, .sum = true, COLUMN_OF(span, frees),
	 COLUMN_ALL(totals.frees), .optional = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, COLUMN_OF(span, allocated_bytes),
	 COLUMN_ALL(totals.allocated_bytes), .optional = true},
};
enum { SPAN_MAX = 2, SPAN_MIN = 3, SPAN_LIVE = 4 };

struct table table_timeline(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(timeline_columns, .title = table_unfiltered(m, "TIMELINE"),
				  .empty = "no timeline in this snapshot");
	struct span *s;
	size_t n = curve_make(m, limit, &s);
	for (size_t i = 0; i < n; i++) {
		struct cell *c = table_row(m, &t)->cells;
		table_take(&t, c, &s[i]);
		if (!s[i].estimated)
			continue;
		c[SPAN_LIVE].limits = s[i].live_limits;
		c[SPAN_MAX].n = c[SPAN_MIN].n = UNKNOWN; /* extremes of estimates are biased */
	}
	table_finish(m, &t, -1, SIZE_MAX, "span", TOTAL_OF_RUN);
	if (m->est && n)
		t.rows[t.n - 1].cells[SPAN_MAX].n = UNKNOWN;
	return t;
}

/* ---- modules --------------------------------------------------------------------------------- */

static const struct column module_columns[] = {
	{"symbols", "symbols", CELL_TEXT, .sum = false},
	{"frames", "frames", CELL_COUNT, .sum = true, COLUMN_OF(module, frames)},
	{"no name", "nameless", CELL_COUNT, .sum = true, COLUMN_OF(module, nameless)},
	{"no line", "lineless", CELL_COUNT, .sum = true, COLUMN_OF(module, lineless)},
	{"module", "path", CELL_PATH, .sum = false},
	{"build-id", "build_id", CELL_TEXT, .sum = false, .optional = true},
	{NULL, "kind", CELL_TEXT, .sum = false},
	{NULL, "process", CELL_ID, .sum = false},
};

static const char *symbols_words(const char *s)
{
	static const char *const words[][2] = {
		{"dwarf", "functions, files, lines"},
		{"elf", "functions only"},
		{"none", "NONE found"},
		{"missing", "NONE: file not found"},
		{"mismatch", "NONE: another build"},
		{"damaged", "DAMAGED"},
		{"partial", "PARTIAL: .dwo or dwz file missing"},
		{"refused", "REFUSED: debug file of another build"},
	};
	for (size_t i = 0; s && i < sizeof words / sizeof *words; i++)
		if (strcmp(s, words[i][0]) == 0)
			return words[i][1];
	return s ? s : "not looked at";
}

struct table table_modules(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(module_columns, .title = "MODULES and the symbols found for them",
				  .empty = "no modules in this snapshot");
	for (size_t i = 0; i < m->modules.n; i++) {
		const struct module *o = &m->modules.v[i];
		if (o->kind && !strcmp(o->kind, "heap"))
			continue; /* skipped: a custom heap is not a module, only a name for call
				     stacks */
		struct cell *c = table_row(m, &t)->cells;
		c[0].s = symbols_words(o->symbols);
		table_take(&t, c, o);
		c[4].s = o->path ? o->path : "(no file)";
		c[5].s = o->build_id;
		c[6].s = o->kind;
		c[7].n = o->process == NONE ? UNKNOWN : (uint64_t)m->processes.v[o->process].id;
	}
	table_finish(m, &t, -1, limit, "module", TOTAL_NONE);
	return t;
}
