/* SPDX-License-Identifier: MIT
 * Writes JSON: commas and escapes are its business, nesting is the caller's. Where the text goes is
 * a function of the caller's, so that no memory is taken here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_json {
	void (*put)(void *to, const char *s, size_t n);
	void *to;
	bool comma; /* something stands before on this level */
};

/* `key` is NULL inside an array. */
void ms_json_open(struct ms_json *j, const char *key, char bracket); /* '{' or '[' */
void ms_json_close(struct ms_json *j, char bracket);                 /* '}' or ']' */
void ms_json_string(struct ms_json *j, const char *key,
		    const char *s); /* NULL = null; bytes that are not UTF-8 become U+FFFD */
void ms_json_number(struct ms_json *j, const char *key, uint64_t v); /* UINT64_MAX = null */
/* Several. */
struct ms_json_named {
	const char *key;
	uint64_t v;
};
void ms_json_numbers(struct ms_json *j, const struct ms_json_named *v, size_t n);
#define MS_JSON_NUMBERS(j, ...)                                                                    \
	ms_json_numbers(j, (const struct ms_json_named[]){__VA_ARGS__},                            \
			sizeof((const struct ms_json_named[]){__VA_ARGS__}) /                      \
				sizeof(struct ms_json_named))
void ms_json_bool(struct ms_json *j, const char *key, bool v);
/* With so many digits behind the point; NaN and infinite = null. */
void ms_json_real(struct ms_json *j, const char *key, double v, int digits);
/* A value that is JSON already; NULL = null. */
void ms_json_raw(struct ms_json *j, const char *key, const char *text);
/* A string made by printf, of at most 255 bytes. */
void ms_json_print(struct ms_json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a template: brackets; "key:" before a value or a bracket; %s a string and %lu a number, as
 * above, %d a bool. "{name:%s live:{bytes:%lu}}" */
void ms_json_format(struct ms_json *j, const char *template, ...)
	__attribute__((format(printf, 2, 3)));
/* Comma and key only: the caller writes the value. */
void ms_json_key(struct ms_json *j, const char *key);

/* Lays JSON out over many lines, indented by two blanks, on its way to another writer. Set `to`, the
 * rest zeroed, and give ms_json_pretty_put to a writer with this as its `to`. A line end between
 * values stays one. */
struct ms_json_pretty {
	struct ms_json to;
	size_t depth;
	bool quoted, escaped; /* within a string; behind a backslash there */
	bool opened;          /* the last character was an opening bracket */
};
void ms_json_pretty_put(void *pretty, const char *text, size_t n);
