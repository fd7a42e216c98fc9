/* SPDX-License-Identifier: MIT
 * Columns of a page that are not about call stacks: the timeline, and what ms-diff compared.
 */
#include "html_data.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/spans.h"

#define SPANS 1000

/* ---- timeline ---- */

static void put_spans(struct html_columns *c, const char *name, const struct span *s, size_t n,
		      size_t offset)
{
	html_column(c, n, "figure", "%s", name);
	for (size_t i = 0; i < n; i++)
		html_figure(c, figure_at(&s[i], offset));
}

void html_spans_write(struct model *m, struct html_columns *c)
{
	static const struct {
		const char *name;
		size_t offset;
	} columns[] = {
		{"span_from_ns", offsetof(struct span, from_ns)},
		{"span_to_ns", offsetof(struct span, to_ns)},
		{"span_live_min", offsetof(struct span, live_min)},
		{"span_live_max", offsetof(struct span, live_max)},
		{"span_live_bytes", offsetof(struct span, live_last)},
		{"span_live_blocks", offsetof(struct span, blocks_last)},
		{"span_rss_bytes", offsetof(struct span, rss)},
		{"span_allocations", offsetof(struct span, allocations)},
		{"span_frees", offsetof(struct span, frees)},
		{"span_allocated_bytes", offsetof(struct span, allocated_bytes)},
		{"span_mapped_bytes", offsetof(struct span, mapped)},
		{"span_live_low", offsetof(struct span, live_limits[0])},
		{"span_live_high", offsetof(struct span, live_limits[1])},
	};
	struct span *s;
	size_t n = spans_make(m, SPANS, &s);
	/* the largest of many estimates is none */
	for (size_t i = 0; i < n; i++)
		if (s[i].estimated)
			s[i].live_min = s[i].live_max = UNKNOWN;
		else
			s[i].live_limits[0] = s[i].live_limits[1] = UNKNOWN;
	for (size_t k = 0; n && k < sizeof columns / sizeof *columns; k++)
		put_spans(c, columns[k].name, s, n, columns[k].offset);
}

/* ---- comparison ---- */

static uint64_t known(int64_t v)
{
	return v < 0 ? UNKNOWN : (uint64_t)v;
}

static void put_figure(const struct diff_row *const *v, size_t n, int f, struct html_columns *c)
{
	html_column(c, n, "figure", "diff_old_%s", diff_figure_names[f]);
	for (size_t i = 0; i < n; i++)
		html_figure(c, known(v[i]->old[f]));
	html_column(c, n, "change", "diff_new_%s", diff_figure_names[f]);
	for (size_t i = 0; i < n; i++)
		html_change(c, known(v[i]->old[f]), known(v[i]->new[f]));
}

void html_diff_write(struct model *m, const struct html_sites *s, struct html_columns *c)
{
	size_t all = m->diff ? m->diff->rows.n : 0, n = 0;
	/* rows of places whose site is told */
	const struct diff_row **v = ms_arena_alloc(&m->arena, (all + 1) * sizeof *v);
	for (size_t i = 0; i < all; i++) {
		v[n] = &m->diff->rows.v[i];
		n += s->row[v[n]->site - m->sites.v] != NONE;
	}
	if (!n)
		return;
	html_column(c, n, "plain", "diff_site");
	for (size_t i = 0; i < n; i++)
		html_plain(c, s->row[v[i]->site - m->sites.v]);
	html_column(c, n, "plain", "diff_kind");
	for (size_t i = 0; i < n; i++)
		html_plain(c, v[i]->kind);
	html_column(c, n, "plain", "diff_flags");
	for (size_t i = 0; i < n; i++)
		html_plain(c, (uint64_t)v[i]->significant | (uint64_t)v[i]->weak << 1);
	for (int f = 0; f < DIFF_FIGURES; f++)
		put_figure(v, n, f, c);
}
