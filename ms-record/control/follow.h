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
	const char *names; /* FOLLOW_NAMED: comma-separated patterns */
};

/* Tells whether to record a program after an exec (`how` = FOLLOW_EXEC), or a forked child that
 * does not exec (FOLLOW_FORK). `exe`: path of the executable; `name`: name of the process. */
bool follow_wants(const struct follow *f, enum follow_which how, const char *exe, const char *name);
