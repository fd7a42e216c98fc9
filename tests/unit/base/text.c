/* SPDX-License-Identifier: MIT
 * Characters of several bytes, in JSON and in messages: what is none, what would steer a terminal, and
 * where a text is cut.
 */
#include "libcommon/base/err.h"
#include "libcommon/base/json_writer.h"
#include "libcommon/base/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

static void characters(void)
{
	static const struct {
		const char *bytes;
		size_t length;
		uint32_t c;
	} t[] = {
		{"a", 1, 'a'},
		{"\x7f", 1, 0x7f},
		{"\x80", 0, 0},
		{"\xc1\xbf", 0, 0}, /* overlong */
		{"\xc2\x80", 2, 0x80},
		{"\xdf\xbf", 2, 0x7ff},
		{"\xe0\x9f\xbf", 0, 0},
		{"\xe0\xa0\x80", 3, 0x800},
		{"\xed\x9f\xbf", 3, 0xd7ff},
		{"\xed\xa0\x80", 0, 0}, /* surrogates */
		{"\xed\xbf\xbf", 0, 0},
		{"\xee\x80\x80", 3, 0xe000},
		{"\xef\xbf\xbf", 3, 0xffff},
		{"\xf0\x8f\xbf\xbf", 0, 0},
		{"\xf0\x90\x80\x80", 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		{"\xf4\x90\x80\x80", 0, 0}, /* beyond */
		{"\xf5\x80\x80\x80", 0, 0},
		{"\xe2\x82z", 0, 0},
		{"\xff", 0, 0},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		uint32_t c = 0;
		size_t n = strlen(t[i].bytes);
		CHECK(ms_utf8_next(t[i].bytes, n, &c) == t[i].length && c == t[i].c, "row %zu: %#x",
		      i, c);
		CHECK(n == 1 || ms_utf8_next(t[i].bytes, n - 1, &c) == 0, "row %zu, cut", i);
	}
}

/* ---- JSON ---- */

static char out[512];

static void put(void *to, const char *s, size_t n)
{
	(void)to;
	strncat(out, s, n);
}

static void strings(void)
{
	struct ms_json j = {.put = put};
	*out = 0;
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "a\"b",
		       "c\\d\n\x7f\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa");
	ms_json_string(&j, "e", "\xff\xe2\x82");
	ms_json_string(&j, "f", NULL);
	ms_json_number(&j, "g", UINT64_MAX - 1);
	ms_json_number(&j, "h", UINT64_MAX);
	ms_json_real(&j, "i", -0.25, 1);
	ms_json_real(&j, "j", INFINITY, 1);
	ms_json_open(&j, "k", '[');
	ms_json_bool(&j, NULL, true);
	ms_json_number(&j, NULL, 0);
	ms_json_close(&j, ']');
	ms_json_close(&j, '}');
	static const char want[] =
		"{\"a\\\"b\":\"c\\\\d\\u000a\\u007f\\u0085\xc2\xa0\\u2028\\u2029\xe2\x80\xaa\","
		"\"e\":\"\\ufffd\\ufffd\\ufffd\",\"f\":null,\"g\":18446744073709551614,\"h\":null,"
		"\"i\":-0.2,\"j\":null,\"k\":[true,0]}";
	CHECK(!strcmp(out, want), "%s", out);
}

/* Checks that text within a string that looks like JSON is left as it is. */
static void pretty(void)
{
	static const char text[] = "{\"a\\\"{,:\":[],\"b\":{\"c\":1,\"d\\\\\":[2,{}]}}\n",
			  want[] = "{\n  \"a\\\"{,:\": [],\n  \"b\": {\n    \"c\": 1,\n"
				   "    \"d\\\\\": [\n      2,\n      {}\n    ]\n  }\n}\n";
	for (size_t step = 1; step <= strlen(text); step++) { /* wherever it is cut in pieces */
		struct ms_json_pretty p = {.to = {.put = put}};
		*out = 0;
		for (size_t i = 0; i < strlen(text); i += step)
			ms_json_pretty_put(&p, text + i, strnlen(text + i, step));
		CHECK(!strcmp(out, want), "%zu: %s", step, out);
	}
	struct ms_json_pretty p = {.to = {.put = put}};
	*out = 0;
	ms_json_pretty_put(&p, "]\"\\", 3); /* not JSON: no further than to its end */
	CHECK(!strcmp(out, "\n]\"\\"), "%s", out);
}

/* ---- messages ---- */

static void message(const char *name, const char *want)
{
	struct ms_err err = {0};
	CHECK(ms_err_set(&err, "'%s'", name) == -1 && !strcmp(err.text, want), "%s", err.text);
	ms_err_set(&err, "another");
	CHECK(!strcmp(err.text, want), "the first one stays: %s", err.text);
}

/* The two ends are kept, and no half of a character, wherever the cuts fall. */
static void long_messages(void)
{
	static const char end[] = "\x80': No such file or directory";
	for (unsigned before = 0; before < 8; before++) {
		struct ms_err err = {0};
		char name[3001];
		for (size_t i = 0; i < sizeof name - 1; i += 4)
			memcpy(name + i, "\xf0\x9f\x98\x80", 4);
		name[sizeof name - 1] = 0;
		errno = ENOENT;
		ms_err_sys(&err, "%.*s'%s'", (int)before, "abcdefgh", name);
		size_t n = strlen(err.text);
		CHECK(n < sizeof err.text && n > sizeof err.text - 16, "%zu bytes", n);
		CHECK(!strchr(err.text, '?') && strstr(err.text, "\x80 ... \xf0"), "%s", err.text);
		CHECK(!strncmp(err.text, "abcdefgh", before) && err.text[before] == '\'', "%s",
		      err.text);
		CHECK(!strcmp(err.text + n - strlen(end), end), "%s", err.text);
	}
	char bad[3000];
	struct ms_err err = {0};
	memset(bad, 0x80, sizeof bad - 1); /* bytes that begin nothing */
	bad[sizeof bad - 1] = 0;
	ms_err_set(&err, "'%s': why", bad);
	CHECK(!strcmp(err.text, " ... ': why"), "%s", err.text);
}

int main(void)
{
	characters();
	strings();
	pretty();
	message("a\tb\x1b[1m\x7f", "'a b [1m '");
	message("\xc2\x85\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xff##[set", "'?????\?#[set'");
	message("\xe2\x82\xac", "'\xe2\x82\xac'");
	long_messages();
	return failures != 0;
}
