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
