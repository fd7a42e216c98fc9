/* SPDX-License-Identifier: MIT
 * What the values of ms-record's options mean.
 */
#include "options_values.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

#define MAX_SIZE_LEAST (1u << 20)

int options_follow(struct options *o, const char *s, struct ms_err *err)
{
	static const struct {
		const char *name;
		enum follow follow;
	} names[] = {{"all", FOLLOW_ALL},
		     {"none", FOLLOW_NONE},
		     {"fork", FOLLOW_FORK},
		     {"exec", FOLLOW_EXEC}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(s, names[i].name)) {
			o->follow = names[i].follow;
			return 0;
		}
	/* A word without a sign of a pattern is more likely a slip than a program's name. */
	if (!*s || strchr(s, '/') || strstr(s, ",,") || *s == ',' || s[strlen(s) - 1] == ',' ||
	    !strpbrk(s, "*?[,"))
		return ms_err_set(
			err,
			"bad --follow '%s': all, none, fork, exec, or names of programs as "
			"patterns ('cc1*,ld')",
			s);
	o->follow = FOLLOW_NAMED;
	o->follow_names = s;
	return 0;
}

static bool named(const struct options *o, const char *exe, const char *name)
{
	const char *slash = strrchr(exe, '/');
	char pattern[256];
	for (const char *p = o->follow_names; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");
		snprintf(pattern, sizeof pattern, "%.*s", (int)n, p);
		if (!fnmatch(pattern, slash ? slash + 1 : exe, 0) || !fnmatch(pattern, name, 0))
			return true;
		p += n;
	}
	return false;
}

bool options_follow_exec(const struct options *o, const char *exe, const char *name)
{
	if (o->follow == FOLLOW_NAMED)
		return named(o, exe, name);
	return o->follow != FOLLOW_NONE && o->follow != FOLLOW_FORK;
}

bool options_follow_fork(const struct options *o, const char *exe, const char *name)
{
	if (o->follow == FOLLOW_NAMED)
		return named(o, exe, name);
	return o->follow != FOLLOW_NONE && o->follow != FOLLOW_EXEC;
}

int options_overflow(struct options *o, const char *s, struct ms_err *err)
{
	if (!strcmp(s, "drop")) {
		o->wait_ns = 0;
		return 0;
	}
	if (!strcmp(s, "wait"))
		return 0;
	if (strncmp(s, "wait:", 5))
		return ms_err_set(err, "bad --overflow '%s': wait, wait:DUR or drop", s);
	if (ms_parse_duration(s + 5, &o->wait_ns, err))
		return -1;
	return o->wait_ns ? 0 : ms_err_set(err, "bad --overflow '%s': use drop", s);
}

int options_max_size(struct options *o, const char *s, struct ms_err *err)
{
	if (ms_parse_size(s, &o->max_bytes, err))
		return -1;
	return o->max_bytes >= MAX_SIZE_LEAST
		       ? 0
		       : ms_err_set(err, "bad --max-size '%s': at least 1M is needed", s);
}

int options_leak_check(struct options *o, const char *s, struct ms_err *err)
{
	static const struct {
		const char *name;
		enum scan_wish wish;
		uint64_t ns;
	} wishes[] = {{"auto", SCAN_AUTO, SCAN_AUTO_NS},
		      {"yes", SCAN_YES, SCAN_YES_NS},
		      {"no", SCAN_NO, 0}};
	size_t n = strcspn(s, ":");
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
		if (strlen(wishes[i].name) != n || strncmp(s, wishes[i].name, n) != 0)
			continue;
		o->leak_check = wishes[i].wish;
		o->leak_ns = wishes[i].ns;
		if (!s[n])
			return 0;
		if (o->leak_check == SCAN_NO || ms_parse_duration(s + n + 1, &o->leak_ns, err))
			break;
		return o->leak_ns >= 10000000 && o->leak_ns <= UINT64_C(3600000000000)
			       ? 0
			       : ms_err_set(err, "bad --leak-check '%s': 10ms to 1h are possible",
					    s);
	}
	return ms_err_set(err, "bad --leak-check '%s': auto, yes or no, or auto:DUR or yes:DUR", s);
}

int options_leak_mark(struct options *o, const char *s, struct ms_err *err)
{
	o->leak_mark = s;
	if (!strncmp(s, "mark:", 5) && s[5] && strlen(s + 5) <= 255)
		return 0;
	return ms_err_set(
		err, "bad --leak-check-at '%s': mark:NAME, of at most 255 bytes, is needed", s);
}

int options_start(struct options *o, const char *s, struct ms_err *err)
{
	o->start_after_ns = 0;
	o->start_mark = NULL;
	if (strncmp(s, "mark:", 5)) {
		if (ms_parse_duration(s, &o->start_after_ns, err))
			return -1;
		return o->start_after_ns ? 0
					 : ms_err_set(err, "bad --start-after '%s': too short", s);
	}
	o->start_mark = s + 5;
	if (!s[5] || strlen(s + 5) > 255)
		return ms_err_set(
			err, "bad --start-after '%s': a name of at most 255 bytes is needed", s);
	return 0;
}

int options_env(struct options *o, const char *s, struct ms_err *err)
{
	const char *eq = strchr(s, '=');
	if (!eq || eq == s)
		return ms_err_set(err, "bad --env '%s': NAME=VALUE is needed", s);
	*MS_PUSH(&o->env) = s;
	return 0;
}

int options_interval(struct options *o, const char *s, struct ms_err *err)
{
	o->interval_asked = true;
	if (ms_parse_duration(s, &o->interval_ns, err))
		return -1;
	return o->interval_ns >= 1000000
		       ? 0
		       : ms_err_set(err, "bad --interval '%s': at least 1ms is needed", s);
}

int options_buffer(struct options *o, const char *s, struct ms_err *err)
{
	if (ms_parse_size(s, &o->buffer_bytes, err))
		return -1;
	return o->buffer_bytes >= 1u << 20
		       ? 0
		       : ms_err_set(err, "bad --buffer '%s': at least 1M is needed", s);
}

#define SAMPLE_MOST (UINT64_C(1) << 40)

int options_sample(struct options *o, const char *s, struct ms_err *err)
{
	if (ms_parse_size(s, &o->sample_bytes, err))
		return -1;
	return o->sample_bytes <= SAMPLE_MOST
		       ? 0
		       : ms_err_set(err, "bad --sample '%s': at most 1T is possible", s);
}

int options_keep(struct options *o, const char *arg, struct ms_err *err)
{
	o->keep_live = true;
	o->keep_last_ns = 0;
	if (!strcmp(arg, "live"))
		return 0;
	if (strncmp(arg, "last:", 5) != 0)
		return ms_err_set(err, "bad --keep '%s': live, or last:DURATION", arg);
	if (ms_parse_duration(arg + 5, &o->keep_last_ns, err))
		return -1;
	return o->keep_last_ns ? 0 : ms_err_set(err, "bad --keep '%s': more than 0 is needed", arg);
}

int options_check_keep(const struct options *o, struct ms_err *err)
{
	if (o->keep_last_ns && o->max_bytes)
		return ms_err_set(err, "--keep=last does not go together with --max-size");
	if (o->keep_live && !o->keep_last_ns && !o->max_bytes)
		return ms_err_set(err, "--keep=live needs --max-size");
	return 0;
}
