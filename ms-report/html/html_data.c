/* SPDX-License-Identifier: MIT
 * The data of a page: strings and columns.
 */
#include "html_data.h"

#include "ms-report/words/page.h"

#include <stdio.h>
#include <string.h>

/* Longer than any name that a person reads, shorter than what a page cannot bear. */
#define TEXT_WIDTH 16000

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
