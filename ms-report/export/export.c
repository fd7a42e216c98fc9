/* SPDX-License-Identifier: MIT
 * Parts shared by the formats of other programs: rows of figures with call stacks, names without
 * harmful characters, and notes on the quality of the recording.
 */
#include "export.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/figures.h"
#include "ms-report/words/page.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/json_writer.h"
#include "libcommon/base/order.h"

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static const struct style whole = {.full_names = true};

const enum export_figure export_order[EXPORT_FIGURES] = {
	EXPORT_LIVE,      EXPORT_LIVE_BLOCKS, EXPORT_PEAK,     EXPORT_PEAK_BLOCKS,
	EXPORT_ALLOCATED, EXPORT_ALLOCATIONS, EXPORT_TEMPORARY};

enum export_figure export_figure_of(enum metric metric)
{
	static const enum export_figure of[METRIC_COUNT] = {
		EXPORT_LIVE,      EXPORT_PEAK,    EXPORT_ALLOCATED, EXPORT_ALLOCATIONS,
		EXPORT_TEMPORARY, EXPORT_FIGURES, EXPORT_FIGURES};
	return metric < METRIC_COUNT ? of[metric] : EXPORT_FIGURES;
}

int export_diff_figure(enum export_figure f)
{
	static const int of[EXPORT_FIGURES] = {DIFF_ALLOCATIONS, DIFF_ALLOCATED,   DIFF_LIVE_BLOCKS,
					       DIFF_LIVE,        DIFF_PEAK_BLOCKS, DIFF_PEAK,
					       DIFF_TEMPORARY};
	return f < EXPORT_FIGURES ? of[f] : -1;
}

const char *export_title(struct model *m, enum export_figure f)
{
	static const char *const titles[EXPORT_FIGURES] = {
		"allocations",          "bytes allocated",         "blocks live at ",
		"bytes live at ",       "blocks live at the peak", "bytes live at the peak",
		"temporary allocations"};
	bool live = f == EXPORT_LIVE || f == EXPORT_LIVE_BLOCKS;
	return live ? SAY("%s%s", titles[f], say_moment(m, &whole)) : titles[f];
}

/* ---- places: of frames, then of processes, then of rows without a site ---- */

enum { PLACE_NO_STACK, PLACE_HIDDEN, PLACE_OTHER, PLACES_MORE };
static const char *const more_names[PLACES_MORE] = {"(no stack)", "[hidden by filters]",
						    "[without a site]"};

static struct place frame_place_of(struct model *m, const struct frame *f)
{
	const char *path = f->module == NONE ? NULL : m->modules.v[f->module].path;
	return (struct place){
		.function = frame_label(&m->arena, m, f, &whole),
		.file = f->file && *f->file ? name_clean(&m->arena, f->file, false) : NULL,
		.path = path && *path ? name_clean(&m->arena, path, false) : NULL,
		.address = f->note ? UNKNOWN : f->address,
		.module = f->module,
		.line = f->line,
		.inlined = f->inlined,
		.named = f->note || (f->function && *f->function),
	};
}

static struct place plain_place(const char *name)
{
	return (struct place){.function = name, .address = UNKNOWN, .module = NONE, .named = true};
}

static void make_places(struct model *m, struct export *x)
{
	size_t n = m->frames.n + m->processes.n + PLACES_MORE, at = 0;
	x->places = ms_arena_alloc(&m->arena, n * sizeof *x->places);
	x->place_count = n;
	for (size_t i = 0; i < m->frames.n; i++)
		x->places[at++] = frame_place_of(m, &m->frames.v[i]);
	for (size_t i = 0; i < m->processes.n; i++)
		x->places[at++] =
			plain_place(process_label(&m->arena, &m->processes.v[i], "", false));
	for (size_t i = 0; i < PLACES_MORE; i++)
		x->places[at++] = plain_place(more_names[i]);
}

static uint32_t more_place(const struct export *x, size_t which)
{
	return (uint32_t)(x->place_count - PLACES_MORE + which);
}

void export_take_stack(struct export *x, const struct export_row *r)
{
	const struct model *m = x->m;
	x->path[0] = r->place;
	x->depth = 1;
	if (!r->site)
		return;
	x->depth = model_stack(m, r->site->stack, x->path);
	if (!x->depth)
		x->path[x->depth++] = more_place(x, PLACE_NO_STACK);
	if (m->processes.n > 1)
		x->path[x->depth++] = (uint32_t)m->frames.n + r->site->process;
}

const struct export_row *export_next(struct export *x, const struct export_row *r,
				     enum export_figure f)
{
	for (r = r ? r + 1 : x->rows; r < x->rows + x->n; r++)
		if (f == EXPORT_ALL || (f == EXPORT_FIGURES ? export_any(r) : r->v[f] != 0)) {
			export_take_stack(x, r);
			return r;
		}
	return NULL;
}

size_t export_frame_end(const struct export *x, size_t at)
{
	const struct place *p = &x->places[x->path[at]];
	for (; ++at < x->depth && p->inlined; p = &x->places[x->path[at]])
		if (x->places[x->path[at]].address != p->address)
			break;
	return at;
}

const char *export_frame_text(struct export *x, const struct place *p)
{
	struct model *m = x->m;
	const char *where = p->file && p->line ? SAY("%s:%u", base_name(p->file), p->line)
			    : p->file          ? base_name(p->file)
					       : SAY("in %s", p->path ? p->path : "???");
	return p->address == UNKNOWN
		       ? p->function
		       : SAY("0x%llX: %s (%s)", (unsigned long long)p->address, p->function, where);
}

/* ---- numbers of texts and stacks ---- */

uint32_t export_text(struct export *x, uint32_t place, export_put *put)
{
	if (!x->text_of)
		x->text_of = ms_xcalloc(x->place_count, sizeof *x->text_of);
	if (!x->text_of[place]) {
		struct out text = {0};
		put(x, &x->places[place], &text);
		x->text_of[place] = bytes_number(&x->texts, text.v, text.n, NULL) + 1;
		out_free(&text);
	}
	return x->text_of[place] - 1;
}

uint32_t export_stack(struct export *x, bool up, export_put *put)
{
	uint32_t node = 0;
	for (size_t i = 0; i < x->depth; i++) {
		uint32_t place = x->path[up ? i : x->depth - 1 - i];
		node = key_child(&x->stacks, node, export_text(x, place, put), NULL);
	}
	return node;
}

void export_path(struct export *x, struct ms_json *j, const char *key, bool innermost_first,
		 export_put *put)
{
	ms_json_open(j, key, '[');
	for (size_t i = 0; i < x->depth; i++) {
		uint32_t place = x->path[innermost_first ? i : x->depth - 1 - i];
		ms_json_number(j, NULL, export_text(x, place, put));
	}
	ms_json_close(j, ']');
}

void export_text_array(const struct export *x, struct ms_json *j, const char *key)
{
	ms_json_open(j, key, '[');
	for (uint32_t i = 0; i < x->texts.n; i++) {
		size_t n;
		const char *text = bytes_of(&x->texts, i, &n);
		ms_json_key(j, NULL);
		j->put(j->to, text, n);
	}
	ms_json_close(j, ']');
}

/* ---- rows ---- */

bool export_any(const struct export_row *r)
{
	for (int f = 0; f < EXPORT_FIGURES; f++)
		if (r->v[f])
			return true;
	return false;
}

static void take_figures(uint64_t v[EXPORT_FIGURES], enum told_of of, const void *what)
{
	static const enum told of_export[EXPORT_FIGURES] = {
		TOLD_ALLOCATIONS, TOLD_ALLOCATED, TOLD_LIVE_BLOCKS, TOLD_LIVE,
		TOLD_PEAK_BLOCKS, TOLD_PEAK,      TOLD_TEMPORARY};
	for (int f = 0; f < EXPORT_FIGURES; f++)
		v[f] = told_value(of_export[f], of, what);
}

static void make_rows(struct model *m, struct export *x)
{
	uint64_t sum[EXPORT_FIGURES] = {0}, total[EXPORT_FIGURES];
	x->rows = ms_arena_alloc(&m->arena, (m->sites.n + 2) * sizeof *x->rows);
	x->n = m->sites.n + 2;
	for (size_t i = 0; i < m->sites.n; i++) {
		x->rows[i].site = &m->sites.v[i];
		take_figures(x->rows[i].v, TOLD_OF_SITE, x->rows[i].site);
	}
	struct export_row *hidden = &x->rows[m->sites.n], *other = hidden + 1;
	hidden->place = more_place(x, PLACE_HIDDEN);
	other->place = more_place(x, PLACE_OTHER);
	take_figures(hidden->v, TOLD_OF_HIDDEN, &m->hidden);
	take_figures(total, TOLD_OF_ALL, m);
	for (size_t i = 0; i <= m->sites.n; i++)
		for (int f = 0; f < EXPORT_FIGURES; f++) {
			x->rows[i].v[f] = figure_or_0(x->rows[i].v[f]);
			sum[f] = figure_add(sum[f], x->rows[i].v[f]);
		}
	for (int f = 0; f < EXPORT_FIGURES; f++)
		other->v[f] = x->known[f] ? figure_sub(total[f], sum[f]) : 0;
}

/* Returns the difference between the total and the sum of the rows; 0 if the total is not known. */
static uint64_t rest_of(const struct diff *d, const char *total, uint64_t sum)
{
	const struct diff_total *t = diff_total(d, total);
	return t && t->delta != DELTA_UNKNOWN ? (uint64_t)t->delta - sum : 0;
}

void export_differences(struct export *x)
{
	static const char *const totals[EXPORT_FIGURES] = {
		"allocations", "allocated_bytes", "live_blocks",          "live_bytes",
		"peak_blocks", "peak_bytes",      "temporary_allocations"};
	const struct diff *d = x->m->diff;
	x->n = d->rows.n + 2;
	x->rows = ms_arena_alloc(&x->m->arena, x->n * sizeof *x->rows);
	struct export_row *hidden = &x->rows[d->rows.n], *other = hidden + 1;
	*hidden = (struct export_row){.place = more_place(x, PLACE_HIDDEN)};
	*other = (struct export_row){.place = more_place(x, PLACE_OTHER)};
	for (int f = 0; f < EXPORT_FIGURES; f++) {
		int k = export_diff_figure((enum export_figure)f);
		uint64_t sum = 0;
		for (size_t i = 0; i <= d->rows.n; i++) {
			const struct diff_row *r = i < d->rows.n ? &d->rows.v[i] : NULL;
			int64_t delta = r ? r->delta[k] : d->hidden_delta[k];
			if (r)
				x->rows[i].site = r->site;
			x->rows[i].v[f] = delta == DELTA_UNKNOWN ? 0 : (uint64_t)delta;
			sum += x->rows[i].v[f];
		}
		other->v[f] = rest_of(d, totals[f], sum);
	}
}

/* ---- notes ---- */

static void make_notes(struct model *m, struct export *x)
{
	struct words q = words_quality(m);
	const char *all = words_incomplete(m), *unknown = NULL;
	all = all ? SAY("INCOMPLETE: %s", all) : q.v[0];
	for (size_t i = 1; i < q.n; i++)
		all = SAY("%s, %s", all, q.v[i]);
	words_add(&x->notes, "written by ms-report " MS_VERSION);
	words_add(&x->notes, name_clean(&m->arena, SAY("quality: %s", all), false));
	if (m->est)
		words_add(&x->notes,
			  "the intervals of the estimates are left out here: see ms-report --json");
	if (m->hidden.filters)
		words_add(&x->notes, SAY("hidden: %s", words_hidden(m, &whole)));
	for (int f = 0; f < EXPORT_FIGURES; f++)
		if (!x->known[f])
			unknown = unknown ? SAY("%s, %s", unknown, export_title(m, f))
					  : export_title(m, f);
	if (unknown)
		words_add(&x->notes, SAY("not available, so 0 here or left out: %s", unknown));
	if (x->lacks)
		words_add(&x->notes, x->lacks);
}

const char *export_joined(struct export *x, const char *first, size_t from)
{
	for (size_t i = from; i < x->notes.n; i++)
		first = ms_arena_printf(&x->m->arena, "%s; %s", first, x->notes.v[i]);
	return first;
}

/* Prepares the data that a format needs, in the model's arena. */
static void prepare(struct export *x)
{
	struct model *m = x->m;
	const char **v;
	size_t n = command_arguments(m, &m->processes.v[0], &v);
	const char *command = v[0];
	uint64_t total[EXPORT_FIGURES];
	for (size_t i = 1; i < n && strlen(command) < 4096; i++)
		command = SAY("%s %s", command, v[i]);
	x->command = name_clean(&m->arena, command, false);
	take_figures(total, TOLD_OF_ALL, m);
	for (int f = 0; f < EXPORT_FIGURES; f++)
		x->known[f] = total[f] != UNKNOWN;
	make_notes(m, x);
	if (!(x->kind->traits & EXPORT_SITES))
		return;
	make_places(m, x);
	make_rows(m, x);
	x->path = ms_arena_alloc(&m->arena, (m->nodes.n + 3) * sizeof *x->path);
}

void export_write(struct page *p, const struct export_kind *kind, enum metric asked,
		  enum metric metric, struct out *o)
{
	struct export x = {.m = p->m, .page = p, .kind = kind, .asked = asked, .metric = metric};
	x.lacks = export_lacks(p->m, kind, asked);
	prepare(&x);
	kind->write(&x, o);
	bytes_free(&x.texts);
	key_free(&x.stacks);
	free(x.text_of);
}

/* ---- moments ---- */

uint64_t export_moment(const struct export *x, const struct snapshot *s)
{
	return figure_add(s->time_ns, x->m->processes.v[s->process].offset_ns);
}

static int earlier(const void *a, const void *b, void *arg)
{
	const struct snapshot *p = *(const struct snapshot *const *)a,
			      *q = *(const struct snapshot *const *)b;
	return MS_ORDER(export_moment(arg, p), export_moment(arg, q)) ?: MS_ORDER(p->id, q->id);
}

size_t export_moments(struct export *x, const struct snapshot ***out)
{
	struct model *m = x->m;
	size_t n = 0;
	*out = ms_arena_alloc(&m->arena, (m->snapshots.n + 1) * sizeof **out);
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (export_moment(x, s) != UNKNOWN && s->live.bytes != UNKNOWN)
			(*out)[n++] = s;
	}
	qsort_r(*out, n, sizeof **out, earlier, x);
	return n;
}

void export_live_at(struct export *x, const struct snapshot *s, uint64_t *live)
{
	struct model *m = x->m;
	uint64_t sum = 0;
	memset(live, 0, x->n * sizeof *live);
	/* site 0: blocks hidden by filters */
	sqlite3_stmt *st =
		model_ask(m,
			  "SELECT site, live_bytes FROM site_stat WHERE snapshot = %lld"
			  " UNION ALL SELECT 0, live_bytes FROM hidden WHERE snapshot = %lld",
			  (long long)s->id, (long long)s->id);
	while (model_next(&st)) {
		int64_t site = sqlite3_column_int64(st, 0), bytes = sqlite3_column_int64(st, 1);
		uint32_t i = site ? MODEL_FIND(m->sites, site) : (uint32_t)m->sites.n;
		if (i != NONE && bytes > 0)
			live[i] = figure_add(live[i], (uint64_t)bytes);
	}
	for (size_t i = 0; i + 1 < x->n; i++)
		sum = figure_add(sum, live[i]);
	live[x->n - 1] = figure_or_0(figure_sub(s->live.bytes, sum));
}

size_t export_points(struct export *x, struct export_point **out)
{
	struct model *m = x->m;
	MS_ARRAY(struct export_point) a = {0};
	sqlite3_stmt *st = NULL;
	if (m->processes.n > 1)
		st = model_ask(
			m,
			"SELECT coalesce(lead(time_ns) OVER (ORDER BY time_ns), %lld), live_last"
			" FROM sum_timeline ORDER BY time_ns",
			(long long)m->duration_ns);
	while (model_next(&st))
		*MS_PUSH(&a) = (struct export_point){(uint64_t)sqlite3_column_int64(st, 0),
						     (uint64_t)sqlite3_column_int64(st, 1)};
	for (size_t i = 0; m->processes.n == 1 && i < m->points.n; i++)
		if (m->points.v[i].live_last != UNKNOWN)
			*MS_PUSH(&a) = (struct export_point){
				i + 1 < m->points.n ? m->points.v[i + 1].time_ns : m->duration_ns,
				m->points.v[i].live_last};
	*out = ms_arena_alloc(&m->arena, (a.n + 1) * sizeof **out);
	if (a.n)
		memcpy(*out, a.v, a.n * sizeof *a.v);
	free(a.v);
	return a.n;
}
