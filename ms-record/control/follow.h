/* SPDX-License-Identifier: MIT
 * --follow: which further programs and forked children are recorded.
 */
#pragma once

#include <stdbool.h>

enum follow_which {
	FOLLOW_DEFAULT,
	FOLLOW_ALL,
	FOLLOW_NONE,
	FOLLOW_FORK,
	FOLLOW_EXEC,
	FOLLOW_NAMED,
};

struct follow {
	enum follow_which which;
	const char *names; /* FOLLOW_NAMED: patterns with commas between them */
};

/* Shall a program that is executed, or a child that forks from it without an exec, be recorded?
 * `exe`: path of the executable; `name`: what the process is called. */
bool follow_exec(const struct follow *f, const char *exe, const char *name);
bool follow_fork(const struct follow *f, const char *exe, const char *name);
