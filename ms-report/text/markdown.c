/* SPDX-License-Identifier: MIT
 * Markdown for a pull request or a CI log: tables that GitHub and GitLab show.
 */
#include "text.h"

#include "libcommon/model/facts.h"
#include "ms-report/model/first_screen.h"
#include "ms-report/output/out.h"
#include "ms-report/words/apart.h"
#include "ms-report/words/next.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

/* Writes plain text; escapes all that Markdown would format or turn into a mention or a
 * reference. */
void markdown_plain(struct page *p, struct out *o, const char *s)
{
	out_escaped(o, name_clean(&p->m->arena, s, p->style.ascii), "<>&@#|", "\\`*_{}[]()!~$");
}

/* Writes plain text between two texts that are Markdown already; nothing if `s` is NULL. */
static void put_between(struct page *p, struct out *o, const char *before, const char *s,
			const char *after)
{
	if (!s)
		return;
	out_str(o, before);
	markdown_plain(p, o, s);
	out_str(o, after);
}

/* Writes code that is safe in a table cell: backticks and bars are replaced by similar
 * characters. */
void markdown_code(struct page *p, struct out *o, const char *s)
{
	s = name_clean(&p->m->arena, s, p->style.ascii);
	if (!*s)
		return;
	out_char(o, '`');
	for (; *s; s++) {
		if (*s == '`')
			out_char(o, '\'');
		else if (*s == '|')
			out_str(o, p->style.ascii ? "!" : "\xc7\x80");
		else
			out_char(o, *s);
	}
	out_char(o, '`');
}

/* Returns a name or other text, shortened to the most columns that a cell should have. */
static const char *limited(struct page *p, const char *s, bool name)
{
	return (name ? name_fit : name_cut)(&p->m->arena, s, p->style.full_names ? 400 : 100,
					    p->style.ascii);
}

void markdown_banner(struct page *p, struct out *o)
{
	put_between(p, o, "> :warning: **INCOMPLETE**: ", words_incomplete(p->m), "\n\n");
	put_between(p, o, "> :warning: **NOT ALL COMPARED**: ", diff_unmatched(p->m), "\n\n");
	put_between(p, o, "> :warning: **", words_nothing(p->m, &p->style), "**\n\n");
}

static void put_words(struct page *p, struct out *o, const struct words *w, const char *gap,
		      size_t from)
{
	for (size_t i = from; i < w->n; i++) {
		if (i > from)
			out_str(o, gap);
		markdown_plain(p, o, w->v[i]);
	}
}

static void figures_table(struct page *p, struct out *o)
{
	struct model *m = p->m;
	const struct totals *t = &m->totals;
	const struct estimates *e = m->est;
	const char *peak_of = words_image(m, m->peak_image), *end_of = words_image(m, m->end_image);
	const char *rows[][4] = {
		{"peak live", est_size(m, t->peak_bytes, est_of(e, EST_PEAK)),
		 m->processes.n > 1 && !peak_of
			 ? SAY("of all processes together, at %s", say_time(m, t->peak_time_ns))
			 : SAY("%s%s%s",
			       est_things(m, t->peak_blocks, est_of(e, EST_PEAK_BLOCKS), "block"),
			       e ? ", estimated" : " at ", e ? "" : say_time(m, t->peak_time_ns)),
		 peak_of},
		{m->quality.growing ? "live so far" : "live at end",
		 est_size(m, t->unfreed_bytes, est_of(e, EST_END)),
		 est_things(m, t->unfreed_blocks, est_of(e, EST_END_BLOCKS), "block"), end_of},
		{"unreachable at end",
		 t->unreachable_bytes == UNKNOWN ? "not scanned"
						 : say_size(m, t->unreachable_bytes),
		 t->unreachable_blocks == UNKNOWN ? ""
						  : say_things(m, t->unreachable_blocks, "block")},
		{"allocations", est_count(m, t->allocations, est_of(e, EST_ALLOCATIONS)),
		 SAY("%s, %s temporary%s",
		     est_size(m, t->allocated_bytes, est_of(e, EST_ALLOCATED)),
		     say_share(m, t->temporary_allocations, t->allocations), words_soon(m))},
		{"peak RSS", say_size(m, t->peak_rss_bytes),
		 t->peak_rss_bytes == UNKNOWN ? "" : words_rss_peak_time(m)},
	};
	out_str(o, "| figure | value | |\n|---|--:|---|\n");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		out_printf(o, "| %s | %s | %s", rows[i][0], rows[i][1], rows[i][2]);
		put_between(p, o, "", rows[i][3] ? rows[i][3] : "", " |\n");
	}
	put_between(p, o, "| discarded by exec | | ", words_exec(m), " |\n");
	put_between(p, o, "| only blocks | | ", words_born(m), " |\n");
	const char *peak = m->processes.n == 1 ? words_rss(m, "peak") : NULL;
	put_between(p, o, "| memory at the peak | | ", peak, " |\n");
	put_between(p, o, "| memory at the end | | ", words_rss(m, "end"), " |\n");
	put_between(p, o, "| where it is | | ", words_beside_heap(m), " |\n");
	out_char(o, '\n');
}

void markdown_frame(struct page *p, struct out *o, const struct frame *f)
{
	struct ms_arena *a = &p->m->arena;
	markdown_code(p, o,
		      f ? limited(p, frame_label(a, p->m, f, &p->style), true) : "(no stack)");
	const char *place = f ? frame_place(a, p->m, f, &p->style) : "";
	const char *page = *place ? links_page(p->m, &p->links, f) : NULL;
	if (*place) {
		out_str(o, page ? " [" : " ");
		markdown_plain(p, o, name_cut_start(a, place, 80, p->style.ascii));
	}
	if (page)
		out_printf(o, "](%s)", page);
}

static void figures_of(struct page *p, struct out *o, const struct list *l, struct pair v)
{
	out_printf(o, "| %s ", list_a(p, l->metric, v));
	if (list_head(l->metric, true))
		out_printf(o, "| %s ", list_b(p, l->metric, v));
}

void markdown_apart(struct page *p, struct out *o, const struct apart_line *l)
{
	if (*l->name && l->sign == '<')
		out_printf(o, " %s ", text_arrow(p));
	else if (*l->name)
		out_str(o, l->sign == '>' ? ", inside " : ", ");
	if (l->sign == ' ')
		markdown_plain(p, o, limited(p, l->name, false));
	else
		markdown_code(p, o, limited(p, l->name, true));
	if (*l->place)
		put_between(p, o, " ", name_cut_start(&p->m->arena, l->place, 80, p->style.ascii),
			    "");
}

static void put_heads(struct out *o, const struct list *l)
{
	static const char *const heads[METRIC_LISTS] = {"bytes | blocks",
							"bytes | blocks",
							"allocated | calls",
							"calls | allocated",
							"temporary | % of the site's calls",
							"failed | allocations",
							"mapped | calls",
							[METRIC_RISEN] = "bytes",
							[METRIC_CHURN] = "calls | allocated"};
	out_printf(o, "| %s | site |%s where |\n|--:|%s--:|%s---|\n",
		   heads[l->metric] ? heads[l->metric] : heads[METRIC_LIVE],
		   l->verdicts ? " verdict |" : "", list_head(l->metric, true) ? "--:|" : "",
		   l->verdicts ? "---|" : "");
}

/* Writes a row up to its end, so that the caller can add to it. */
static void put_site(struct page *p, struct out *o, const struct list *l, const struct site *s,
		     const struct apart *apart)
{
	struct model *m = p->m;
	struct ms_arena *a = &m->arena;
	const struct frame *called = site_called(m, s), *caller = site_caller(m, s);
	figures_of(p, o, l, site_pair(s, l->metric));
	out_printf(o, "| %lld | ", (long long)s->id);
	if (l->verdicts) {
		markdown_plain(p, o, list_verdict(p, s));
		out_str(o, " | ");
	}
	markdown_frame(p, o, site_frame(m, s));
	put_between(p, o, ", ", s->one_time, " of the runtime");
	if (called && !s->one_time) {
		out_str(o, ", calls ");
		markdown_code(p, o, limited(p, frame_label(a, m, called, &p->style), true));
	}
	if (caller) {
		out_printf(o, " %s ", text_arrow(p));
		markdown_code(p, o, limited(p, frame_label(a, m, caller, &p->style), true));
	}
	for (size_t k = 0; apart && k < apart->n; k++)
		markdown_apart(p, o, &apart->v[k]);
	struct words besides = list_remarks(p, l, s);
	for (size_t k = 0; k < besides.n; k++)
		put_between(p, o,
			    !k                          ? ": "
			    : l->metric == METRIC_CHURN ? ", "
							: " ",
			    besides.v[k], "");
}

void markdown_list(struct page *p, struct out *o, const struct list *l)
{
	struct apart_shown shown = {.called = true, .caller = true};
	struct apart *apart = apart_make(p->m, l->rows, l->n, shown, &p->style);
	put_between(p, o, "#### ", list_title(p, l), "\n\n");
	struct words terms = words_scan_terms(p->m);
	for (size_t i = 0; l->metric == METRIC_LIVE && i < terms.n; i++)
		put_between(p, o, i ? ", " : "Scan: ", terms.v[i], i + 1 < terms.n ? "" : "\n\n");
	put_heads(o, l);
	for (size_t i = 0; i < l->n; i++) {
		put_site(p, o, l, l->rows[i], &apart[i]);
		put_between(p, o, "; ", list_still(p, l, i), "");
		out_str(o, " |\n");
	}
	struct list_rest rest[LIST_RESTS];
	size_t n = list_rests(p, l, rest);
	for (size_t i = 0; i < n; i++) {
		if (!figure_some(rest[i].v.a) && !figure_some(rest[i].v.b))
			continue;
		figures_of(p, o, l, rest[i].v);
		out_printf(o, "| |%s %s |\n", l->verdicts ? " |" : "", rest[i].words);
	}
	out_char(o, '\n');
}

/* Writes a cell; `function`: text for a column of functions. */
static void put_cell(struct page *p, struct out *o, const struct column *c, const struct row *r,
		     const struct cell *x, const char *function)
{
	struct model *m = p->m;
	const char *name = x->s ? name_clean(&m->arena, x->s, p->style.ascii) : "";
	if (c->kind == CELL_FUNCTION && r->kind == ROW_ITEM)
		markdown_code(p, o, limited(p, function, true));
	else if (!column_is_number(c))
		markdown_plain(p, o, limited(p, name, false));
	else
		out_str(o, cell_number(m, c, x, r->kind));
}

static bool shown(const struct column *c)
{
	return c->title && c->kind != CELL_BAR;
}

void markdown_table(struct page *p, struct out *o, const struct table *t)
{
	put_between(p, o, "#### ", t->title, "\n\n");
	if (!t->n) {
		out_printf(o, "%s\n\n", t->empty ? t->empty : "nothing");
		return;
	}
	for (size_t c = 0; c < t->column_count; c++)
		if (shown(&t->columns[c])) {
			out_str(o, "| ");
			markdown_plain(p, o, t->columns[c].title);
			out_char(o, ' ');
		}
	out_str(o, "|\n");
	for (size_t c = 0; c < t->column_count; c++)
		if (shown(&t->columns[c]))
			out_str(o, column_is_number(&t->columns[c]) ? "|--:" : "|---");
	out_str(o, "|\n");
	const char ***names = ms_arena_alloc(&p->m->arena, t->column_count * sizeof *names);
	for (size_t c = 0; c < t->column_count; c++)
		names[c] =
			t->columns[c].kind == CELL_FUNCTION ? table_functions(p, t, c, 100) : NULL;
	for (size_t i = 0; i < t->n; i++) {
		for (size_t c = 0; c < t->column_count; c++) {
			if (!shown(&t->columns[c]))
				continue;
			out_str(o, "| ");
			put_cell(p, o, &t->columns[c], &t->rows[i], &t->rows[i].cells[c],
				 names[c] ? names[c][i] : "");
			out_char(o, ' ');
		}
		out_str(o, "|\n");
	}
	out_char(o, '\n');
}

void markdown_text(struct out *o, const struct out *text)
{
	size_t fence = 3, run = 0; /* longer than any run of backticks in the text */
	for (size_t i = 0; i < text->n; i++) {
		run = text->v[i] == '`' ? run + 1 : 0;
		fence = run >= fence ? run + 1 : fence;
	}
	out_repeat(o, "`", fence);
	out_str(o, "text\n");
	out_put(o, text->v, text->n);
	out_repeat(o, "`", fence);
	out_str(o, "\n\n");
}

void markdown_verdict(struct page *p, struct out *o)
{
	struct words verdict = growth_verdict(p->m, &p->style);
	if (!verdict.n)
		return;
	out_str(o, "**Growth**: ");
	put_words(p, o, &verdict, "; ", 0);
	out_str(o, "\n\n");
}

/* Writes a table of one row: the most frequent calls, or the site with the most allocated bytes. */
static void put_most(struct page *p, struct out *o, const struct list *l, bool both)
{
	struct model *m = p->m;
	const struct site *s = l->rows[0];
	struct words besides = words_besides(m, s, &p->style);
	put_between(p, o,
		    l->metric == METRIC_CHURN         ? "#### CHURN: "
		    : l->metric == METRIC_ALLOCATIONS ? "#### BUSIEST: "
						      : "#### MOST ALLOCATED: ",
		    words_share(m, l, both), "\n\n");
	put_heads(o, l);
	put_site(p, o, l, s, NULL);
	for (size_t i = 0; i < besides.n; i++)
		put_between(p, o, ", ", besides.v[i], "");
	out_str(o, " |\n\n");
}

/* Writes the suggested commands, each with a shell comment. */
static void next(struct page *p, struct out *o, const struct first_screen *f)
{
	struct next v[NEXT_MAX];
	struct out lines = {0};
	size_t n = next_commands(p, f, SIZE_MAX, v);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(v[i].words[1], "--md") == 0)
			continue;
		out_printf(&lines, "%s  # %s\n", next_line(p, &v[i]), v[i].why);
	}
	out_str(o, "Next:\n\n");
	markdown_text(o, &lines);
	out_free(&lines);
}

/* Writes a list of groups, with the commands that show the sites of the first one and all
 * groups. */
static void put_grouped(struct page *p, struct out *o, const struct list *l)
{
	struct table t = grouped_table(p->m, l);
	const struct grouped_command sites = grouped_sites(p->m, l), all = grouped_all(p->m, l);
	struct out commands = {0};
	t.title = list_title(p, l);
	markdown_table(p, o, &t);
	put_between(p, o, "", list_still_all(p, l), "\n\n");
	out_printf(&commands, "%s FILE%s\n%s FILE%s\n", sites.before, sites.after, all.before,
		   all.after);
	markdown_text(o, &commands);
	out_free(&commands);
}

void markdown_first(struct page *p, struct out *o, size_t limit)
{
	struct model *m = p->m;
	if (figure_some(m->quality.attached))
		markdown_verdict(p, o);
	const struct totals *t = &m->totals;
	struct words who = words_who(m, &p->style), quality = words_quality(m);
	out_printf(o, "### Heap: peak **%s**, live %s **%s**\n",
		   est_size(m, t->peak_bytes, est_of(m->est, EST_PEAK)),
		   m->quality.growing ? "so far" : "at the end",
		   est_size(m, t->unfreed_bytes, est_of(m->est, EST_END)));
	markdown_code(p, o, who.v[0]);
	const char *dot = p->style.ascii ? " - " : " \xc2\xb7 ";
	if (who.n > 1)
		out_str(o, dot);
	put_words(p, o, &who, dot, 1);
	out_str(o, "  \n");
	put_words(p, o, &quality, ", ", 0);
	out_str(o, "\n\n");
	figures_table(p, o);
	struct first_screen f = first_screen_groups(m, limit, !p->style.full_names);
	struct table kept = kept_table(m, limit, &p->style);
	for (size_t i = 0; i < f.n; i++) {
		const struct list *l = &f.lists[i];
		if (i == f.kept && kept.title)
			markdown_table(p, o, &kept);
		if (first_screen_is_most(l))
			put_most(p, o, l, f.both);
		else if (l->by)
			put_grouped(p, o, l);
		else if (l->all || figure_some(l->hidden.b))
			markdown_list(p, o, l);
	}
	if (f.kept == f.n && kept.title)
		markdown_table(p, o, &kept);
	if (m->hidden.filters)
		put_between(p, o, "Hidden: ", words_hidden(m, &p->style), "\n\n");
	next(p, o, &f);
}
