/* SPDX-License-Identifier: MIT
 * The first screen: what ran, the quality of the figures, the heap against RSS, the main sites, and
 * suggested commands.
 */
#include "text.h"

#include "libcommon/model/facts.h"
#include "ms-report/model/first_screen.h"
#include "ms-report/model/curve.h"
#include "ms-report/output/out.h"
#include "ms-report/words/next.h"

#include "libcommon/stats/sparkline.h"

#include <string.h>

enum { NEXT_INDENT = 9 }; /* columns of the label "Next" */
#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

/* Writes a label and one or two parts with a wide gap between them; nothing if `a` is NULL. */
static void line(struct page *p, struct out *o, const char *label, const char *a, const char *b)
{
	if (!a)
		return;
	struct words w = {.v = {a, b}, .n = b && *b ? 2 : 1};
	/* the second part begins at column 50 if the line is wide enough */
	size_t n = name_width(a);
	bool wide = w.n == 2 && p->style.width >= 90 && n < 50;
	if (wide)
		w.v[0] = SAY("%s%*s", a, (int)(50 - n), "");
	text_words(p, o, label, &w, wide ? "" : "   ");
}

static const char *rate(struct page *p)
{
	struct model *m = p->m;
	uint64_t n = m->totals.allocations, ns = m->duration_ns;
	if (m->to_ns < ns)
		ns = m->to_ns;
	if (m->from_ns != UNKNOWN)
		ns = ns > m->from_ns ? ns - m->from_ns : 0;
	if (n == UNKNOWN || !n || ns < 1000000 || m->est)
		return "";
	double v = (double)n * 1e9 / (double)ns;
	if (v >= 9950)
		return SAY(", %.0f k/s", v / 1000);
	return v >= 99.5 ? SAY(", %.1f k/s", v / 1000) : SAY(", %.1f/s", v);
}

static void heap_and_rss(struct page *p, struct out *o)
{
	struct model *m = p->m;
	const struct totals *t = &m->totals;
	bool timed = t->peak_time_ns != UNKNOWN && t->peak_blocks != 0;
	const char *peak_of = words_image(m, m->peak_image), *end_of = words_image(m, m->end_image);
	bool together = m->processes.n > 1 && !peak_of;
	line(p, o, "Heap",
	     SAY("peak %s%s%s%s%s%s", est_size(m, t->peak_bytes, est_of(m->est, EST_PEAK)),
		 together ? " of all processes" : " in ",
		 together ? ""
			  : est_things(m, t->peak_blocks, est_of(m->est, EST_PEAK_BLOCKS), "block"),
		 timed ? " at " : "", timed ? say_time(m, t->peak_time_ns) : "",
		 peak_of ? peak_of : ""),
	     SAY("%s %s%s", m->quality.growing ? "now" : "end",
		 est_live(m, (struct live){t->unfreed_bytes, t->unfreed_blocks}, m->est, EST_END),
		 end_of ? end_of : ""));
	line(p, o, "Exec", words_exec(m), NULL);
	line(p, o, "Blocks", words_born(m), NULL);
	if (t->peak_rss_bytes == UNKNOWN)
		return;
	const char *apart = "";
	if (t->unfreed_bytes != UNKNOWN && t->end_rss_bytes != UNKNOWN &&
	    t->end_rss_bytes > t->unfreed_bytes && !m->est && !provenance_some(m))
		apart = SAY(", %s of it not live heap%s",
			    say_size(m, t->end_rss_bytes - t->unfreed_bytes),
			    resident_known(m) ? " (see --resident)" : "");
	line(p, o, "RSS", SAY("peak %s %s", say_size(m, t->peak_rss_bytes), words_rss_peak_time(m)),
	     SAY("%s %s%s", m->quality.growing ? "now" : "end", say_size(m, t->end_rss_bytes),
		 apart));
	line(p, o, "Where", words_beside_heap(m), NULL);
}

static void calls(struct page *p, struct out *o)
{
	struct model *m = p->m;
	const struct totals *t = &m->totals;
	if (words_idle(m)) {
		line(p, o, "Calls", words_idle(m), NULL);
		return;
	}
	const char *failed = figure_some(t->failed_allocations)
				     ? SAY(", %s failed", say_count(m, t->failed_allocations))
				     : "";
	line(p, o, "Calls",
	     SAY("%s of %s%s",
		 est_things(m, t->allocations, est_of(m->est, EST_ALLOCATIONS), "allocation"),
		 est_size(m, t->allocated_bytes, est_of(m->est, EST_ALLOCATED)), rate(p)),
	     SAY("%s temporary%s, %s realloc%s",
		 say_share(m, t->temporary_allocations, t->allocations), words_soon(m),
		 say_share(m, t->reallocations, t->allocations), failed));
}

static const char *marks(struct page *p)
{
	struct model *m = p->m;
	const char *s = "";
	for (size_t i = 0; i < m->marks.n && i < 4; i++)
		s = SAY("%s%s%s %s", s, i ? ", " : "   marks: ",
			name_cut(&m->arena,
				 name_clean(&m->arena, m->marks.v[i].name, p->style.ascii), 24,
				 p->style.ascii),
			say_time(m, m->marks.v[i].time_ns));
	return m->marks.n > 4 ? SAY("%s, %s more", s, say_count(m, m->marks.n - 4)) : s;
}

/* Writes a chart with one character per span, scaled to `max`; unknown values are blank. */
static void spark(struct out *o, const uint64_t *values, size_t n, uint64_t max, bool ascii)
{
	for (size_t i = 0; i < n; i++) {
		if (values[i] == UNKNOWN) {
			out_str(o, " ");
			continue;
		}
		double part = max ? (double)values[i] / (double)max : 0;
		out_str(o, ms_spark_bar(part, ascii));
	}
}

static void curves(struct page *p, struct out *o)
{
	struct model *m = p->m;
	/* with several processes, the error of their sum was not recorded */
	const char *most = !m->est ? "1,023.9 MiB"
			   : m->processes.n > 1
				   ? say_unknown(m)
				   : est_size(m, m->totals.peak_bytes, est_of(m->est, EST_PEAK));
	size_t rest = 9 + strlen("   of ") + name_width(most), n = 36;
	if (n + rest > p->style.width)
		n = p->style.width > rest + 4 ? p->style.width - rest : 4;
	struct span *s;
	n = curve_make(m, n, &s);
	if (!n)
		return;
	uint64_t *live = ms_arena_alloc(&m->arena, n * sizeof *live);
	uint64_t *rss = ms_arena_alloc(&m->arena, n * sizeof *rss);
	uint64_t live_max = 0, rss_max = 0;
	for (size_t i = 0; i < n; i++) {
		live[i] = s[i].live_max;
		rss[i] = s[i].rss;
		live_max = figure_or_0(live[i]) > live_max ? live[i] : live_max;
		rss_max = figure_or_0(rss[i]) > rss_max ? rss[i] : rss_max;
	}
	out_str(o, "Live     ");
	spark(o, live, n, live_max, p->style.ascii);
	if (!m->est)
		most = say_size(m, live_max);
	const char *tail = SAY("   of %s", most), *named = marks(p);
	out_str(o, tail);
	if (9 + n + strlen(tail) + name_width(named) <= p->style.width)
		out_str(o, named);
	out_char(o, '\n');
	if (rss_max) {
		out_str(o, "RSS      ");
		spark(o, rss, n, rss_max, p->style.ascii);
		out_printf(o, "   of %s\n", say_size(m, rss_max));
	}
	if (*named && 9 + n + strlen(tail) + name_width(named) > p->style.width)
		line(p, o, "Marks", named + 10, NULL);
}

/* Returns a frame's name, shortened to one line beside a label. */
static const char *name_of_line(struct page *p, const struct frame *f)
{
	const char *s = frame_label(&p->m->arena, p->m, f, &p->style);
	size_t width = p->style.width > 30 ? p->style.width - 9 : 21;
	return p->style.full_names ? s : name_fit(&p->m->arena, s, width, p->style.ascii);
}

/* Writes a line on the most frequent calls, or on the site with the most allocated bytes. */
static void put_most(struct page *p, struct out *o, const struct list *l, bool both)
{
	struct model *m = p->m;
	const struct site *s = l->rows[0];
	const struct frame *f = site_frame(m, s);
	bool calls = l->metric != METRIC_ALLOCATED, churn = l->metric == METRIC_CHURN;
	const struct frame *caller = site_caller(m, s);
	struct words w = {.n = 1}, besides = words_besides(m, s, &p->style),
		     remarks = list_remarks(p, l, s);
	w.v[0] = SAY("%s%s: %s %s%s", calls ? "" : "ALLOCATED ", words_share(m, l, both),
		     name_of_line(p, f),
		     name_cut_start(&m->arena, frame_place(&m->arena, m, f, &p->style), 40,
				    p->style.ascii),
		     churn ? "" : SAY("  #%lld", (long long)s->id));
	for (size_t i = 0; i < remarks.n; i++)
		words_add(&w, remarks.v[i]);
	if (caller)
		words_add(&w, SAY("called by %s", frame_label(&m->arena, m, caller, &p->style)));
	for (size_t i = 0; i < besides.n; i++)
		words_add(&w, besides.v[i]);
	text_words(p, o, churn ? "CHURN" : calls ? "BUSIEST" : "MOST", &w, ", ");
}

/* Writes the suggested commands, each followed by a description in a second column if it fits. */
static void next(struct page *p, struct out *o, const struct first_screen *f)
{
	struct next v[NEXT_MAX];
	size_t room = text_command_room(p, NEXT_INDENT), n = next_commands(p, f, room, v),
	       width = 0;
	for (size_t i = 0; i < n; i++) {
		size_t w = name_width(next_line(p, &v[i]));
		if (w + 4 + strlen(v[i].why) <= room)
			width = w > width ? w : width;
	}
	for (size_t i = 0; i < n; i++) {
		out_str(o, i ? "         " : "Next     ");
		text_command(p, o, v[i].words, v[i].n, NEXT_INDENT);
		size_t w = name_width(next_line(p, &v[i]));
		if (w <= width && width + 4 + strlen(v[i].why) <= room) {
			out_repeat(o, " ", width - w + 4);
			out_str(o, v[i].why);
		}
		out_char(o, '\n');
	}
}

void text_who(struct page *p, struct out *o)
{
	struct words who = words_who(p->m, &p->style), quality = words_quality(p->m);
	text_words(p, o, NULL, &who, "   ");
	text_words(p, o, "Quality", &quality, ", ");
	out_char(o, '\n');
}

void text_verdict(struct page *p, struct out *o)
{
	struct words verdict = growth_verdict(p->m, &p->style);
	if (verdict.n)
		text_words(p, o, "Growth", &verdict, "; ");
}

/* Writes a list of groups, with the commands that show the sites of the first one and all
 * groups. */
static void put_grouped(struct page *p, struct out *o, const struct list *l)
{
	struct table t = grouped_table(p->m, l);
	const struct grouped_command v[] = {grouped_sites(p->m, l), grouped_all(p->m, l)};
	const char *input = next_input(p, text_command_room(p, NEXT_INDENT));
	text_table(p, o, &t);
	line(p, o, "Besides", list_still_all(p, l), NULL);
	for (size_t i = 0; i < 2; i++) {
		out_printf(o, "%-*s", NEXT_INDENT, v[i].label);
		text_command(p, o, (const char *[]){v[i].before, input}, 2, NEXT_INDENT);
		out_printf(o, "%s\n", v[i].after);
	}
}

/* Writes a group. Two groups with one line each have no blank line between them. Of the lists of
 * peak and live memory only the first shows callers, since most sites are in both. */
static void group(struct page *p, struct out *o, const struct first_screen *f, size_t i)
{
	const struct list *l = &f->lists[i];
	if (!first_screen_is_most(l) || !i || !first_screen_is_most(&f->lists[i - 1]))
		out_char(o, '\n');
	if (first_screen_is_most(l)) {
		put_most(p, o, l, f->both);
		return;
	}
	text_title(p, o, list_title(p, l));
	if (l->by)
		put_grouped(p, o, l);
	else if (l->all || l->hidden.b)
		text_list(p, o, l, l->metric != (f->tidy ? METRIC_HELD : METRIC_PEAK));
}

/* Writes what keeps blocks alive in front of group `i`, if that is its place. */
static bool kept(struct page *p, struct out *o, const struct first_screen *f, size_t i,
		 size_t limit)
{
	struct table t = {0};
	if (i == f->kept)
		t = kept_table(p->m, limit, &p->style);
	if (!t.title)
		return false;
	out_char(o, '\n');
	text_table(p, o, &t);
	return true;
}

void text_first(struct page *p, struct out *o, size_t limit)
{
	struct model *m = p->m;
	if (figure_some(m->quality.attached))
		text_verdict(p, o);
	text_who(p, o);
	heap_and_rss(p, o);
	/* the parts of RSS (heap, slack, mapped address space), if they were recorded */
	line(p, o, "At peak", m->processes.n == 1 ? words_rss(m, "peak") : NULL, NULL);
	line(p, o, "At end", words_rss(m, "end"), NULL);
	line(p, o, "Heaps", heaps_line(m), NULL);
	calls(p, o);
	curves(p, o);
	struct first_screen f = first_screen_groups(m, limit, !p->style.full_names);
	for (size_t i = 0; i < f.n; i++) {
		kept(p, o, &f, i, limit);
		group(p, o, &f, i);
	}
	if (kept(p, o, &f, f.n, limit) || !f.n || !first_screen_is_most(&f.lists[f.n - 1]))
		out_char(o, '\n');
	struct words hidden = {{words_hidden(m, &p->style), words_one_time(m)}, 1};
	hidden.n += hidden.v[1] != NULL;
	text_words(p, o, "Hidden", &hidden, "; ");
	next(p, o, &f);
}
