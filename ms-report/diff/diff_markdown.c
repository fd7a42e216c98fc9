/* SPDX-License-Identifier: MIT
 * A comparison as a comment on a pull request. Its first line is hidden and the same for every
 * comparison of one program, so that a bot finds the comment to replace.
 */
#include "diff_report.h"

#include "ms-report/ci/budget.h"
#include "ms-report/output/out.h"
#include "ms-report/text/text.h"
#include "ms-report/words/apart.h"

#include "libcommon/base/shell.h"

#include <math.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)
#define MINUS "\xe2\x88\x92"
#define STACK_FRAMES 40

/* Returns a change with a typographic minus sign, unless output is ASCII. */
static const char *signed_words(struct page *p, const char *s)
{
	return *s == '-' && !p->style.ascii ? SAY(MINUS "%s", s + 1) : s;
}

static const char *program_of(const struct process *x)
{
	return x->exe ? base_name(x->exe) : "program";
}

/* Returns the program with the largest significant changes; the first one if there are none. */
static const char *program(struct page *p)
{
	const struct model *m = p->m;
	const struct diff *d = m->diff;
	double *sums = ms_arena_alloc(&p->m->arena, (m->processes.n + 1) * sizeof *sums);
	size_t most = 0;
	for (size_t i = 0; i < d->significant; i++)
		sums[d->rows.v[i].site->process] += fabs(d->rows.v[i].share);
	for (size_t i = 1; i < m->processes.n; i++)
		most = sums[i] > sums[most] ? i : most;
	return program_of(&m->processes.v[most]);
}

/* Writes an HTML comment with the first program's name, which does not depend on the changes.
 * Characters that could end the comment are replaced. */
void diff_markdown_key(struct page *p, struct out *o)
{
	out_str(o, "<!-- memscope:");
	for (const char *s = program_of(p->m->processes.v); *s; s++)
		out_char(o, strchr("<>-", *s) && (*s != '-' || s[1] == '-') ? '_'
			    : *s > ' ' && *s < 0x7f                         ? *s
									    : '_');
	out_str(o, " -->\n");
}

/* ---- budgets ---- */

static const char *icon(enum budget_result r)
{
	return r == BUDGET_HELD ? ":white_check_mark:" : r == BUDGET_BROKEN ? ":x:" : ":warning:";
}

static enum budget_result decide(struct page *p, const struct budget *b)
{
	if (!p->partial && (budget_untrusted(p->m) || budget_apart(b, p->m)))
		return BUDGET_UNDECIDED;
	return budget_check(b, p->m);
}

/* Writes the budgets for a figure of the table. */
static void put_budgets(struct page *p, struct out *o, const char *figure)
{
	bool first = true;
	for (size_t i = 0; p->budgets && i < p->budgets->n; i++) {
		const struct budget *b = &p->budgets->v[i];
		if (!budget_is_about(b, figure))
			continue;
		out_printf(o, "%s%s ", first ? "" : ", ", icon(decide(p, b)));
		markdown_plain(p, o, budget_allows(b, p->m, p->style.ascii));
		first = false;
	}
}

static size_t broken(struct page *p, size_t *undecided)
{
	size_t n = 0;
	*undecided = 0;
	for (size_t i = 0; p->budgets && i < p->budgets->n; i++) {
		enum budget_result r = decide(p, &p->budgets->v[i]);
		n += r == BUDGET_BROKEN;
		*undecided += r == BUDGET_UNDECIDED;
	}
	return n;
}

/* Writes the budgets for figures that are not in the table. */
static void other_budgets(struct page *p, struct out *o, const struct diff_line *v, size_t n)
{
	bool some = false;
	for (size_t i = 0; p->budgets && i < p->budgets->n; i++) {
		const struct budget *b = &p->budgets->v[i];
		bool there = false;
		for (size_t k = 0; k < n; k++)
			there |= budget_is_about(b, v[k].total->figure) ||
				 (strcmp(v[k].total->figure, "live_bytes") == 0 &&
				  budget_is_about(b, "unfreed_bytes"));
		if (there)
			continue;
		out_printf(o, "%s ", icon(decide(p, b)));
		markdown_code(p, o, b->text);
		out_str(o, "  \n");
		some = true;
	}
	out_str(o, some ? "\n" : "");
}

/* ---- the head ---- */

static bool grew(const struct diff *d)
{
	for (size_t i = 0; i < d->significant; i++)
		if (diff_grew(d, &d->rows.v[i]))
			return true;
	return false;
}

static void headline(struct page *p, struct out *o)
{
	struct model *m = p->m;
	static const char *const shown[][2] = {{"peak_bytes", "peak"},
					       {"unreachable_bytes", "unreachable"},
					       {"live_bytes", "live"},
					       {"allocated_bytes", "allocated"},
					       {"allocations", "allocations"}};
	size_t undecided, bad = broken(p, &undecided), all = p->budgets ? p->budgets->n : 0;
	const char *mark = bad             ? ":x: "
			   : undecided     ? ":warning: "
			   : all           ? ":white_check_mark: "
			   : grew(m->diff) ? ":warning: "
					   : "";
	out_printf(o, "### Heap: %s", mark);
	const char *gap = "";
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
		const struct diff_total *t = diff_total(m->diff, shown[i][0]);
		bool held = i < 3; /* these figures are shown even without old runs */
		if (!t || t->delta == DELTA_UNKNOWN ||
		    (!t->significant && !(held && m->diff->old_missing)))
			continue;
		const char *share = diff_percent(m, t->delta, t->old);
		out_printf(o, "%s%s **%s%s%s%s**", gap, shown[i][1],
			   signed_words(p, diff_say(m, i < 4, t->delta)), *share ? " (" : "",
			   signed_words(p, share), *share ? ")" : "");
		if (i == 0 && diff_moments(m))
			out_printf(o, ": %s", diff_moments(m));
		gap = ", ";
	}
	if (!*gap)
		out_str(o, grew(m->diff)           ? "individual sites grew"
			   : !m->diff->significant ? "no change beyond noise"
			   /* rows are sorted with growth first */
			   : m->diff->rows.v[0].share > 0
				   ? "usage moved between sites, total unchanged"
				   : "individual sites shrank");
	if (bad)
		out_printf(o, " %s %zu of %s broken", p->style.ascii ? "-" : "\xe2\x80\x94", bad,
			   say_things(m, all, "budget"));
	out_char(o, '\n');
}

/* Returns a run's name as typed: with "@MOMENT" if it was compared at another moment than its
 * end. */
static const char *at_point(struct page *p, bool old, const char *name)
{
	const char *point = old ? p->m->diff->old_point : p->m->diff->new_point;
	return strcmp(point, "end") == 0 || strchr(name, '@') ? name : SAY("%s@%s", name, point);
}

static void put_side(struct page *p, struct out *o, bool old)
{
	const struct diff *d = p->m->diff;
	uint64_t runs = old ? d->old_runs : d->new_runs;
	out_str(o, old ? "old " : "new ");
	markdown_code(p, o, at_point(p, old, old ? d->old : d->new));
	if (runs != UNKNOWN)
		out_printf(o, " (%s)", say_things(p->m, runs, "run"));
}

static void who(struct page *p, struct out *o)
{
	const char *dot = p->style.ascii ? " - " : " \xc2\xb7 ";
	markdown_code(p, o, program(p));
	out_str(o, dot);
	put_side(p, o, true);
	out_str(o, p->style.ascii ? " -> " : " \xe2\x86\x92 ");
	put_side(p, o, false);
	out_str(o, dot);
	markdown_plain(p, o, diff_worth(p->m));
	out_str(o, "\n\n");
}

/* ---- tables ---- */

static void figures_table(struct page *p, struct out *o)
{
	struct model *m = p->m;
	struct diff_line v[12];
	size_t n = diff_lines(m, v);
	bool budgets = p->budgets && p->budgets->n;
	out_printf(o, "| figure | old | new | change |%s\n|---|--:|--:|--:|%s\n",
		   budgets ? " budget |" : "", budgets ? "---|" : "");
	for (size_t i = 0; i < n; i++) {
		const struct diff_total *t = v[i].total;
		const char *bold = t->significant ? "**" : "";
		out_str(o, "| ");
		markdown_plain(p, o,
			       v[i].per ? SAY("%s per %s", v[i].title, m->diff->per) : v[i].title);
		out_printf(o, " | %s | %s | %s%s%s%s%s%s%s |", v[i].old, v[i].new, bold,
			   signed_words(p, v[i].change), *v[i].percent ? " (" : "",
			   signed_words(p, v[i].percent), *v[i].percent ? ")" : "", bold,
			   v[i].noise ? " (noise)" : "");
		if (budgets) {
			out_char(o, ' ');
			put_budgets(p, o, t->figure);
			if (strcmp(t->figure, "live_bytes") == 0)
				put_budgets(p, o, "unfreed_bytes");
			out_str(o, " |");
		}
		out_char(o, '\n');
	}
	out_char(o, '\n');
	if (budgets)
		other_budgets(p, o, v, n);
}

static void put_what(struct out *o, const struct diff_row *x)
{
	out_str(o, diff_kind_names[x->kind]);
	if (x->matched && strcmp(x->matched, "renamed") == 0)
		out_str(o, ", renamed");
	if (x->site->verdict && strcmp(x->site->verdict, "unreachable") == 0)
		out_str(o, ", **leak**");
}

/* Returns how many rows to show: the significant ones, or without old runs, all; at most
 * `limit`. */
static size_t rows_shown(const struct diff *d, const struct diff_rows *r, size_t limit)
{
	size_t n = d->old_missing ? r->n : r->significant;
	return n < limit ? n : limit;
}

/* Lists the columns of the table; a column without known figures is left out. */
static const struct {
	const char *title;
	enum diff_figure figure;
	bool bytes;
} columns[] = {{"live", DIFF_LIVE, true},
	       {"peak", DIFF_PEAK, true},
	       {"allocations", DIFF_ALLOCATIONS, false},
	       {"allocated", DIFF_ALLOCATED, true}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool any_known(const struct diff_rows *r, size_t n, enum diff_figure f)
{
	for (size_t i = 0; i < n; i++)
		if (r->v[i].delta[f] != DELTA_UNKNOWN)
			return true;
	return false;
}

static void put_where(struct page *p, struct out *o, const struct site *s,
		      const struct apart *apart)
{
	struct model *m = p->m;
	const struct frame *caller = site_caller(m, s);
	markdown_frame(p, o, site_frame(m, s));
	if (caller) {
		out_printf(o, " %s ", text_arrow(p));
		markdown_code(p, o, frame_label(&m->arena, m, caller, &p->style));
	}
	for (size_t k = 0; k < apart->n; k++)
		markdown_apart(p, o, &apart->v[k]);
	if (s->folded)
		out_printf(o, ", sum of %s of the same recursion",
			   say_things(m, s->folded + 1, "site"));
}

static void sites_table(struct page *p, struct out *o, const struct diff_rows *r, size_t n)
{
	struct model *m = p->m;
	const struct site **sites = ms_arena_alloc(&m->arena, (n + 1) * sizeof *sites);
	bool has[COLUMNS];
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		sites[i] = r->v[i].site;
	struct apart *apart =
		apart_make(m, sites, n, (struct apart_shown){.caller = true}, &p->style);
	out_str(o, "| what |");
	for (size_t c = 0; c < COLUMNS; c++) {
		has[c] = any_known(r, n, columns[c].figure);
		if (has[c])
			out_printf(o, " %s |", columns[c].title);
	}
	out_str(o, " where |\n|---|");
	for (size_t c = 0; c < COLUMNS; c++)
		out_str(o, has[c] ? "--:|" : "");
	out_str(o, "---|\n");
	for (size_t i = 0; i < n; i++) {
		const struct diff_row *x = &r->v[i];
		out_str(o, "| ");
		put_what(o, x);
		for (size_t c = 0; c < COLUMNS; c++)
			if (has[c])
				out_printf(o, " | %s",
					   signed_words(
						   p, diff_say(m, columns[c].bytes,
							       diff_blame(x, columns[c].figure))));
		out_str(o, " | ");
		put_where(p, o, x->site, &apart[i]);
		out_str(o, " |\n");
	}
	out_char(o, '\n');
}

/* Writes text inside <pre>, where HTML must be escaped but Markdown must not. */
static void put_html(struct page *p, struct out *o, const char *s)
{
	out_escaped(o, name_clean(&p->m->arena, s, p->style.ascii), "<>&", "");
}

static void stack(struct page *p, struct out *o, const struct diff_row *x)
{
	struct model *m = p->m;
	put_html(p, o,
		 SAY("#%lld %s%s%s", (long long)x->site->id, diff_kind_names[x->kind],
		     x->evidence ? ": " : "", x->evidence ? x->evidence : ""));
	out_char(o, '\n');
	size_t depth = 0;
	for (uint32_t n = x->site->stack; n != NONE && depth < STACK_FRAMES;
	     n = m->nodes.v[n].parent, depth++) {
		const struct frame *f = &m->frames.v[m->nodes.v[n].frame];
		out_str(o, "  ");
		put_html(p, o, frame_label(&m->arena, m, f, &p->style));
		out_char(o, ' ');
		put_html(p, o, frame_place(&m->arena, m, f, &p->style));
		out_char(o, '\n');
	}
}

static void details(struct page *p, struct out *o, const struct diff_rows *r, size_t n)
{
	size_t more = r->significant > n ? r->significant - n : 0;
	const char *rest = diff_rest(p->m, r);
	if (more)
		rest = SAY("%s beyond noise%s%s", say_things(p->m, more, "more change"),
			   *rest ? ", " : "", rest);
	if (!n) {
		markdown_plain(p, o, rest);
		out_str(o, *rest ? "\n\n" : "");
		return;
	}
	out_str(o, "<details><summary>");
	put_html(p, o, *rest ? rest : "call stacks");
	out_str(o, "</summary>\n\n<pre>\n");
	for (size_t i = 0; i < n; i++)
		stack(p, o, &r->v[i]);
	out_str(o, "</pre>\n</details>\n\n");
}

static void reproduce(struct page *p, struct out *o)
{
	const struct diff *d = p->m->diff;
	if (d->old_missing)
		return;
	bool several = d->old_runs > 1 || d->new_runs > 1;
	struct ms_arena *a = &p->m->arena;
	const char *words = d->history ? SAY("ms-diff %s", d->history) : "ms-diff";
	if (d->per)
		words = SAY("%s --per %s", words, ms_shell_word(a, d->per));
	for (size_t i = 0; i < d->runs.n; i++) {
		const struct diff_run *r = &d->runs.v[i];
		const char *name = several ? r->name : at_point(p, r->old, r->name);
		name = ms_shell_word(a, name);
		if (d->history && r->old)
			continue;
		words = several ? SAY("%s --%s %s", words, r->old ? "old" : "new", name)
				: SAY("%s %s", words, name);
	}
	out_str(o, "Reproduce: ");
	markdown_code(p, o, words);
	out_str(o, " \\| `ms-report`\n");
}

void diff_markdown(struct page *p, struct out *o, size_t limit)
{
	struct diff_rows r = diff_shown(p->m, !p->style.full_names);
	size_t n = rows_shown(p->m->diff, &r, limit);
	struct list lost = diff_newly_lost(p->m, &r, n, limit);
	headline(p, o);
	who(p, o);
	figures_table(p, o);
	struct table kept = kept_more(p->m, limit, &p->style);
	if (kept.title)
		markdown_table(p, o, &kept);
	if (lost.n)
		markdown_list(p, o, &lost);
	sites_table(p, o, &r, n);
	details(p, o, &r, n);
	if (p->m->hidden.filters) {
		out_str(o, "Hidden: ");
		markdown_plain(p, o, words_hidden(p->m, &p->style));
		out_str(o, "\n\n");
	}
	reproduce(p, o);
}
