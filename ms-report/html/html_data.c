/* SPDX-License-Identifier: MIT
 * The data of a page: strings and columns.
 */
#include "html_data.h"

#include "ms-report/words/names.h"
#include "ms-report/words/page.h"

#include <stdlib.h>
#include <string.h>

/* Longer than any name that a person reads, shorter than what a page cannot bear. */
#define TEXT_WIDTH 16000

const char *html_text(struct page *p, const char *s)
{
	struct ms_arena *a = &p->m->arena;
	return s ? name_cut(a, name_clean(a, s, p->style.ascii), TEXT_WIDTH, p->style.ascii) : NULL;
}

/* ---- strings ---- */

static size_t slot_of(const struct html_strings *s, const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (const char *c = text; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	size_t i = (size_t)(h ^ h >> 32) & (s->slot_count - 1);
	while (s->slots[i] != NONE && strcmp(s->list.v[s->slots[i]], text) != 0)
		i = (i + 1) & (s->slot_count - 1);
	return i;
}

static void grow(struct html_strings *s)
{
	s->slot_count = s->slot_count ? s->slot_count * 2 : 1024;
	s->slots = ms_xrealloc(s->slots, s->slot_count, sizeof *s->slots);
	memset(s->slots, 0xff, s->slot_count * sizeof *s->slots);
	for (uint32_t i = 0; i < s->list.n; i++)
		s->slots[slot_of(s, s->list.v[i])] = i;
}

uint32_t html_string(struct html_strings *s, const char *text)
{
	if (s->list.n * 2 >= s->slot_count)
		grow(s);
	size_t i = slot_of(s, text);
	if (s->slots[i] == NONE) {
		s->slots[i] = (uint32_t)s->list.n;
		*MS_PUSH(&s->list) = text;
	}
	return s->slots[i];
}

void html_strings_free(struct html_strings *s)
{
	free(s->list.v);
	free(s->slots);
	*s = (struct html_strings){0};
}

/* ---- columns ---- */

void html_column(struct html_columns *c, const char *name, size_t rows, const char *kind)
{
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
