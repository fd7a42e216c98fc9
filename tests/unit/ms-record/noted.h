/* SPDX-License-Identifier: MIT
 * What a part of the recorder asks of others, which a test plays, in order.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/is.h"

#ifndef NOTED_BETWEEN
#define NOTED_BETWEEN ", "
#endif

static char done[12000];

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	size_t n = strlen(done);
	va_list ap;
	va_start(ap, fmt);
	n += (size_t)snprintf(done + n, sizeof done - n, "%s", n ? NOTED_BETWEEN : "");
	vsnprintf(done + n, sizeof done - n, fmt, ap);
	va_end(ap);
}

/* Checks what was noted since the last call. */
static void did(const char *what, const char *want)
{
	CHECK(!strcmp(done, want), "%s: '%s', not '%s'", what, done, want);
	done[0] = '\0';
}
