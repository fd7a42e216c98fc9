/* SPDX-License-Identifier: MIT
 * libmemscope: JSON of samples and regions.
 */
#include "memscope-read.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static void number(FILE *f, const char *before, uint64_t v)
{
	fputs(before, f);
	if (v == MEMSCOPE_UNKNOWN)
		fputs("null", f);
	else
		fprintf(f, "%" PRIu64, v);
}

/* A file's name may be no UTF-8: such bytes become U+FFFD, as in all our JSON. */
static size_t utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead;
	} forms[] = {{0x80, 0}, {0xe0, 0xc0}, {0xf0, 0xe0}, {0xf8, 0xf0}};
	for (size_t n = 0; n < 4; n++) {
		if ((s[0] & forms[n].mask) != forms[n].lead)
			continue;
		for (size_t i = 1; i <= n; i++)
			if ((s[i] & 0xc0) != 0x80)
				return 0;
		bool overlong = (n == 1 && s[0] < 0xc2) ||
				(n == 2 && s[0] == 0xe0 && s[1] < 0xa0) ||
				(n == 3 && s[0] == 0xf0 && s[1] < 0x90);
		bool beyond = (n == 2 && s[0] == 0xed && s[1] >= 0xa0) ||
			      (n == 3 && (s[0] > 0xf4 || (s[0] == 0xf4 && s[1] >= 0x90)));
		return overlong || beyond ? 0 : n + 1;
	}
	return 0;
}

static void quote(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	fputc('"', f);
	while (*s) {
		size_t n = utf8_length(s);
		if (!n)
			fputs("\\ufffd", f);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(f, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else
			fwrite(s, 1, n, f);
		s += n ? n : 1;
	}
	fputc('"', f);
}

static void put_sample(FILE *f, const struct memscope_sample *s)
{
	number(f, "{\"time_ns\":", s->time_ns);
	number(f, ",\"rss_bytes\":", s->rss_bytes);
	number(f, ",\"heap_bytes\":", s->heap_bytes);
	number(f, ",\"vsz_bytes\":", s->vsz_bytes);
	number(f, ",\"pss_bytes\":", s->pss_bytes);
	number(f, ",\"private_bytes\":", s->private_bytes);
	number(f, ",\"shared_bytes\":", s->shared_bytes);
	number(f, ",\"swap_bytes\":", s->swap_bytes);
	number(f, ",\"minor_faults\":", s->minor_faults);
	number(f, ",\"major_faults\":", s->major_faults);
	number(f, ",\"user_ns\":", s->user_ns);
	number(f, ",\"system_ns\":", s->system_ns);
	number(f, ",\"threads\":", s->threads);
	fputc('}', f);
}

static void put_region(FILE *f, const struct memscope_region *r)
{
	fprintf(f, "{\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64 "\",\"kind\":", r->start,
		r->end);
	quote(f, memscope_kind_name(r->kind));
	fputs(",\"perms\":", f);
	quote(f, r->perms);
	number(f, ",\"size_bytes\":", r->end - r->start);
	number(f, ",\"file_offset\":", r->file_offset);
	fputs(",\"path\":", f);
	quote(f, r->path);
	number(f, ",\"rss_bytes\":", r->rss_bytes);
	number(f, ",\"pss_bytes\":", r->pss_bytes);
	number(f, ",\"shared_clean_bytes\":", r->shared_clean_bytes);
	number(f, ",\"shared_dirty_bytes\":", r->shared_dirty_bytes);
	number(f, ",\"private_clean_bytes\":", r->private_clean_bytes);
	number(f, ",\"private_dirty_bytes\":", r->private_dirty_bytes);
	number(f, ",\"swap_bytes\":", r->swap_bytes);
	fputc('}', f);
}

/* The text of a stream that open_memstream made; NULL when anything failed. */
static char *take(FILE *f, char **text)
{
	bool bad = ferror(f);
	bad |= fclose(f) != 0;
	if (!bad)
		return *text;
	free(*text);
	return NULL;
}

char *memscope_sample_json(const struct memscope_sample *s)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return NULL;
	put_sample(f, s);
	return take(f, &text);
}

char *memscope_ring_json(const struct memscope_ring *r)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return NULL;
	fputc('[', f);
	for (size_t i = 0; i < memscope_ring_count(r); i++) {
		if (i)
			fputc(',', f);
		put_sample(f, memscope_ring_get(r, i));
	}
	fputc(']', f);
	return take(f, &text);
}

char *memscope_regions_json(const struct memscope_region *v, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	fputc('[', f);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputc(',', f);
		put_region(f, &v[i]);
	}
	fputc(']', f);
	return take(f, &text);
}
