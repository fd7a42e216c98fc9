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

/* Shall a program that is executed (`how`: FOLLOW_EXEC), or a child that forks from it without an
 * exec (FOLLOW_FORK), be recorded? `exe`: path of the executable; `name`: what the process is
 * called. */
bool follow_wants(const struct follow *f, enum follow_which how, const char *exe, const char *name);
