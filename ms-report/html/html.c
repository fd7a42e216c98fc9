/* SPDX-License-Identifier: MIT
 * Writes the page as a file: head, text for browsers without scripts, data, script.
 *
 * The build puts style and script, which are files of ms-report/html, into html_parts.h with their
 * hashes; the page allows no other style or script. Text from a recording enters the HTML only
 * through escape(), everything else only through the data, which the script shows as text.
 */
#include "html.h"

#include "html_data.h"

#include "ms-report/words/page.h"
#include "ms-report/words/words.h"

#include "libcommon/base/json_writer.h"

#include "html_parts.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- text in HTML ---- */

static void escape(struct out *o, const char *s)
{
	out_escaped(o, s, "<>&\"", "");
}

static void put_head(struct out *o, const char *title)
{
	out_str(o, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "script-src '" HTML_SCRIPT_HASH "'; style-src '" HTML_STYLE_HASH "'; "
		   "img-src data:; base-uri 'none'; form-action 'none'; "
		   "require-trusted-types-for 'script'; trusted-types 'none'\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		   "<meta name=\"color-scheme\" content=\"light dark\">\n"
		   "<meta name=\"referrer\" content=\"no-referrer\">\n"
		   "<meta name=\"generator\" content=\"ms-report " MS_VERSION "\">\n"
		   "<link rel=\"icon\" href=\"data:,\">\n<title>");
	escape(o, title);
	out_str(o, " - MemScope</title>\n<style>");
	out_str(o, html_style);
	out_str(o, "</style>\n</head>\n<body>\n");
}

/* Returns the program's name, cleaned, such as "orderd"; if several processes were only observed
 * through /proc, their number. */
static const char *program(struct page *p)
{
	struct model *m = p->m;
	const char **v;
	if (m->proc_only && m->processes.n > 1)
		return words_who(m, &p->style).v[0];
	command_arguments(m, &m->processes.v[0], &v);
	return html_text(p, base_name(v[0]));
}

/* Writes the head of the page, which needs no scripts: what was run, and how reliable the figures
 * are. */
static void put_who(struct page *p, struct out *o)
{
	struct model *m = p->m;
	struct style full = p->style;
	full.full_names = true;
	struct words who = words_who(m, &full), quality = words_quality(m);
	const char *incomplete = words_incomplete(m), *nothing = words_nothing(m, &p->style);
	bool doubt =
		!m->quality.complete || m->part || m->est || figure_some(m->quality.events_lost);
	out_str(o, "<header id=\"top\">\n<p class=\"kind\">");
	out_str(o, m->diff ? "Memory compared" : m->proc_only ? "Memory watched" : "Memory report");
	out_str(o, "</p>\n<h1>");
	escape(o, program(p));
	out_str(o, "</h1>\n");
	if (strcmp(who.v[0], program(p)) != 0) {
		out_str(o, "<p class=\"command\"><code>");
		escape(o, who.v[0]);
		out_str(o, "</code></p>\n");
	}
	out_str(o, "<ul class=\"who\">");
	for (size_t i = 1; i < who.n; i++) {
		out_str(o, "<li>");
		escape(o, who.v[i]);
		out_str(o, "</li>");
	}
	out_printf(o, "</ul>\n<p class=\"quality %s\"><strong>Quality</strong> ",
		   !m->quality.complete ? "bad"
		   : doubt              ? "fair"
					: "good");
	for (size_t i = 0; i < quality.n; i++) {
		out_str(o, i ? ", " : "");
		escape(o, quality.v[i]);
	}
	out_str(o, "</p>\n");
	for (int i = 0; i < 2; i++) {
		const char *s = i ? nothing : incomplete;
		if (!s)
			continue;
		out_printf(o, "<p class=\"banner\" role=\"alert\">%s", i ? "" : "INCOMPLETE: ");
		escape(o, s);
		out_str(o, "</p>\n");
	}
	out_str(o, "</header>\n");
}

/* Writes the first screen for browsers without scripts. */
static void put_text(struct out *o, const char *text)
{
	out_str(o, "<noscript>\n<p>The charts of this page need JavaScript, which did not run. The "
		   "same report as text:</p>\n<pre>");
	escape(o, text);
	out_str(o, "</pre>\n</noscript>\n");
}

/* ---- data ---- */

static void put_base64(struct out *o, const unsigned char *v, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < n; i += 3) {
		uint32_t x = (uint32_t)v[i] << 16 | (i + 1 < n ? (uint32_t)v[i + 1] << 8 : 0) |
			     (i + 2 < n ? v[i + 2] : 0);
		char c[4] = {digits[x >> 18], digits[x >> 12 & 63],
			     i + 1 < n ? digits[x >> 6 & 63] : '=',
			     i + 2 < n ? digits[x & 63] : '='};
		out_put(o, c, 4);
	}
}

/* Writes the JSON and the columns of `s`, uncompressed, to `o`. */
static void write_data(struct page *p, const struct html_sites *s, enum metric metric,
		       struct out *o)
{
	struct table_of_bytes strings = {0};
	struct html_columns c = {.bytes = {0}, .names = {0}};
	struct out text = {0};
	struct ms_json j = out_json(&text);
	size_t n;
	html_sites_write(p, s, &strings, &c);
	html_spans_write(p->m, &c);
	html_moments_write(p->m, s, &c);
	html_diff_write(p->m, s, &c);
	ms_json_open(&j, NULL, '{');
	html_words_write(p, &j, s, metric);
	ms_json_open(&j, "strings", '[');
	for (uint32_t i = 0; i < strings.n; i++)
		ms_json_string(&j, NULL, bytes_of(&strings, i, &n));
	ms_json_format(&j, "] columns:[");
	out_put(&text, c.names.v, c.names.n);
	ms_json_format(&j, "]}");
	for (int i = 0; i < 4; i++)
		out_char(o, (char)(text.n >> i * 8));
	out_put(o, text.v, text.n);
	out_put(o, c.bytes.v, c.bytes.n);
	out_free(&text);
	out_free(&c.bytes);
	out_free(&c.names);
	bytes_free(&strings);
}

/* Writes the data compressed and in base64. */
static void pack(const struct out *data, struct out *o)
{
	uLongf n = compressBound(data->n);
	unsigned char *v = ms_xrealloc(NULL, n, 1);
	if (compress2(v, &n, (const unsigned char *)data->v, data->n, 9) != Z_OK)
		n = 0;
	put_base64(o, v, n);
	free(v);
}

/* Writes the data of at most `limit` sites; LIMIT_DEFAULT = as many as fit in HTML_MAX with the
 * `used` bytes. */
static void put_data(struct page *p, struct out *o, enum metric metric, size_t limit, size_t used)
{
	bool fit = limit == LIMIT_DEFAULT;
	size_t most = fit ? SIZE_MAX : limit, room = HTML_MAX - used;
	struct out packed = {0};
	for (;;) {
		struct html_sites s = html_sites_choose(p->m, most);
		struct out data = {0};
		size_t n = s.n;
		packed.n = 0;
		write_data(p, &s, metric, &data);
		pack(&data, &packed);
		out_free(&data);
		html_sites_free(&s);
		if (!fit || packed.n <= room || n == 0)
			break;
		most = (size_t)((double)n * (double)room / (double)packed.n * 0.97);
	}
	out_put(o, packed.v, packed.n);
	out_free(&packed);
}

void html_report(struct page *p, struct out *o, const char *text, enum metric metric, size_t limit)
{
	struct out head = {0};
	put_head(&head, program(p));
	put_who(p, &head);
	out_str(&head, html_body);
	put_text(&head, text);
	out_str(&head, "<script type=\"application/octet-stream\" id=\"data\">");
	out_put(o, head.v, head.n);
	put_data(p, o, metric, limit, head.n + sizeof html_script + 100);
	out_str(o, "</script>\n<script>");
	out_str(o, html_script);
	out_str(o, "</script>\n</body>\n</html>\n");
	out_free(&head);
}
