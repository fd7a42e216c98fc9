/* SPDX-License-Identifier: MIT
 * Stores one error message, formatted once, closest to the cause.
 */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

void ms_one_line(char *s)
{
	char *to = s;
	for (size_t n = strlen(s), len; n; s += len, n -= len) {
		uint32_t c = 0;
		size_t valid = ms_utf8_next(s, n, &c);
		len = valid ? valid : 1;
		bool bad = !valid || (c >= 0x80 && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
			   (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
			   strncmp(s, "##[", 3) == 0;
		if (bad || c < ' ' || c == 0x7f) {
			*to++ = bad ? '?' : ' ';
		} else {
			memmove(to, s, len);
			to += len;
		}
	}
	*to = '\0';
}

/* Shortens a message in the middle: the reason is at the end, after names that may be long. */
static void cut(char *text, size_t room, const char *all, size_t n)
{
	static const char gap[] = " ... ";
	size_t tail = room / 4, head = room - tail - sizeof gap;
	const char *end = all + n - tail;
	while (head && (all[head] & 0xc0) == 0x80)
		head--;
	while ((*end & 0xc0) == 0x80)
		end++;
	snprintf(text, room, "%.*s%s%s", (int)head, all, gap, end);
}

/* Sets the message, followed by the text of errno `e`; 0 = no errno. */
static void set(struct ms_err *err, int e, const char *fmt, va_list ap)
{
	char *what = NULL, *all = NULL;
	if (!err || err->text[0])
		return;
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	err->pipe = e == EPIPE;
	int n = what ? asprintf(&all, e ? "%s: %s" : "%s", what, strerror(e)) : -1;
	if (n < 0)
		snprintf(err->text, sizeof err->text, "out of memory");
	else if ((size_t)n < sizeof err->text)
		memcpy(err->text, all, (size_t)n + 1);
	else
		cut(err->text, sizeof err->text, all, (size_t)n);
	free(what);
	if (n >= 0)
		free(all);
	ms_one_line(err->text);
}

void ms_err_setv(struct ms_err *err, const char *fmt, va_list ap)
{
	set(err, 0, fmt, ap);
}

int ms_err_set(struct ms_err *err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	set(err, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int ms_err_sys(struct ms_err *err, const char *fmt, ...)
{
	int e = errno;
	va_list ap;
	va_start(ap, fmt);
	set(err, e, fmt, ap);
	va_end(ap);
	return -1;
}
