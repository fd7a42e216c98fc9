/* SPDX-License-Identifier: MIT
 * One error message, filled once, closest to the cause.
 */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message is one line, whatever is in the names and texts that it quotes: a control character
 * becomes a space. */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
}

int ms_err_set(struct ms_err *err, const char *fmt, ...)
{
	va_list ap;
	if (!err || err->text[0])
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	one_line(err->text);
	return -1;
}

int ms_err_sys(struct ms_err *err, const char *fmt, ...)
{
	int e = errno;
	va_list ap;
	if (!err || err->text[0])
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof err->text)
		snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", strerror(e));
	one_line(err->text);
	return -1;
}
