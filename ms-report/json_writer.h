/* SPDX-License-Identifier: MIT
 * Writes JSON: commas and escapes are its business, nesting is the caller's.
 */
#ifndef REPORT_JSON_WRITER_H
#define REPORT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out;

struct json {
	struct out *o;
	bool comma; /* something stands before on this level */
};

/* `key` is NULL inside an array, and plain ASCII. */
void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_string(struct json *j, const char *key,
		 const char *s); /* NULL = null; bytes that are not UTF-8 become U+FFFD */
void json_number(struct json *j, const char *key, uint64_t v); /* UINT64_MAX = null */
void json_bool(struct json *j, const char *key, bool v);
/* Comma and key only: the caller writes the value. */
void json_key(struct json *j, const char *key);
/* The same JSON text over many lines, indented by two blanks; a line end in it stays one. */
void json_pretty(struct out *o, const char *text, size_t n);
/* One string with its quotes. */
void json_quote(struct out *o, const char *s);

#endif
