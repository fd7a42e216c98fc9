/* SPDX-License-Identifier: MIT
 * Writes the data of a page: strings and columns, among those the timeline and the results of
 * ms-diff.
 */
#include "html_data.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/curve.h"
#include "ms-report/words/page.h"

#include <stdio.h>
#include <string.h>

/* Maximum length of a text: longer than any readable name, short enough for a page. */
#define TEXT_WIDTH 16000
/* Maximum number of spans in the timeline. */
#define SPANS 1000

const char *html_text(struct page *p, const char *s)
{
	struct ms_arena *a = &p->m->arena;
	return s ? name_cut(a, name_clean(a, s, p->style.ascii), TEXT_WIDTH, p->style.ascii) : NULL;
}

/* ---- strings ---- */

uint32_t html_string(struct table_of_bytes *strings, const char *text)
{
	return bytes_number(strings, text, strlen(text) + 1, NULL);
}

/* ---- columns ---- */

void html_column(struct html_columns *c, size_t rows, const char *kind, const char *fmt, ...)
{
	char name[60];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(name, sizeof name, fmt, ap);
	va_end(ap);
	out_printf(&c->names, "%s[\"%s\",%zu,\"%s\"]", c->names.n ? "," : "", name, rows, kind);
}

void html_plain(struct html_columns *c, uint64_t v)
{
	char buf[10];
	size_t n = 0;
	for (; v > 127; v >>= 7)
		buf[n++] = (char)(v | 128);
	buf[n++] = (char)v;
	out_put(&c->bytes, buf, n);
}

void html_figure(struct html_columns *c, uint64_t v)
{
	html_plain(c, v == UNKNOWN ? 0 : v + 1);
}

static uint64_t zigzag(uint64_t from, uint64_t to)
{
	int64_t d = (int64_t)(to - from);
	return (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
}

void html_change(struct html_columns *c, uint64_t base, uint64_t v)
{
	if (v == UNKNOWN)
		html_plain(c, 0);
	else
		html_plain(c, 1 + zigzag(base == UNKNOWN ? 0 : base, v));
}

void html_delta(struct html_columns *c, uint64_t *before, uint64_t v)
{
	html_plain(c, zigzag(*before, v));
	*before = v;
}

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
	size_t n = curve_make(m, SPANS, &s);
	/* an estimated maximum is shown as unknown: the largest of many estimates is too large */
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
	/* rows whose site is listed individually */
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
