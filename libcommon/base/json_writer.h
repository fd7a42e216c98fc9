/* SPDX-License-Identifier: MIT
 * Writes JSON: it adds commas and escapes, the caller nests. The text goes to a function of the
 * caller, so that no memory is allocated here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_json {
	void (*put)(void *to, const char *s, size_t n);
	void *to;
	bool comma; /* the next value on this level needs a comma */
};

/* Opens an object or array; `key` is NULL inside an array. */
void ms_json_open(struct ms_json *j, const char *key, char bracket); /* bracket: '{' or '[' */
void ms_json_close(struct ms_json *j, char bracket);                 /* bracket: '}' or ']' */
void ms_json_string(struct ms_json *j, const char *key,
		    const char *s); /* s: NULL = null; invalid UTF-8 becomes U+FFFD */
void ms_json_number(struct ms_json *j, const char *key, uint64_t v); /* v: UINT64_MAX = null */
/* Holds one of several numbers that are written in one call. */
struct ms_json_named {
	const char *key;
	uint64_t v;
};
void ms_json_numbers(struct ms_json *j, const struct ms_json_named *v, size_t n);
#define MS_JSON_NUMBERS(j, ...)                                                                    \
	ms_json_numbers(j, (const struct ms_json_named[]){__VA_ARGS__},                            \
			sizeof((const struct ms_json_named[]){__VA_ARGS__}) /                      \
				sizeof(struct ms_json_named))
void ms_json_signed(struct ms_json *j, const char *key, int64_t v); /* v: INT64_MIN = null */
void ms_json_bool(struct ms_json *j, const char *key, bool v);
/* Writes a number with `digits` decimals; NaN and infinities become null. */
void ms_json_real(struct ms_json *j, const char *key, double v, int digits);
/* Writes a value that is JSON already; NULL = null. */
void ms_json_raw(struct ms_json *j, const char *key, const char *text);
/* Writes a string formatted as by printf, at most 255 bytes. */
void ms_json_print(struct ms_json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes JSON by a template that consists of brackets, "key:" before a value or a bracket, and values:
 * %s (a string), %lu (a number, as ms_json_number writes it), %ld (a signed one; INT64_MIN = null),
 * %lx (an address, as a string), %.1f (a real number with that many decimals, one digit) and %d (a
 * bool): "{name:%s live:{bytes:%lu}}" */
void ms_json_format(struct ms_json *j, const char *template, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes only a comma and the key; the caller writes the value. */
void ms_json_key(struct ms_json *j, const char *key);

/* Pretty-prints JSON, indented by two blanks, and passes it to another writer. To use it, set `to`,
 * zero the rest, and create a writer with ms_json_pretty_put and this struct as its `to`. Line ends
 * between values are kept. */
struct ms_json_pretty {
	struct ms_json to;
	size_t depth;
	bool quoted, escaped; /* quoted: inside a string; escaped: after a backslash in a string */
	bool opened;          /* the last character was an opening bracket */
};
void ms_json_pretty_put(void *pretty, const char *text, size_t n);
