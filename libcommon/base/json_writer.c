/* SPDX-License-Identifier: MIT
 * Writes JSON: it adds commas and escapes, the caller nests.
 */
#include "json_writer.h"

#include "utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_char(struct ms_json *j, char c)
{
	j->put(j->to, &c, 1);
}

static void put_text(struct ms_json *j, const char *s)
{
	j->put(j->to, s, strlen(s));
}

static void put_escape(struct ms_json *j, uint32_t c)
{
	char text[16];
	snprintf(text, sizeof text, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", (int)c);
	put_text(j, text);
}

static void quote(struct ms_json *j, const char *s)
{
	size_t n = strlen(s), plain = 0;
	put_char(j, '"');
	for (size_t i = 0; i < n;) {
		uint32_t c = 0xfffd;
		size_t len = ms_utf8_next(s + i, n - i, &c);
		bool special = !len || c < 0x20 || c == '"' || c == '\\' ||
			       (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
		if (!special) {
			i += len;
			continue;
		}
		j->put(j->to, s + plain, i - plain);
		put_escape(j, c);
		i += len ? len : 1;
		plain = i;
	}
	j->put(j->to, s + plain, n - plain);
	put_char(j, '"');
}

void ms_json_key(struct ms_json *j, const char *key)
{
	if (j->comma)
		put_char(j, ',');
	j->comma = true;
	if (key) {
		quote(j, key);
		put_char(j, ':');
	}
}

void ms_json_open(struct ms_json *j, const char *key, char bracket)
{
	ms_json_key(j, key);
	put_char(j, bracket);
	j->comma = false;
}

void ms_json_close(struct ms_json *j, char bracket)
{
	put_char(j, bracket);
	j->comma = true;
}

void ms_json_raw(struct ms_json *j, const char *key, const char *text)
{
	ms_json_key(j, key);
	put_text(j, text ? text : "null");
}

void ms_json_string(struct ms_json *j, const char *key, const char *s)
{
	ms_json_key(j, key);
	if (s)
		quote(j, s);
	else
		put_text(j, "null");
}

void ms_json_print(struct ms_json *j, const char *key, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	ms_json_string(j, key, text);
}

void ms_json_number(struct ms_json *j, const char *key, uint64_t v)
{
	char text[24], *p = text + sizeof text;
	bool known = v != UINT64_MAX;
	*--p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	ms_json_raw(j, key, known ? p : NULL);
}

void ms_json_numbers(struct ms_json *j, const struct ms_json_named *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ms_json_number(j, v[i].key, v[i].v);
}

void ms_json_bool(struct ms_json *j, const char *key, bool v)
{
	ms_json_raw(j, key, v ? "true" : "false");
}

void ms_json_real(struct ms_json *j, const char *key, double v, int digits)
{
	char text[400]; /* the largest number has 309 digits */
	snprintf(text, sizeof text, "%.*f", digits, v);
	ms_json_raw(j, key, isfinite(v) ? text : NULL);
}

void ms_json_signed(struct ms_json *j, const char *key, int64_t v)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, v);
	ms_json_raw(j, key, v == INT64_MIN ? NULL : text);
}

/* Writes the value of a conversion, `s` behind its %. Returns the text behind the conversion. */
static const char *put_value(struct ms_json *j, const char *key, const char *s, va_list *ap)
{
	if (*s == 's')
		ms_json_string(j, key, va_arg(*ap, const char *));
	else if (*s == 'd')
		ms_json_bool(j, key, va_arg(*ap, int));
	else if (*s == '.')
		ms_json_real(j, key, va_arg(*ap, double), s[1] - '0');
	else if (s[1] == 'u')
		ms_json_number(j, key, va_arg(*ap, uint64_t));
	else if (s[1] == 'd')
		ms_json_signed(j, key, va_arg(*ap, int64_t));
	else
		ms_json_print(j, key, "0x%" PRIx64, va_arg(*ap, uint64_t));
	return s + (*s == '.' ? 3 : *s == 'l' ? 2 : 1);
}

void ms_json_format(struct ms_json *j, const char *template, ...)
{
	char name[64] = "";
	va_list ap;
	va_start(ap, template);
	for (const char *s = template; *s;) {
		const char *key = *name ? name : NULL;
		size_t n = strcspn(s, ":");
		if (*s == ' ') {
			s++;
			continue;
		}
		if (!strchr("{}[]%", *s)) {
			snprintf(name, sizeof name, "%.*s", (int)n, s);
			s += n + 1;
			continue;
		}
		if (*s == '%')
			s = put_value(j, key, s + 1, &ap);
		else if (*s == '{' || *s == '[')
			ms_json_open(j, key, *s++);
		else
			ms_json_close(j, *s++);
		*name = 0;
	}
	va_end(ap);
}

static void new_line(struct ms_json *j, size_t depth)
{
	put_char(j, '\n');
	while (depth--)
		put_text(j, "  ");
}

static void pretty_char(struct ms_json_pretty *p, char c)
{
	struct ms_json *j = &p->to;
	bool opened = p->opened, closes = c == '}' || c == ']';
	p->opened = c == '{' || c == '[';
	if (closes && !opened)
		new_line(j, p->depth ? --p->depth : 0);
	else if (opened && !closes)
		new_line(j, ++p->depth);
	put_char(j, c);
	if (c == ',')
		new_line(j, p->depth);
	else if (c == ':')
		put_char(j, ' ');
	p->quoted = c == '"';
}

void ms_json_pretty_put(void *pretty, const char *text, size_t n)
{
	struct ms_json_pretty *p = pretty;
	for (size_t i = 0; i < n; i++) {
		if (!p->quoted) {
			pretty_char(p, text[i]);
			continue;
		}
		put_char(&p->to, text[i]);
		p->quoted = text[i] != '"' || p->escaped;
		p->escaped = text[i] == '\\' && !p->escaped;
	}
}
