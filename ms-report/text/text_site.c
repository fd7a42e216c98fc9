/* SPDX-License-Identifier: MIT
 * One site: its figures, its threads and its whole stack.
 */
#include "text.h"

#include "ms-report/model/retained.h"
#include "ms-report/output/out.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)
#define FREES_SHOWN 5

void text_under(struct page *p, struct out *o, const char *label, const char *s, size_t indent)
{
	text_pad(o, label, indent);
	struct out tmp = {0};
	struct page narrow = *p;
	narrow.style.width = p->style.width > indent + 11 ? p->style.width - indent : 11;
	text_fold(&narrow, &tmp, s, 0);
	for (size_t i = 0; i < tmp.n; i++) {
		out_char(o, tmp.v[i]);
		if (tmp.v[i] == '\n' && i + 1 < tmp.n)
			out_repeat(o, " ", indent);
	}
	out_free(&tmp);
}

static void one(struct page *p, struct out *o, const char *label, const char *s)
{
	text_under(p, o, label, s, 9);
}

static void calls(struct page *p, struct out *o, const struct site *s)
{
	struct model *m = p->m;
	if (s->allocations == UNKNOWN) {
		one(p, o, "Calls", say_unknown(m));
		return;
	}
	one(p, o, "Calls",
	    SAY("%s of %s, %s; %s temporary, %s realloc, %s failed",
		est_things(m, s->allocations, est_of(s->est, EST_ALLOCATIONS), "allocation"),
		est_size(m, s->allocated_bytes, est_of(s->est, EST_ALLOCATED)),
		est_things(m, s->frees, est_of(s->est, EST_FREES), "free"),
		say_share(m, s->temporary, s->allocations),
		say_share(m, s->reallocations, s->allocations),
		say_count(m, s->failed_allocations)));
}

/* Returns the verdict on a site: "unreachable: 8 B in 1 block that nothing points to, + 32.0 KiB in
 * 2,047 blocks lost with it". */
static const char *verdict(struct page *p, const struct site *s)
{
	struct model *m = p->m;
	const char *words = name_clean(&m->arena, s->verdict, p->style.ascii), *gap = ": ";
	const struct {
		struct live live;
		const char *gap, *words;
	} parts[] = {{s->direct, "; ", " that nothing points to"},
		     {s->with, ", + ", " lost with it"},
		     {{figure_sub(s->lost.bytes, s->direct.bytes),
		       figure_sub(s->lost.blocks, s->direct.blocks)},
		      "; ",
		      " that only unreachable ones point to"},
		     {s->late, "; ", " allocated after the scan, not judged"}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i].live.blocks)
			continue;
		words = SAY("%s%s%s%s", words, *gap == ':' ? gap : parts[i].gap,
			    say_live(m, parts[i].live), parts[i].words);
		gap = "";
	}
	return words;
}

static void figures(struct page *p, struct out *o, const struct site *s)
{
	struct model *m = p->m;
	one(p, o, "Live",
	    SAY("%s at %s", est_live(m, s->at, s->est, EST_AT), say_moment(m, &p->style)));
	if (m->peak.bytes != UNKNOWN)
		one(p, o, "Peak",
		    SAY("%s at the peak of the program; its own maximum %s%s%s",
			est_live(m, s->peak, s->est, EST_PEAK), say_size(m, s->max_live_bytes),
			s->max_live_blocks == UNKNOWN ? "" : " in ",
			s->max_live_blocks == UNKNOWN
				? ""
				: say_things(m, s->max_live_blocks, "block")));
	calls(p, o, s);
	if (s->min_size != UNKNOWN && s->allocations && s->allocations != UNKNOWN)
		one(p, o, "Sizes",
		    SAY("from %s to %s, mean %s", say_size(m, s->min_size),
			say_size(m, s->max_size),
			say_size(m, s->allocated_bytes / s->allocations)));
	if (s->first_ns != UNKNOWN)
		one(p, o, "When",
		    SAY("first allocation at %s, last at %s", say_time(m, s->first_ns),
			say_time(m, s->last_ns)));
	if (s->lifetime_ns == UNKNOWN)
		one(p, o, "Lifetime", say_unknown(m));
	else if (s->frees && s->frees != UNKNOWN)
		one(p, o, "Lifetime",
		    SAY("freed blocks lived for %s, or %s, on average",
			say_time(m, s->lifetime_ns / s->frees),
			say_things(m,
				   s->lifetime_allocations == UNKNOWN
					   ? UNKNOWN
					   : s->lifetime_allocations / s->frees,
				   "other allocation")));
	struct mmap_usage b = s->at_mmap;
	if (b.usable != UNKNOWN && s->at.blocks)
		one(p, o, "Slack",
		    SAY("%s of %s usable at %s", say_size(m, figure_sub(b.usable, s->at.bytes)),
			say_size(m, b.usable), say_moment(m, &p->style)));
	if (b.mapped != UNKNOWN && s->maps && s->maps != UNKNOWN)
		one(p, o, "Mapped",
		    SAY("%s at %s; %s in %s in all", say_size(m, b.mapped),
			say_moment(m, &p->style), say_size(m, s->mapped_bytes),
			say_things(m, s->maps, "call")));
	if (s->verdict)
		one(p, o, "Verdict", verdict(p, s));
}

/* Writes which threads allocated at the site, or under which labels. */
static void threads(struct page *p, struct out *o, const struct site *s, bool labels)
{
	struct model *m = p->m;
	struct table t = site_threads(m, s, labels);
	const char *list = "";
	for (size_t i = 0; i < t.n && i < 8; i++) {
		const struct cell *c = t.rows[i].cells;
		const char *name = c[SITE_THREAD_NAME].s;
		list = SAY("%s%s%s%s %s", list, i ? ", " : "",
			   name ? name_clean(&m->arena, name, p->style.ascii) : "thread",
			   labels ? "" : SAY(" (%llu)", (unsigned long long)c[SITE_THREAD_TID].n),
			   say_share(m, c[SITE_THREAD_CALLS].n, s->allocations));
	}
	if (t.n > 8)
		list = SAY("%s, %s more", list, say_count(m, t.n - 8));
	if (t.n)
		one(p, o, labels ? "Labels" : "Threads", list);
}

/* Writes what the unfreed blocks have in common and the freed ones have not. */
static void unfreed(struct page *p, struct out *o, const struct site *s)
{
	struct words w = unfreed_words(p->m, s, p->style.ascii);
	for (size_t i = 0; i < w.n; i++)
		one(p, o, i ? "" : "Unfreed", w.v[i]);
}

/* Writes a frame: " 3 orderd::Feed::tick(Frame const&) src/feed.cpp:130". The place is below if it
 * does not fit. */
static void stack_line(struct page *p, struct out *o, size_t i, const struct frame *f,
		       size_t column, bool named)
{
	struct ms_arena *a = &p->m->arena;
	const struct style all = {.ascii = p->style.ascii, .full_names = true};
	const char *name = frame_label(a, p->m, f, &all),
		   *place = frame_place(a, p->m, f, &p->style);
	const char *remark = f->inlined ? (named ? "   [inlined]   <- named after" : "   [inlined]")
			     : named    ? "   <- named after"
					: "";
	size_t used = 5, w = name_width(name), rest = name_width(place) + strlen(remark);
	if (used + w + 2 + rest <= p->style.width || p->style.full_names) {
		out_printf(o, "%3zu  %s", i, name);
		size_t gap = w < column ? column - w : 0, room = p->style.width - 7 - w - rest;
		if (*place)
			out_repeat(o, " ", (gap < room || p->style.full_names ? gap : room) + 2);
		out_printf(o, "%s%s\n", place, remark);
		return;
	}
	/* this view must show whole names: they are folded, not cut */
	text_under(p, o, SAY("%3zu", i), name, 5);
	bool one_line = *place && 9 + rest <= p->style.width;
	if (*place)
		text_under(p, o, "", one_line ? SAY("%s%s", place, remark) : place, 9);
	if (*remark && !one_line)
		text_under(p, o, "", remark + 3, 9);
}

/* Returns how many more times the `period` frames at index `from` occur in direct succession. */
static size_t rounds(const uint32_t *frames, size_t n, size_t from, size_t period)
{
	size_t r = 0;
	while (from + (r + 2) * period <= n &&
	       memcmp(frames + from, frames + from + (r + 1) * period, period * sizeof *frames) ==
		       0)
		r++;
	return r;
}

/* Limits the frames per round of a recursion that is folded to one round and the number of further
 * rounds. */
#define ROUND_MAX 8u
static void stack_lines(struct page *p, struct out *o, const struct site *s, size_t column)
{
	struct model *m = p->m;
	uint32_t *frames = ms_arena_alloc(&m->arena, (m->nodes.n + 1) * sizeof *frames);
	size_t n = model_stack(m, s->stack, frames), user = model_user_depth(m, s);
	for (size_t i = 0; i < n;) {
		size_t period = 1, more = 0;
		while (!p->style.full_names && period <= ROUND_MAX &&
		       (more = rounds(frames, n, i, period)) < 2)
			period++;
		more = period > ROUND_MAX || p->style.full_names ? 0 : more;
		size_t end = i + (more ? period : 1);
		for (; i < end; i++)
			stack_line(p, o, i, &m->frames.v[frames[i]], column, i == user);
		if (more)
			text_under(p, o, "",
				   SAY("%s of the %s above: recursion",
				       say_things(m, more, "more round"),
				       say_things(m, period, "frame")),
				   5);
		i += more * period;
	}
	if (!n)
		out_str(o, "     no stack was recorded\n");
}

/* ---- where blocks were freed ---- */

/* Returns where a block was freed, in `room` columns: "drop src/parser.cpp:91 < Session::close". If
 * room is short, the caller is left out first, then name and place are shortened. */
static const char *freed_where(struct page *p, uint32_t node, size_t room)
{
	struct model *m = p->m;
	struct ms_arena *a = &m->arena;
	bool ascii = p->style.ascii, whole = p->style.full_names;
	const struct frame *f = model_frame(m, node);
	if (!f)
		return "(no stack)";
	const char *name = frame_label(a, m, f, &p->style),
		   *place = frame_place(a, m, f, &p->style),
		   *words = *place ? SAY("%s  %s", name, place) : name;
	if (!whole && name_width(words) > room) {
		/* a file and its line are more useful than the scope of a name */
		size_t half = room / 2, file = name_width(base_name(place)) + 2,
		       most = room > 12 ? room - 10 : 2;
		most = file < most ? file : most;
		most = most > half ? most : half;
		place = name_cut_start(a, place, most, ascii);
		size_t used = *place ? name_width(place) + 2 : 0;
		name = name_fit(a, name, room > used ? room - used : 1, ascii);
		return *place ? SAY("%s  %s", name, place) : name;
	}
	const struct frame *caller = model_frame(m, m->nodes.v[node].parent);
	if (!caller || caller->runtime || caller->note)
		return words;
	const char *by = frame_label(a, m, caller, &p->style);
	size_t left = room > name_width(words) + 3 ? room - name_width(words) - 3 : 0;
	by = whole ? by : name_fit(a, by, left, ascii);
	return whole || left >= 8 ? SAY("%s < %s", words, by) : words;
}

/* Writes a row of shares and amounts, then `before` and the place of `node`. */
static void amount(struct page *p, struct out *o, const char *figures, const char *before,
		   uint32_t node)
{
	bool below = p->style.width < strlen(figures) + 24 && !p->style.full_names;
	size_t used = (below ? 8 : strlen(figures)) + strlen(before);
	out_str(o, figures);
	if (below) {
		text_end_line(o);
		out_repeat(o, " ", 8);
	}
	size_t room = p->style.width > used + 8 ? p->style.width - used : 8;
	out_printf(o, "%s%s\n", before, freed_where(p, node, room));
}

static void frees(struct page *p, struct out *o, const struct site *s)
{
	struct model *m = p->m;
	struct table t = site_frees(m, s);
	uint64_t all = 0, more = 0;
	if (!t.n)
		return;
	for (size_t i = 0; i < t.n; i++) {
		uint64_t n = t.rows[i].cells[SITE_FREE_FREES].n;
		all = figure_add(all, n);
		more = i < FREES_SHOWN ? 0 : figure_add(more, n);
	}
	out_str(o, "\nFreed by\n");
	for (size_t i = 0; i < t.n && i < FREES_SHOWN; i++) {
		const struct cell *c = t.rows[i].cells;
		const char *figures =
			SAY("%6s  %9s in %s  ", say_share(m, c[SITE_FREE_FREES].n, all),
			    say_size(m, c[SITE_FREE_BYTES].n),
			    say_things(m, c[SITE_FREE_FREES].n, "free"));
		amount(p, o, figures, "", (uint32_t)c[SITE_FREE_NODE].n);
	}
	if (t.n > FREES_SHOWN)
		out_printf(o, "%6s  %s\n", say_share(m, more, all),
			   say_things(m, t.n - FREES_SHOWN, "more stack"));
}

/* ---- what is lost with it ---- */

static void lost(struct page *p, struct out *o, const struct site *s, bool roots)
{
	struct model *m = p->m;
	struct retained_rows r = retained_rows(m, s, roots, true);
	uint64_t all = 0, more = 0;
	for (size_t i = 0; i < r.n; i++) {
		all = figure_add(all, r.v[i].live.bytes);
		more = i < FREES_SHOWN ? 0 : figure_add(more, r.v[i].live.bytes);
	}
	if (r.n)
		out_str(o, roots ? "\nIts indirect blocks are lost with blocks of\n"
				 : "\nLost with it\n");
	for (size_t i = 0; i < r.n && i < FREES_SHOWN; i++) {
		const struct retained_row *x = &r.v[i];
		amount(p, o,
		       SAY("%6s  %9s in %s  ", say_share(m, x->live.bytes, all),
			   say_size(m, x->live.bytes), say_things(m, x->live.blocks, "block")),
		       x->sites == 1 ? SAY("#%lld  ", (long long)x->site->id)
				     : SAY("#%lld and %s  ", (long long)x->site->id,
					   say_things(m, x->sites - 1, "more site")),
		       x->site->user == NONE ? x->site->stack : x->site->user);
	}
	if (r.n > FREES_SHOWN)
		out_printf(o, "%6s  %s\n", say_share(m, more, all),
			   say_things(m, r.n - FREES_SHOWN, "more place"));
}

/* Writes a table with bars below a blank line, unless it is empty. */
static void bars(struct page *p, struct out *o, struct table t)
{
	if (!t.n)
		return;
	out_char(o, '\n');
	text_table(p, o, &t);
}

void text_site(struct page *p, struct out *o, const struct site *s)
{
	struct model *m = p->m;
	const struct frame *f = site_frame(m, s);
	const char *where = f ? frame_label(&m->arena, m, f, &p->style) : "(no stack)";
	const char *place = f ? frame_place(&m->arena, m, f, &p->style) : "";
	text_title(p, o, SAY("SITE %lld  %s  %s", (long long)s->id, where, place));
	if (m->processes.n > 1)
		one(p, o, "Process",
		    SAY("pid %llu %s", (unsigned long long)m->processes.v[s->process].pid,
			m->processes.v[s->process].exe
				? name_clean(&m->arena, m->processes.v[s->process].exe,
					     p->style.ascii)
				: ""));
	figures(p, o, s);
	const char *kept = kept_shares(m, s, &p->style);
	if (kept)
		one(p, o, "Kept by", SAY("%s; see --why %lld", kept, (long long)s->id));
	threads(p, o, s, false);
	threads(p, o, s, true);
	unfreed(p, o, s);
	bars(p, o, site_sizes(m, s));
	bars(p, o, site_lifetimes(m, s, false));
	bars(p, o, site_lifetimes(m, s, true));
	frees(p, o, s);
	lost(p, o, s, true);
	lost(p, o, s, false);
	out_str(o, "\nStack, the allocation first\n");
	const struct style all = {.ascii = p->style.ascii, .full_names = true};
	size_t column = 0;
	for (uint32_t n = s->stack; n != NONE; n = m->nodes.v[n].parent) {
		size_t w = name_width(
			frame_label(&m->arena, m, &m->frames.v[m->nodes.v[n].frame], &all));
		column = w > column && w <= p->style.width * 6 / 10 ? w : column;
	}
	stack_lines(p, o, s, column);
}
