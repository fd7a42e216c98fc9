/* SPDX-License-Identifier: MIT
 * Answers like Go's net/http/pprof, besides heap profiles: the command line, names of addresses,
 * and empty profiles of other kinds, which collectors also request.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "serve_private.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "format/trace.h"

#define ADDRESSES_MOST 4096u

/* ---- the command line: arguments separated by NUL ---- */

char *pprof_cmdline(const struct trace *t, size_t *n)
{
	const struct ms_recording *rec = t->follow->rec;
	const char *exe = rec->info.text[MS_INFO_EXE];
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	for (size_t i = 0; f && i < rec->args.n; i++) {
		if (i)
			fputc(0, f);
		fputs(rec->args.v[i], f);
	}
	if (f && !rec->args.n)
		fputs(exe ? exe : "?", f);
	return f && fclose(f) == 0 ? text : NULL;
}

/* ---- names of addresses ---- */

struct address {
	uint64_t asked;
	uint32_t frame; /* frame number in the trace; 0 = none */
	uint32_t nth;   /* position of the address in the request */
};

MS_COMPARE(by_address, struct address, MS_ORDER(x->asked, y->asked) ?: MS_ORDER(x->nth, y->nth))

MS_COMPARE(by_order, struct address, MS_ORDER(x->nth, y->nth))

static size_t take_addresses(const char *asked, struct address *v)
{
	size_t n = 0;
	while (*asked && n < ADDRESSES_MOST) {
		char *end;
		errno = 0;
		uint64_t address = strtoull(asked, &end, 0);
		/* separator: "+", or a space, which is what form decoding makes of "+" */
		bool whole = end != asked && (!*end || *end == '+' || *end == ' ');
		if (whole && address && !errno) {
			v[n] = (struct address){.asked = address, .nth = (uint32_t)n};
			n++;
		}
		asked += strcspn(asked, "+ ");
		asked += *asked != 0;
	}
	return n;
}

/* Finds the frames of addresses. Profiles contain addresses inside the call, one below a
 * frame's. */
static void find_frames(const struct ms_recording *rec, struct address *v, size_t n)
{
	for (uint32_t i = 1; i < rec->frames.n; i++)
		for (uint64_t back = 0; back < 2; back++) {
			uint64_t want = rec->frames.v[i].address - back;
			size_t end = MS_COUNT_UP_TO(v, n, asked, want);
			for (; end && v[end - 1].asked == want; end--)
				v[end - 1].frame = v[end - 1].frame && back ? v[end - 1].frame : i;
		}
}

/* Answers as Go does: first the number of symbols, which readers only compare with 0, then the
 * known symbols. */
char *pprof_symbol(const struct trace *t, const char *asked, size_t *n)
{
	const struct ms_recording *rec = t->follow->rec;
	struct address *v = ms_xcalloc(ADDRESSES_MOST, sizeof *v);
	size_t count = take_addresses(asked, v);
	char *text = NULL, name[1024];
	FILE *f = open_memstream(&text, n);
	if (count) {
		qsort(v, count, sizeof *v, by_address);
		find_frames(rec, v, count);
		qsort(v, count, sizeof *v, by_order);
	}
	if (f)
		fputs("num_symbols: 1\n", f);
	for (size_t i = 0; f && i < count; i++) {
		struct trace_frame frame = trace_part(t, v[i].frame, 0);
		if (v[i].frame && frame.function)
			fprintf(f, "%#llx %s\n", (unsigned long long)v[i].asked,
				trace_frame_name(&frame, name, sizeof name));
	}
	free(v);
	return f && fclose(f) == 0 ? text : NULL;
}

/* ---- profiles without a sample ---- */

static const struct empty {
	const char *name;
	const char *types[4]; /* pairs of a type and its unit */
} empty[] = {
	{"block", {"contentions", "count", "delay", "nanoseconds"}},
	{"goroutine", {"goroutine", "count"}},
	{"mutex", {"contentions", "count", "delay", "nanoseconds"}},
	{"profile", {"samples", "count", "cpu", "nanoseconds"}},
	{"threadcreate", {"threadcreate", "count"}},
};

/* Writes message Profile of profile.proto: sample_type = 1, string_table = 6, period_type = 11. */
static void put_empty(const struct empty *e, FILE *f)
{
	size_t n = 0;
	for (; n < 4 && e->types[n]; n += 2)
		fprintf(f, "\x0a\x04\x08%c\x10%c", (int)n + 1, (int)n + 2);
	fprintf(f, "\x5a\x04\x08%c\x10%c", (int)n - 1, (int)n);
	fwrite("\x32\0", 1, 2, f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "\x32%c%s", (int)strlen(e->types[i]), e->types[i]);
}

/* Returns `text` compressed by gzip. */
static char *compressed(const char *text, size_t n, size_t *out)
{
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (unsigned)n};
	char *to = malloc(n + 64);
	if (!to || deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(to);
		return NULL;
	}
	z.next_out = (unsigned char *)to;
	z.avail_out = (unsigned)n + 64;
	deflate(&z, Z_FINISH);
	*out = z.total_out;
	deflateEnd(&z);
	return to;
}

char *pprof_empty(const char *name, size_t *n)
{
	char *text = NULL, *out = NULL;
	size_t size = 0;
	const struct empty *e = empty, *last = empty + sizeof empty / sizeof *empty;
	while (e < last && strcmp(e->name, name) != 0)
		e++;
	FILE *f = e < last ? open_memstream(&text, &size) : NULL;
	if (!f)
		return NULL;
	put_empty(e, f);
	if (fclose(f) == 0)
		out = compressed(text, size, n);
	free(text);
	return out;
}

/* ---- what there is ---- */

const char pprof_index[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
	"charset=\"utf-8\"><title>/debug/pprof/</title>"
	"</head><body>\n<p>MemScope, as Go's net/http/pprof:</p>\n<ul>\n"
	"<li><a href=\"heap?debug=1\">heap</a>: what is live, as text; without "
	"<code>debug=1</code> "
	"for <code>go tool pprof</code></li>\n"
	"<li><a href=\"allocs\">allocs</a>: the same profile</li>\n"
	"<li><a href=\"cmdline\">cmdline</a>, <a href=\"symbol\">symbol</a></li>\n"
	"<li><a href=\"../../\">the page</a>, <a href=\"../../report.json\">JSON</a>, "
	"<a href=\"../../retained.json\">what keeps blocks alive</a>, "
	"<a href=\"../../metrics\">metrics</a></li>\n</ul></body></html>\n";
