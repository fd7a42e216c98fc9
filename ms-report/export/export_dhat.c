/* SPDX-License-Identifier: MIT
 * Writes the JSON of Valgrind's DHAT, version 2, for dh_view.html and the Firefox Profiler.
 */
#include "export.h"

#include "libcommon/base/json_writer.h"

#include <stdlib.h>

/* Lifetime in ns below which blocks are called short-lived. */
#define SHORT_NS UINT64_C(10000)

/* Lists the figures of an allocation site, in the order in which they are written. */
enum {
	TOTAL,
	TOTAL_BLOCKS,
	LIFETIMES,
	MAX,
	MAX_BLOCKS,
	GLOBAL,
	GLOBAL_BLOCKS,
	END,
	END_BLOCKS,
	FIGURES
};
static const char *const keys[FIGURES] = {"tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"};

struct dhat {
	struct export *x;
	struct ms_json j;
	uint64_t (*points)[FIGURES]; /* figures by node of x->stacks */
	size_t point_count;
};

static void put_frame(struct export *x, const struct place *p, struct out *o)
{
	struct ms_json j = out_json(o);
	ms_json_string(&j, NULL, export_frame_text(x, p));
}

/* Returns the maximum `v`; if it is not known, the larger value of peak and end. */
static uint64_t most(uint64_t v, uint64_t a, uint64_t b)
{
	return v != UNKNOWN ? v : a > b ? a : b;
}

static void add_row(struct dhat *d, const struct export_row *r)
{
	const struct site *s = r->site;
	const uint64_t *v = r->v;
	const uint64_t figures[FIGURES] = {
		v[EXPORT_ALLOCATED],
		v[EXPORT_ALLOCATIONS],
		s ? figure_or_0(s->lifetime_ns) : 0,
		most(s ? s->max_live_bytes : UNKNOWN, v[EXPORT_PEAK], v[EXPORT_LIVE]),
		most(s ? s->max_live_blocks : UNKNOWN, v[EXPORT_PEAK_BLOCKS],
		     v[EXPORT_LIVE_BLOCKS]),
		v[EXPORT_PEAK],
		v[EXPORT_PEAK_BLOCKS],
		v[EXPORT_LIVE],
		v[EXPORT_LIVE_BLOCKS]};
	uint32_t at = export_stack(d->x, false, put_frame);
	d->points = ms_xgrow(d->points, &d->point_count, d->x->stacks.n, sizeof *d->points);
	for (int i = 0; i < FIGURES; i++)
		d->points[at][i] = figure_add(d->points[at][i], figures[i]);
}

static void put_point(struct dhat *d, uint32_t node)
{
	ms_json_open(&d->j, NULL, '{');
	for (int i = 0; i < FIGURES; i++)
		ms_json_number(&d->j, keys[i], d->points[node][i]);
	ms_json_open(&d->j, "fs", '[');
	for (uint32_t i = node; i; i = d->x->stacks.v[i].parent)
		ms_json_number(&d->j, NULL, d->x->stacks.v[i].key);
	ms_json_format(&d->j, "]}");
}

static bool any(const uint64_t *v)
{
	for (int i = 0; i < FIGURES; i++)
		if (v[i])
			return true;
	return false;
}

/* Writes the header. The mode, its only free text, describes the recording. */
static void put_head(struct dhat *d)
{
	struct export *x = d->x;
	const struct process *p = &x->m->processes.v[0];
	ms_json_format(&d->j,
		       "{dhatFileVersion:%lu mode:%s verb:%s bklt:%d bkacc:%d tu:%s Mtu:%s tuth:%lu"
		       " cmd:%s pid:%lu tg:%lu te:%lu pps:[",
		       UINT64_C(2), export_joined(x, "heap", 0), "Allocated", true, false, "ns",
		       "ms", SHORT_NS, x->command, figure_or_0(p->pid),
		       figure_or_0(x->m->totals.peak_time_ns), x->m->duration_ns);
}

void export_dhat(struct export *x, struct out *o)
{
	struct dhat d = {.x = x, .j = out_json(o)};
	string_number(&x->texts, "\"[root]\"", NULL);
	for (const struct export_row *r = NULL; (r = export_next(x, r, EXPORT_FIGURES));)
		add_row(&d, r);
	put_head(&d);
	for (uint32_t i = 1; i < x->stacks.n; i++)
		if (any(d.points[i]))
			put_point(&d, i);
	ms_json_close(&d.j, ']');
	export_text_array(x, &d.j, "ftbl");
	ms_json_close(&d.j, '}');
	out_char(o, '\n');
	free(d.points);
}
