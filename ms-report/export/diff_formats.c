/* SPDX-License-Identifier: MIT
 * Writes a comparison for programs, as JSON or CSV.
 */
#include "formats.h"

#include "ms-report/model/diff.h"
#include "libcommon/model/facts.h"
#include "ms-report/output/out.h"
#include "ms-report/words/names.h"

#include "libcommon/base/json_writer.h"

#include <inttypes.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static void put_limits(struct ms_json *j, const char *key, struct limits l)
{
	if (l.low == DELTA_UNKNOWN)
		return;
	ms_json_open(j, key, '{');
	ms_json_format(j, "low:%ld high:%ld}", l.low, l.high);
}

/* ---- JSON ---- */

static void put_side(struct model *m, struct ms_json *j, bool old)
{
	const struct diff *d = m->diff;
	ms_json_open(j, old ? "old" : "new", '{');
	ms_json_format(j, "name:%s point:%s runs:%lu", old ? d->old : d->new,
		       old ? d->old_point : d->new_point, old ? d->old_runs : d->new_runs);
	if (d->per)
		ms_json_number(j, "operations", old ? d->old_operations : d->new_operations);
	ms_json_open(j, "quality", '[');
	for (size_t i = 0; i < d->runs.n; i++) {
		const struct diff_run *r = &d->runs.v[i];
		if (r->old != old)
			continue;
		ms_json_format(j,
			       "{name:%s shown:%d exe:%s started:%s complete:%d events_lost:%lu"
			       " sampled_bytes:%lu}",
			       r->name, r->reference, r->exe, say_date(m, r->started_ns, true),
			       r->complete, r->events_lost, r->sampled_bytes);
	}
	ms_json_format(j, "]}");
}

/* Writes "new_live_bytes" and so on: sums over all sites of each kind. */
static void put_kinds(struct model *m, struct ms_json *j)
{
	static const enum diff_kind kinds[] = {DIFF_NEW, DIFF_GONE, DIFF_GROWN, DIFF_SHRUNK,
					       DIFF_UNMATCHED};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct diff_sum *s = &m->diff->kinds[kinds[i]];
		const char *name = diff_kind_names[kinds[i]];
		ms_json_number(j, SAY("%s_sites", name), s->sites);
		for (int f = 0; f < DIFF_FIGURES; f++)
			ms_json_signed(j, SAY("%s_%s", name, diff_figure_names[f]), s->figures[f]);
	}
	MS_JSON_NUMBERS(j, {"unchanged_sites", m->diff->kinds[DIFF_UNCHANGED].sites},
			{"renamed_sites", m->diff->renamed.sites});
}

static void put_totals(struct model *m, struct ms_json *j)
{
	const struct diff *d = m->diff;
	ms_json_open(j, "totals", '{');
	for (size_t i = 0; i < d->totals.n; i++)
		ms_json_signed(j, SAY("delta_%s", d->totals.v[i].figure), d->totals.v[i].delta);
	put_kinds(m, j);
	ms_json_format(j, "} figures:[");
	for (size_t i = 0; i < d->totals.n; i++) {
		const struct diff_total *t = &d->totals.v[i];
		ms_json_format(j, "{figure:%s old:%ld new:%ld delta:%ld significant:%d", t->figure,
			       t->old, t->new, t->delta, t->significant);
		put_limits(j, "old_range", t->of_old);
		put_limits(j, "new_range", t->of_new);
		put_limits(j, "delta_interval", t->of_delta);
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

static void put_figures(struct model *m, struct ms_json *j, const struct diff_row *x)
{
	static const char *const sides[] = {"old", "new", "delta"};
	const int64_t *const parts[] = {x->old, x->new, x->delta};
	for (int part = 0; part < 3; part++)
		for (int f = 0; f < DIFF_FIGURES; f++)
			ms_json_signed(j, SAY("%s_%s", sides[part], diff_figure_names[f]),
				       parts[part][f]);
	if (!x->ranges)
		return;
	ms_json_open(j, "ranges", '{');
	for (int f = 0; f < DIFF_FIGURES; f++) {
		if (x->ranges[f][0].low == DELTA_UNKNOWN && x->ranges[f][2].low == DELTA_UNKNOWN)
			continue;
		ms_json_open(j, diff_figure_names[f], '{');
		put_limits(j, "old", x->ranges[f][0]);
		put_limits(j, "new", x->ranges[f][1]);
		put_limits(j, "delta", x->ranges[f][2]);
		ms_json_close(j, '}');
	}
	ms_json_close(j, '}');
}

/* Writes a list such as "live_bytes,peak_bytes" as an array. */
static void put_names(struct model *m, struct ms_json *j, const char *key, const char *names)
{
	ms_json_open(j, key, '[');
	while (names && *names) {
		size_t n = strcspn(names, ",");
		ms_json_string(j, NULL, ms_arena_strndup(&m->arena, names, n));
		names += n + (names[n] == ',');
	}
	ms_json_close(j, ']');
}

static void put_row(struct model *m, struct ms_json *j, const struct diff_row *x,
		    const struct json_stacks *stacks)
{
	ms_json_format(j, "{id:%lu kind:%s significant:%d", (uint64_t)x->site->id,
		       diff_kind_names[x->kind], x->significant);
	put_names(m, j, "significant_figures", x->figures);
	ms_json_format(j, "matched:%s evidence:%s weak:%d sites:%lu old_sites:%lu old_site:%lu",
		       x->matched, x->evidence, x->weak, x->sites, x->old_sites, x->old_site);
	put_figures(m, j, x);
	if (verdicts_told(m, x->site))
		ms_json_string(j, "verdict", x->site->verdict);
	json_stack(stacks, j, x->site->stack);
	ms_json_close(j, '}');
}

static void put_kept_figures(struct ms_json *j, const struct kept_change *x)
{
	ms_json_format(j,
		       "old_bytes:%ld new_bytes:%ld delta_bytes:%ld old_blocks:%ld new_blocks:%ld "
		       "delta_blocks:%ld",
		       x->old, x->new, x->delta, x->old_blocks, x->new_blocks, x->delta_blocks);
}

/* Writes what keeps blocks alive in both runs, each with what changed directly below it. */
static void put_kept(struct model *m, struct ms_json *j)
{
	const struct kept_change *x = m->diff->kept.v, *end = x + m->diff->kept.n;
	ms_json_open(j, "kept", '[');
	while (x < end) {
		const struct keeper *k = &x->keeper;
		ms_json_format(j, "{keeper:%s name:%s module:%s thread:%s file:%s line:%lu type:%s",
			       k->kind, k->name, k->module, k->thread, k->file, k->line, k->type);
		put_kept_figures(j, x);
		ms_json_format(j, "below_site:%lu below_bytes:%ld below_type:%s below:[",
			       x->below ? (uint64_t)x->below->id : UNKNOWN, x->below_bytes,
			       x->below_type);
		for (x++; x < end && x->site; x++) {
			ms_json_format(j, "{site:%lu type:%s", (uint64_t)x->site->id,
				       x->keeper.type);
			put_kept_figures(j, x);
			ms_json_close(j, '}');
		}
		ms_json_format(j, "]}");
	}
	ms_json_close(j, ']');
}

void json_diff(struct model *m, struct ms_json *j, size_t limit, const struct json_stacks *stacks)
{
	const struct diff *d = m->diff;
	ms_json_open(j, "diff", '{');
	put_side(m, j, true);
	put_side(m, j, false);
	ms_json_format(j, "nameless:{old:%s new:%s} per:%s old_missing:%d same_program:%d",
		       d->nameless[0], d->nameless[1], d->per, d->old_missing, d->same_program);
	put_totals(m, j);
	if (d->kept.n)
		put_kept(m, j);
	ms_json_open(j, "sites", '[');
	size_t n = d->rows.n < limit ? d->rows.n : limit;
	for (size_t i = 0; i < n; i++)
		put_row(m, j, &d->rows.v[i], stacks);
	ms_json_format(j, "] omitted:{sites:%lu hidden_sites:%lu", d->rows.n - n, d->hidden_sites);
	for (int f = 0; f < DIFF_FIGURES; f++) {
		int64_t sum = d->hidden_delta[f];
		for (size_t i = n; i < d->rows.n; i++)
			sum = delta_add(sum, d->rows.v[i].delta[f]);
		ms_json_signed(j, SAY("delta_%s", diff_figure_names[f]), sum);
	}
	ms_json_format(j, "}}");
}

/* ---- CSV ---- */

static void csv_figures(struct out *o, const int64_t *v)
{
	for (int f = 0; f < DIFF_FIGURES; f++) {
		out_char(o, ',');
		if (v[f] != DELTA_UNKNOWN)
			out_printf(o, "%" PRId64, v[f]);
	}
}

static void csv_row(struct model *m, struct out *o, const struct diff_row *x)
{
	const struct frame *f = site_frame(m, x->site), *caller = site_caller(m, x->site);
	out_printf(o, "%lld,%s,%d,%s", (long long)x->site->id, diff_kind_names[x->kind],
		   x->significant, x->matched ? x->matched : "");
	csv_figures(o, x->old);
	csv_figures(o, x->new);
	csv_figures(o, x->delta);
	out_char(o, ',');
	csv_frame(m, o, f);
	out_char(o, ',');
	csv_text(m, o, caller ? frame_name(&m->arena, m, caller) : NULL);
	out_char(o, ',');
	csv_text(m, o, x->evidence);
	out_str(o, "\r\n");
}

/* Writes one row with the summed changes of the rows that are not listed or were hidden. */
static void csv_rest(struct out *o, const int64_t *delta, const char *what)
{
	static const int64_t none[DIFF_FIGURES] = {DELTA_UNKNOWN, DELTA_UNKNOWN, DELTA_UNKNOWN,
						   DELTA_UNKNOWN, DELTA_UNKNOWN, DELTA_UNKNOWN,
						   DELTA_UNKNOWN, DELTA_UNKNOWN};
	out_str(o, ",,,");
	csv_figures(o, none);
	csv_figures(o, none);
	csv_figures(o, delta);
	out_printf(o, ",%s,,,,,\r\n", what);
}

void csv_diff(struct model *m, struct out *o, size_t limit)
{
	static const char *const sides[] = {"old", "new", "delta"};
	const struct diff *d = m->diff;
	int64_t rest[DIFF_FIGURES] = {0};
	out_str(o, "site,kind,significant,matched");
	for (int part = 0; part < 3; part++)
		for (int f = 0; f < DIFF_FIGURES; f++)
			out_printf(o, ",%s_%s", sides[part], diff_figure_names[f]);
	out_str(o, ",function,file,line,module,caller,evidence\r\n");
	for (size_t i = 0; i < d->rows.n; i++) {
		if (i < limit)
			csv_row(m, o, &d->rows.v[i]);
		for (int f = 0; f < DIFF_FIGURES && i >= limit; f++)
			rest[f] = delta_add(rest[f], d->rows.v[i].delta[f]);
	}
	if (d->rows.n > limit)
		csv_rest(o, rest, SAY("(%zu more sites)", d->rows.n - limit));
	if (d->hidden_sites)
		csv_rest(o, d->hidden_delta, "(hidden by filters)");
}
