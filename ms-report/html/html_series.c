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

/* Rows of places whose site is told. */
static const struct diff_row *row_at(const struct model *m, const struct html_sites *s, size_t i)
{
	const struct diff_row *x = &m->diff->rows.v[i];
	return s->row[x->site - m->sites.v] == NONE ? NULL : x;
}

static void put_figure(const struct model *m, const struct html_sites *s, size_t rows, int f,
		       struct html_columns *c)
{
	for (int side = 0; side < 2; side++) {
		html_column(c, rows, side ? "change" : "figure", "diff_%s_%s", side ? "new" : "old",
			    diff_figure_names[f]);
		for (size_t i = 0; i < m->diff->rows.n; i++) {
			const struct diff_row *x = row_at(m, s, i);
			if (x && side)
				html_change(c, known(x->old[f]), known(x->new[f]));
			else if (x)
				html_figure(c, known(x->old[f]));
		}
	}
}

void html_diff_write(struct model *m, const struct html_sites *s, struct html_columns *c)
{
	size_t rows = 0;
	for (size_t i = 0; m->diff && i < m->diff->rows.n; i++)
		rows += row_at(m, s, i) != NULL;
	if (!rows)
		return;
	html_column(c, rows, "plain", "diff_site");
	for (size_t i = 0; i < m->diff->rows.n; i++)
		if (row_at(m, s, i))
			html_plain(c, s->row[m->diff->rows.v[i].site - m->sites.v]);
	html_column(c, rows, "plain", "diff_kind");
	for (size_t i = 0; i < m->diff->rows.n; i++)
		if (row_at(m, s, i))
			html_plain(c, m->diff->rows.v[i].kind);
	html_column(c, rows, "plain", "diff_flags");
	for (size_t i = 0; i < m->diff->rows.n; i++) {
		const struct diff_row *x = row_at(m, s, i);
		if (x)
			html_plain(c, (uint64_t)x->significant | (uint64_t)x->weak << 1);
	}
	for (int f = 0; f < DIFF_FIGURES; f++)
		put_figure(m, s, rows, f, c);
}
