/* SPDX-License-Identifier: MIT
 * The output of a report: a growing buffer, written to a file descriptor when it is large, or kept
 * for a file that is written as a whole.
 */
#include "out.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/json_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE ((size_t)1 << 20)

static void empty(struct out *o)
{
	if (!o->error && ms_write_all(o->fd, o->v, o->n) != 0)
		o->error = errno;
	o->n = 0;
}

static char *reserve(struct out *o, size_t n)
{
	if (o->cap - o->n < n) {
		o->cap = (o->cap + n) * 2;
		o->v = ms_xrealloc(o->v, o->cap, 1);
	}
	return o->v + o->n;
}

void out_put(struct out *o, const char *s, size_t n)
{
	if (!n)
		return;
	memcpy(reserve(o, n), s, n);
	o->n += n;
	if (o->fd && o->n > LARGE)
		empty(o);
}

void out_str(struct out *o, const char *s)
{
	out_put(o, s, strlen(s));
}

void out_char(struct out *o, char c)
{
	out_put(o, &c, 1);
}

void out_repeat(struct out *o, const char *s, size_t times)
{
	while (times--)
		out_str(o, s);
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n > 0) {
		vsnprintf(reserve(o, (size_t)n + 1), (size_t)n + 1, fmt, again);
		o->n += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

void out_number(struct out *o, uint64_t n)
{
	char buf[24], *p = buf + sizeof buf;
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	out_put(o, p, (size_t)(buf + sizeof buf - p));
}

void out_escaped(struct out *o, const char *s, const char *which, const char *backslashed)
{
	static const char chars[] = "<>&\"@#|";
	static const char *const entities[] = {"&lt;",  "&gt;",  "&amp;", "&quot;",
					       "&#64;", "&#35;", "&#124;"};
	for (; *s; s++) {
		if (strchr(which, *s)) {
			out_str(o, entities[strchr(chars, *s) - chars]);
			continue;
		}
		if (strchr(backslashed, *s))
			out_char(o, '\\');
		out_char(o, *s);
	}
}

int out_flush(struct out *o, const char *name, struct ms_err *err)
{
	if (o->fd)
		empty(o);
	if (!o->error)
		return 0;
	errno = o->error;
	return ms_err_sys(err, "cannot write '%s'", name);
}

void out_free(struct out *o)
{
	free(o->v);
	o->v = NULL;
	o->n = o->cap = 0;
}

static void put_json(void *to, const char *s, size_t n)
{
	out_put(to, s, n);
}

struct ms_json out_json(struct out *o)
{
	struct ms_json plain = {.put = put_json, .to = o};
	if (!o->pretty)
		return plain;
	o->pretty->to = plain;
	return (struct ms_json){.put = ms_json_pretty_put, .to = o->pretty};
}
