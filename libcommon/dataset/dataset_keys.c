/* SPDX-License-Identifier: MIT
 * Keys, which identify a run.
 */
#include "dataset_private.h"

#include <string.h>

#include "libcommon/base/err.h"
#include "libcommon/base/json_writer.h"
#include "libcommon/base/units.h"
#include "libcommon/base/utf8.h"

#define VALUE_MAX 255
/* Largest time: the end of year 9999. */
#define TIME_MAX 253402300799

static size_t name_length(const char *key)
{
	return strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
}

static int by_name(const char *a, const char *b)
{
	size_t n = name_length(a), k = name_length(b);
	int order = memcmp(a, b, n < k ? n : k);
	return order ? order : n < k ? -1 : n > k;
}

/* Tells whether a text is one printable line, so that files with one item per line can contain
 * it. */
static bool is_value(const char *s)
{
	size_t n = strlen(s), at = 0, step = 1;
	for (uint32_t c = 0; at < n && step; at += step) {
		step = ms_utf8_next(s + at, n - at, &c);
		if (c < ' ' || c == 0x7f)
			return false;
	}
	return n && n <= VALUE_MAX && step;
}

static bool is_time(const char *key)
{
	return strncmp(key, "time=", 5) == 0;
}

int ms_dataset_key_take(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct ms_cli_list *keys = arg->to;
	const char *key = arg->text;
	size_t n = name_length(key), at = keys->n;
	uint64_t time;
	if (!n || key[n] != '=')
		return ms_err_set(err,
				  "bad --key '%s': expected NAME=VALUE, such as test=parser; a "
				  "name consists of letters, digits, '_', '-' and '.'",
				  key);
	if (!is_value(key + n + 1))
		return ms_err_set(
			err,
			"bad --key '%s': a value must be one line of UTF-8, 1 to %d bytes long",
			key, VALUE_MAX);
	if (is_time(key) && ms_parse_count(key + 5, "--key time, in seconds since 1970,", 0,
					   TIME_MAX, &time, err) != 0)
		return -1;
	*MS_PUSH(keys) = key;
	for (; at > 0 && by_name(keys->v[at - 1], key) > 0; at--)
		keys->v[at] = keys->v[at - 1];
	keys->v[at] = key;
	if (at > 0 && by_name(keys->v[at - 1], key) == 0)
		return ms_err_set(err, "--key '%s' and --key '%s': a name has one value",
				  keys->v[at - 1], key);
	return 0;
}

const char *ms_dataset_key(const struct ms_cli_list *keys, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < keys->n; i++)
		if (strncmp(keys->v[i], name, n) == 0 && keys->v[i][n] == '=')
			return keys->v[i] + n + 1;
	return NULL;
}

void dataset_put(struct dataset_text *t, const char *s, size_t n)
{
	if (!n)
		return;
	if (t->n + n > t->cap)
		t->v = ms_xrealloc(t->v, t->cap = 2 * (t->n + n), 1);
	memcpy(t->v + t->n, s, n);
	t->n += n;
}

static void put_json(void *to, const char *s, size_t n)
{
	dataset_put(to, s, n);
}

char *dataset_keys_json(const struct ms_cli_list *keys, struct ms_arena *a)
{
	struct dataset_text t = {0};
	struct ms_json j = {.put = put_json, .to = &t};
	ms_json_open(&j, NULL, '{');
	for (size_t i = 0; i < keys->n; i++) {
		size_t n = name_length(keys->v[i]);
		if (!is_time(keys->v[i]))
			ms_json_string(&j, ms_arena_strndup(a, keys->v[i], n), keys->v[i] + n + 1);
	}
	ms_json_close(&j, '}');
	char *json = ms_arena_strndup(a, t.v, t.n);
	MS_FREE(t.v);
	return json;
}
