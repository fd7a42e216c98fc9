/* SPDX-License-Identifier: MIT
 * Lists of sites in plain text.
 *
 *      bytes    blocks   #  where (first frame of your code)
 *    5.9 MiB     1,203   1  orderd::Parser::dup              src/parser.cpp:218      strdup
 *                             < orderd::Session::onFrame     src/session.cpp:91
 *
 * On a narrow line, the place gets a line of its own and the remark is left out; if the figures
 * leave no room for names, the names are below the figures.
 */
#include "text.h"

#include "libcommon/model/facts.h"
#include "ms-report/model/retained.h"
#include "ms-report/output/out.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

#define NARROW 45 /* columns: with less room for names, places get their own lines */
#define ROOMY 60  /* columns: with this room for names, called functions are shown too */
#define LEAST 14  /* columns: with less room, names are below the figures */

struct layout {
	size_t name, place, called; /* columns; place 0 = on its own line; called 0 = not shown */
	size_t before;              /* columns before the names */
};

/* Returns a known allocation of the runtime in brackets: "[stdio buffer]". */
static const char *known(struct page *p, const struct site *s)
{
	return ms_arena_printf(&p->m->arena, "[%s]",
			       name_clean(&p->m->arena, s->one_time, p->style.ascii));
}

const char *list_verdict(struct page *p, const struct site *s)
{
	return s->verdict ? name_clean(&p->m->arena, s->verdict, p->style.ascii) : "";
}

/* Returns the remark in a row's last column: the known allocation, the function called, or the
 * verdict, unless the list is about one verdict or has a column for verdicts. */
static const char *noticed(struct page *p, const struct list *l, const struct site *s)
{
	const struct frame *called = site_called(p->m, s);
	if (s->one_time)
		return known(p, s);
	if (called)
		return frame_label(&p->m->arena, p->m, called, &p->style);
	bool said = l->metric >= METRIC_UNREACHABLE || l->verdicts;
	return said ? "" : list_verdict(p, s);
}

struct list_line list_line(struct page *p, const struct list *l, const struct site *s, bool callers)
{
	struct model *m = p->m;
	struct ms_arena *a = &m->arena;
	const struct frame *f = site_frame(m, s);
	const struct frame *caller = callers || s->folded ? site_caller(m, s) : NULL;
	if (l->by)
		return (struct list_line){.name = grouped_label(m, l, s, &p->style),
					  .place = grouped_place(m, l, s, &p->style),
					  .called = ""};
	struct list_line n = {
		.name = f ? frame_label(a, m, f, &p->style) : "(no stack)",
		.place = f ? frame_place(a, m, f, &p->style) : "",
		.called = noticed(p, l, s),
		.caller = caller ? frame_label(a, m, caller, &p->style) : NULL,
		.caller_place = caller ? frame_place(a, m, caller, &p->style) : NULL,
	};
	if (!s->one_time || !f || !f->runtime)
		return n;
	struct frame named = *f;
	named.function = f->function ? f->function : s->one_time;
	n.name = known(p, s);
	n.place = frame_place(a, m, &named, &p->style);
	n.called = "";
	return n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void widen(size_t *to, const char *s, size_t extra)
{
	size_t w = s && *s ? name_width(s) + extra : 0;
	*to = w > *to ? w : *to;
}

/* Returns how many of `columns` the names use once they are shortened to fit. */
static size_t used_by_names(const struct page *p, const struct list_line *v, size_t n,
			    size_t columns)
{
	struct ms_arena *a = &p->m->arena;
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		widen(&used, name_fit(a, v[i].name, columns, p->style.ascii), 0);
		if (v[i].caller)
			widen(&used, name_fit(a, v[i].caller, columns - 4, p->style.ascii), 4);
		for (size_t k = 0; k < v[i].apart.n; k++)
			widen(&used, name_fit(a, v[i].apart.v[k].name, columns - 4, p->style.ascii),
			      4);
	}
	return used;
}

static struct layout arrange(const struct page *p, const struct list_line *v, size_t n,
			     size_t before)
{
	struct layout want = {.before = before};
	for (size_t i = 0; i < n; i++) {
		widen(&want.name, v[i].name, 0);
		widen(&want.name, v[i].caller, 4);
		widen(&want.place, v[i].place, 0);
		widen(&want.place, v[i].caller_place, 0);
		widen(&want.called, v[i].called, 0);
		for (size_t k = 0; k < v[i].apart.n; k++) {
			widen(&want.name, v[i].apart.v[k].name, 4);
			widen(&want.place, v[i].apart.v[k].place, 0);
		}
	}
	if (p->style.full_names)
		return want;
	size_t room = p->style.width > before + 8 ? p->style.width - before : 8;
	if (room < NARROW)
		return (struct layout){.name = room, .before = before};
	struct layout l = {.before = before};
	l.called = room < ROOMY ? 0 : least(want.called, room * 22 / 100);
	size_t gaps = 2 + (l.called ? 2 : 0);
	l.place = least(want.place, room * 33 / 100);
	l.name = least(want.name, room - l.place - l.called - gaps);
	l.name = least(l.name, used_by_names(p, v, n, l.name));
	l.place = least(want.place, room - l.name - l.called - gaps);
	l.called = l.called ? least(want.called, room - l.name - l.place - gaps) : 0;
	return l;
}

static void write_names(struct page *p, struct out *o, const struct layout *l, const char *name,
			const char *place, const char *called, size_t indent)
{
	struct ms_arena *a = &p->m->arena;
	bool ascii = p->style.ascii;
	text_pad(o, name_fit(a, name, l->name - indent, ascii), l->name - indent);
	if (l->place) {
		out_str(o, "  ");
		text_pad(o, name_cut_start(a, place, l->place, ascii), l->place);
	} else if (*place) {
		text_end_line(o);
		out_repeat(o, " ", l->before + indent + 2);
		out_str(o, name_cut_start(a, place, l->name - indent - 2, ascii));
	}
	if (l->called && *called) {
		out_str(o, "  ");
		out_str(o, name_fit(a, called, l->called, ascii));
	}
	text_end_line(o);
}

/* Writes a line below a row: its caller, or what distinguishes it from others. */
static void write_line(struct page *p, struct out *o, const struct layout *l, char sign,
		       const char *name, const char *place)
{
	struct layout whole = *l;
	out_repeat(o, " ", l->before);
	out_printf(o, "  %c ", sign);
	if (sign == ' ' && !*place) { /* rest of the row's name: it may use the whole line */
		whole.name += l->place ? l->place + 2 : 0;
		whole.name += l->called ? l->called + 2 : 0;
		name = name_cut(&p->m->arena, name, whole.name - 4, p->style.ascii);
	}
	write_names(p, o, &whole, name, place, "", 4);
}

/* Holds the width of each column before the names, for the widest value. Only the peak shows
 * shares. */
struct figures {
	size_t share, a, b, number, verdict; /* columns; 0 = not shown */
};

const char *list_a(struct page *p, enum metric metric, struct pair v)
{
	return metric_is_bytes(metric) ? est_size(p->m, v.a, pair_ea(&v))
				       : est_count(p->m, v.a, pair_ea(&v));
}

const char *list_b(struct page *p, enum metric metric, struct pair v)
{
	return metric == METRIC_TEMPORARY ? say_share(p->m, v.a, v.b)
	       : metric == METRIC_ALLOCATIONS || metric == METRIC_CHURN
		       ? est_size(p->m, v.b, pair_eb(&v))
		       : est_count(p->m, v.b, pair_eb(&v));
}

static const char *number_of(struct page *p, const struct site *s)
{
	return ms_arena_printf(&p->m->arena, "%lld", (long long)s->id);
}

/* Holds the words for each metric: the name of its list (NULL = see list_name), the titles of its
 * figures (NULL = it has only one), the text before the second figure in the list's title (NULL =
 * not in the title), and the noun for its number (NULL = bytes). */
static const struct {
	const char *name, *a, *b, *then, *one;
} words[METRIC_LISTS] = {
	[METRIC_LIVE] = {NULL, "bytes", "blocks", ", ", "block"},
	[METRIC_PEAK] = {NULL, "bytes", "blocks", ", ", "block"},
	[METRIC_ALLOCATED] = {"ALLOCATED over the whole run", "allocated", "calls", " in ", "call"},
	[METRIC_ALLOCATIONS] = {"CALLS over the whole run", "calls", "allocated", " for "},
	[METRIC_TEMPORARY] = {"TEMPORARY, freed before the next allocation", "temporary", "% calls",
			      " of ", "call"},
	[METRIC_FAILED] = {"FAILED, returned null", "failed", "allocations"},
	[METRIC_MAPPED] = {NULL, "mapped", "calls"},
	[METRIC_UNREACHABLE] = {"UNREACHABLE AT THE END, nothing points to these", "bytes",
				"blocks", ", ", "block"},
	[METRIC_LATE] = {"ALLOCATED AFTER THE SCAN, not judged", "bytes", "blocks", ", ", "block"},
	[METRIC_HELD] = {"LIVE AT THE END, something points to these", "bytes", "blocks", ", ",
			 "block"},
	[METRIC_GROWING] = {NULL, "bytes", "blocks", ", ", "block"},
	[METRIC_GROWING_NOW] = {NULL, "bytes", "blocks", ", ", "block"},
	[METRIC_GROWN] = {NULL, "bytes", "blocks", ", ", "block"},
	[METRIC_RISEN] = {NULL, "bytes", NULL},
	[METRIC_CHURN] = {NULL, "calls", "allocated"},
};

const char *list_head(enum metric metric, bool second)
{
	return second ? words[metric].b : words[metric].a;
}

static void fit(struct page *p, const struct list *l, struct figures *f, struct pair v)
{
	size_t a = strlen(list_a(p, l->metric, v)), b = strlen(list_b(p, l->metric, v));
	f->a = a > f->a ? a : f->a;
	f->b = b > f->b ? b : f->b;
}

static struct figures measure(struct page *p, const struct list *l)
{
	bool narrow = p->style.width < 64, peak = l->metric == METRIC_PEAK;
	struct figures f = {.share = peak && !narrow && !l->total.estimated ? 6 : 0,
			    .a = strlen(words[l->metric].a),
			    .b = words[l->metric].b ? strlen(words[l->metric].b) : 0,
			    .number = 1};
	f.a = f.a < 9 ? 9 : f.a;
	for (size_t i = 0; i < l->n; i++) {
		size_t w = strlen(number_of(p, l->rows[i]));
		fit(p, l, &f, site_pair(l->rows[i], l->metric));
		f.number = w > f.number ? w : f.number;
		w = l->verdicts ? strlen(list_verdict(p, l->rows[i])) : 0;
		f.verdict = w > f.verdict ? w : f.verdict;
	}
	f.verdict = f.verdict && f.verdict < strlen("verdict") ? strlen("verdict") : f.verdict;
	fit(p, l, &f, l->more);
	fit(p, l, &f, l->none);
	fit(p, l, &f, l->hidden);
	fit(p, l, &f, l->other);
	f.number += 2;
	f.b = (peak && narrow) || !words[l->metric].b ? 0 : f.b + 2;
	return f;
}

static void put_figures(struct out *o, const struct figures *f, const char *share, const char *a,
			const char *b, const char *number, const char *verdict)
{
	if (f->share)
		text_pad_left(o, share, f->share);
	if (f->share)
		out_str(o, "  ");
	text_pad_left(o, a, f->a);
	if (f->b)
		text_pad_left(o, b, f->b);
	text_pad_left(o, number, f->number);
	out_str(o, "  ");
	if (f->verdict) {
		text_pad(o, verdict, f->verdict);
		out_str(o, "  ");
	}
}

/* Writes figures on a line of their own, above the names: "91.2 MiB (80-99), 12 blocks #3". */
static void figures_alone(struct page *p, struct out *o, const struct list *l, struct pair v,
			  const struct site *s)
{
	struct words w = {
		.v = {metric_is_bytes(l->metric)
			      ? list_a(p, l->metric, v)
			      : ms_arena_printf(&p->m->arena, "%s %s", list_a(p, l->metric, v),
						words[l->metric].a)},
		.n = 1};
	if (words[l->metric].b)
		w.v[w.n++] = ms_arena_printf(&p->m->arena, "%s %s", list_b(p, l->metric, v),
					     words[l->metric].b);
	if (s)
		w.v[w.n++] = ms_arena_printf(&p->m->arena, "#%s", number_of(p, s));
	if (s && l->verdicts && s->verdict)
		w.v[w.n++] = list_verdict(p, s);
	text_words(p, o, NULL, &w, "  ");
	out_str(o, "    ");
}

/* Writes figures in columns `f`, or if that is NULL on a line of their own. `s`: site of the row;
 * NULL = none. */
static void figures(struct page *p, struct out *o, const struct list *l, const struct figures *f,
		    struct pair v, const struct site *s)
{
	if (f)
		put_figures(o, f, say_share(p->m, v.a, l->total.a), list_a(p, l->metric, v),
			    list_b(p, l->metric, v), s ? number_of(p, s) : ".",
			    s ? list_verdict(p, s) : "");
	else
		figures_alone(p, o, l, v, s);
}

static bool any(struct pair v)
{
	return figure_some(v.a) || figure_some(v.b);
}

size_t list_rests(struct page *p, const struct list *l, struct list_rest out[LIST_RESTS])
{
	size_t n = 0;
	if (l->more_sites)
		out[n++] =
			(struct list_rest){l->more, say_things(p->m, l->more_sites, "more site")};
	if (l->none_sites)
		out[n++] = (struct list_rest){l->none, words_none(p->m, l)};
	if (l->leak_sites)
		out[n++] = (struct list_rest){l->leaked,
					      SAY("reachable blocks of %s listed above as leaks",
						  say_things(p->m, l->leak_sites, "site"))};
	if (any(l->hidden))
		out[n++] = (struct list_rest){l->hidden, "hidden by filters"};
	if (any(l->other))
		out[n++] = (struct list_rest){l->other, "without a site"};
	return n;
}

/* Returns another site's function and place, "Widget::add widgets.cc:45", and its caller if the
 * function is the same as that of `s`. */
static const char *elsewhere(struct page *p, const struct site *s, const struct site *other)
{
	struct model *m = p->m;
	struct ms_arena *a = &m->arena;
	const struct frame *f = site_frame(m, other), *g = site_frame(m, s),
			   *caller = site_caller(m, other);
	const char *said = ms_arena_printf(a, "%s %s", frame_label(a, m, f, &p->style),
					   frame_place(a, m, f, &p->style));
	if (!caller || !g || !f->function || !g->function || strcmp(f->function, g->function) != 0)
		return said;
	return ms_arena_printf(a, "%s < %s %s", said, frame_label(a, m, caller, &p->style),
			       frame_place(a, m, caller, &p->style));
}

/* Adds the parts of the figures of an unreachable site. */
static void say_lost(struct page *p, const struct site *s, struct words *w)
{
	struct model *m = p->m;
	struct live rest = {s->leak.bytes - s->direct.bytes - s->with.bytes,
			    s->leak.blocks - s->direct.blocks - s->with.blocks};
	if (s->direct.blocks)
		words_add(w, say_live(m, s->direct));
	if (s->with.blocks)
		words_add(w, SAY("+ %s lost with it", say_live(m, s->with)));
	const struct retained_row *r = retained_elsewhere(m, model_site(m, s->id));
	const struct frame *f = r ? site_frame(m, r->site) : NULL;
	const char *part = "all of it";
	if (r && r->live.blocks != s->with.blocks)
		part = SAY("including %s", say_live(m, r->live));
	if (f)
		words_add(w, SAY("(%s from %s)", part, elsewhere(p, s, r->site)));
	if (rest.blocks)
		words_add(w, SAY("%s lost with %s", say_live(m, rest),
				 m->hidden.filters ? "blocks of hidden sites"
						   : "blocks of other sites"));
}

/* Returns how a site grows, and what keeps its blocks. */
static const char *growing(struct page *p, const struct site *s)
{
	const char *how = growth_remark(p->m, s), *kept = kept_remark(p->m, s, &p->style);
	return kept ? SAY("%s, %s", how, kept) : how;
}

struct words list_remarks(struct page *p, const struct list *l, const struct site *s)
{
	struct words w = {0};
	if (l->metric == METRIC_CHURN)
		return words_churn(p->m, s);
	size_t sites = row_sites(p->m, s, l->metric).any;
	if (l->by) {
		const char *share = say_share(p->m, site_pair(s, l->metric).a, l->total.a);
		words_add(&w, sites == 1 ? SAY("%s in 1 site", share)
					 : SAY("%s in %s, the largest #%lld", share,
					       say_things(p->m, sites, "site"), (long long)s->id));
		return w;
	}
	if (sites > 1)
		words_add(&w, ms_arena_printf(&p->m->arena, "sum of %s of the same recursion",
					      say_things(p->m, sites, "site")));
	if (metric_is_growth(l->metric))
		words_add(&w, growing(p, s));
	if (l->metric != METRIC_UNREACHABLE || s->leak.blocks == s->direct.blocks)
		return w;
	if (w.n)
		w.v[0] = ms_arena_printf(&p->m->arena, "%s:", w.v[0]);
	say_lost(p, s, &w);
	return w;
}

static const char *say_still(struct page *p, struct live v)
{
	return v.blocks ? SAY("%s (%s) %s still reachable, perhaps through a stale pointer",
			      say_things(p->m, v.blocks, "more block"), say_size(p->m, v.bytes),
			      v.blocks == 1 ? "is" : "are")
			: NULL;
}

const char *list_still(struct page *p, const struct list *l, size_t row)
{
	return l->still ? say_still(p, l->still[row]) : NULL;
}

const char *list_still_all(struct page *p, const struct list *l)
{
	struct live sum = {0};
	for (size_t i = 0; l->still && i <= l->n; i++) /* the last element is for leaks in no row */
		live_add(&sum, l->still[i]);
	return say_still(p, sum);
}

void text_list(struct page *p, struct out *o, const struct list *l, bool callers)
{
	struct model *m = p->m;
	struct list_line *v = ms_arena_alloc(&m->arena, (l->n + 1) * sizeof *v);
	for (size_t i = 0; i < l->n; i++)
		v[i] = list_line(p, l, l->rows[i], callers);
	struct figures f = measure(p, l);
	size_t before = (f.share ? f.share + 2 : 0) + f.a + f.b + f.number + 2 +
			(f.verdict ? f.verdict + 2 : 0);
	bool below = before + LEAST > p->style.width && !p->style.full_names;
	struct layout lay = {.name = p->style.width - 4, .before = 4};
	if (!below) {
		put_figures(o, &f, "share", words[l->metric].a, words[l->metric].b, "#", "verdict");
		out_str(o, p->style.width < 64 || p->style.width < before + 32
				   ? "where\n"
				   : "where (first frame of your code)\n");
		lay = arrange(p, v, l->n, before);
	}
	struct apart_shown shown = {
		.called = lay.called != 0, .caller = callers, .caller_place = callers};
	if (!p->style.full_names) {
		shown.name_columns = lay.name;
		shown.place_columns = lay.place ? lay.place : lay.name - 2;
		shown.called_columns = lay.called;
	}
	struct apart *apart = apart_make(m, l->rows, l->n, shown, &p->style);
	bool more = false;
	for (size_t i = 0; i < l->n; i++) {
		v[i].apart = apart[i];
		more |= apart[i].n != 0;
	}
	if (more && !below)
		lay = arrange(p, v, l->n, before);
	const struct figures *columns = below ? NULL : &f;
	for (size_t i = 0; i < l->n; i++) {
		figures(p, o, l, columns, site_pair(l->rows[i], l->metric), l->rows[i]);
		write_names(p, o, &lay, v[i].name, v[i].place, v[i].called, 0);
		if (v[i].caller)
			write_line(p, o, &lay, '<', v[i].caller, v[i].caller_place);
		for (size_t k = 0; k < apart[i].n; k++)
			write_line(p, o, &lay, apart[i].v[k].sign, apart[i].v[k].name,
				   apart[i].v[k].place);
		struct words lost = list_remarks(p, l, l->rows[i]);
		if (lost.n)
			text_words_in(p, o, &lost, " ", lay.before + 2);
		struct words still = {{list_still(p, l, i)}, 1};
		if (still.v[0])
			text_words_in(p, o, &still, " ", lay.before + 2);
	}
	struct list_rest rest[LIST_RESTS];
	size_t n = list_rests(p, l, rest);
	for (size_t i = 0; i < n; i++) {
		figures(p, o, l, columns, rest[i].v, NULL);
		out_printf(o, "%s\n", rest[i].words);
	}
}

/* Tells whether a trace was cut in a way that leaves the scan's verdict on some blocks unknown. */
static bool some_unknown(struct model *m)
{
	if (!provenance_some(m))
		return false;
	for (size_t i = 0; i < m->sites.n; i++)
		if (m->sites.v[i].verdict && strcmp(m->sites.v[i].verdict, "unknown") == 0)
			return true;
	return false;
}

/* Returns the name of a list, with which its title begins. */
static const char *list_name(struct page *p, const struct list *l)
{
	struct model *m = p->m;
	struct ms_arena *a = &m->arena;
	bool end = strcmp(m->at_label, "end") == 0;
	if (l->title)
		return l->title;
	const char *later = unrecorded_peak(m);
	if (l->metric == METRIC_LIVE && end)
		return ms_arena_printf(a, "LIVE %s, %s",
				       m->quality.growing ? "SO FAR" : "AT THE END",
				       words_verdict(m));
	if (l->metric == METRIC_LIVE)
		return ms_arena_printf(a, "LIVE AT %s, %s", say_moment(m, &p->style),
				       words_verdict(m));
	if (l->metric == METRIC_PEAK)
		return m->processes.n > 1   ? "PEAKS of the processes, added up"
		       : l->total.estimated ? "PEAK, estimated"
		       : later              ? later
					    : ms_arena_printf(a, "PEAK at %s",
							      say_time(m, m->totals.peak_time_ns));
	if (metric_is_growth(l->metric))
		return growth_title(m, l->metric);
	if (l->metric == METRIC_HELD && some_unknown(m))
		return "LIVE AT THE END, something points or may point to these";
	if (l->metric == METRIC_MAPPED)
		return ms_arena_printf(
			a, "MAPPED at %s, %s", end ? "the end" : say_moment(m, &p->style),
			moment_heap_is_apart(m) ? "not counting the allocator's own mappings"
						: "including the allocator's own mappings");
	return words[l->metric].name;
}

/* Returns the second figure of a title, ", 12 blocks" or " in 3 calls", or the noun of the first
 * one; "" = the title has neither. */
static const char *list_second(struct page *p, const struct list *l)
{
	struct model *m = p->m;
	const struct ms_spread *e = pair_eb(&l->total);
	const char *then = words[l->metric].then, *one = words[l->metric].one;
	if (l->metric == METRIC_FAILED)
		return l->total.a == 1 ? " call" : " calls";
	if (!then)
		return "";
	return ms_arena_printf(&m->arena, "%s%s", then,
			       one ? est_things(m, l->total.b, e, one)
				   : est_size(m, l->total.b, e));
}

const char *list_title(struct page *p, const struct list *l)
{
	struct model *m = p->m;
	struct ms_arena *a = &m->arena;
	/* lists of some metrics count only the sites whose first figure is not 0 */
	bool some = list_is_of_some(l->metric) && l->total.a != UNKNOWN;
	size_t count = some ? l->with : l->all;
	const char *sites = say_things(m, count, "site");
	if (l->by && l->groups > l->n)
		sites = ms_arena_printf(a, "%s by %s, top %s of %s", sites, grouped_words[l->by],
					say_count(m, l->n), say_count(m, l->groups));
	else if (l->by)
		sites = ms_arena_printf(a, "%s by %s", sites, grouped_words[l->by]);
	else if (count > (some ? l->shown_with : l->shown))
		sites = ms_arena_printf(a, "top %s of %s", say_count(m, l->n), sites);
	return ms_arena_printf(a, "%s: %s%s, %s", list_name(p, l), list_a(p, l->metric, l->total),
			       list_second(p, l), sites);
}

void text_list_view(struct page *p, struct out *o, const struct list *l)
{
	if (l->total.a == UNKNOWN && !l->all) {
		text_title(p, o,
			   ms_arena_printf(&p->m->arena, "No '%s' figures in this snapshot%s",
					   metric_names[l->metric],
					   l->metric == METRIC_MAPPED
						   ? ": record with ms-record --mmap"
						   : ""));
		return;
	}
	text_title(p, o, list_title(p, l));
	struct words terms = words_scan_terms(p->m);
	if (l->metric == METRIC_LIVE && terms.n)
		text_words(p, o, "Scan", &terms, ", ");
	if (l->all || any(l->hidden) || any(l->other))
		text_list(p, o, l, true);
}
