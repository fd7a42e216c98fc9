/* SPDX-License-Identifier: MIT
 * Writes JSON: commas and escapes are its business, nesting is the caller's.
 */
#include "json_writer.h"

#include "names.h"
#include "out.h"

#include <string.h>

void json_quote(struct out *o, const char *s)
{
	size_t n = strlen(s), plain = 0;
	out_char(o, '"');
	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		size_t len = utf8_next(s + i, n - i, &c);
		bool special = !len || c < 0x20 || c == '"' || c == '\\' ||
			       (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
		if (!special) {
			i += len;
			continue;
		}
		out_put(o, s + plain, i - plain);
		if (!len)
			out_str(o, "\\ufffd");
		else if (c == '"' || c == '\\')
			out_printf(o, "\\%c", (char)c);
		else
			out_printf(o, "\\u%04x", c);
		i += len ? len : 1;
		plain = i;
	}
	out_put(o, s + plain, n - plain);
	out_char(o, '"');
}

void json_key(struct json *j, const char *key)
{
	if (j->comma)
		out_char(j->o, ',');
	j->comma = true;
	if (key) {
		out_char(j->o, '"');
		out_str(j->o, key);
		out_str(j->o, "\":");
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	out_char(j->o, bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	out_char(j->o, bracket);
	j->comma = true;
}

void json_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	if (s)
		json_quote(j->o, s);
	else
		out_str(j->o, "null");
}

void json_number(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	if (v == UINT64_MAX)
		out_str(j->o, "null");
	else
		out_number(j->o, v);
}

void json_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	out_str(j->o, v ? "true" : "false");
}

static void new_line(struct out *o, size_t depth)
{
	out_char(o, '\n');
	out_repeat(o, "  ", depth);
}

void json_pretty(struct out *o, const char *text, size_t n)
{
	size_t depth = 0;
	bool quoted = false;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		bool empty = i + 1 < n && (text[i + 1] == '}' || text[i + 1] == ']');
		if (quoted || (c != '{' && c != '[' && c != '}' && c != ']' && c != ',')) {
			out_char(o, c);
			if (quoted && c == '\\' && i + 1 < n)
				out_char(o, text[++i]);
			else if (c == '"')
				quoted = !quoted;
			else if (c == ':' && !quoted)
				out_char(o, ' ');
		} else if (c == ',') {
			out_char(o, c);
			new_line(o, depth);
		} else if (c == '{' || c == '[') {
			out_char(o, c);
			if (empty)
				out_char(o, text[++i]);
			else
				new_line(o, ++depth);
		} else {
			new_line(o, depth ? --depth : 0);
			out_char(o, c);
		}
	}
}
