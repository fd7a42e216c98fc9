/* SPDX-License-Identifier: MIT
 * Matches suppressions with call stacks.
 *
 * Valgrind's stacks begin with the allocation function, ours with its caller, so the first line of
 * a suppression may match the missing function. An operator new in our stack may also be Valgrind's
 * allocation function.
 */
#include "suppress.h"

#include "suppress_private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Matches a whole text: * matches any text and, with `question`, ? any character. */
static bool glob(const char *p, const char *s, bool question)
{
	const char *star = NULL, *again = NULL;
	while (*s) {
		if (*p == '*') {
			star = ++p;
			again = s;
		} else if (*p == *s || (question && *p == '?')) {
			p++;
			s++;
		} else if (star) {
			p = star;
			s = ++again;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

static bool is_new(const struct ms_suppress_frame *f)
{
	return f->function && strncmp(f->function, "operator new", 12) == 0;
}

/* LeakSanitizer and Valgrind replace operator new of the C++ library, so a suppression that names
 * this library must not match every block allocated by new. */
enum ms_suppressed ms_suppress_frame(const struct ms_suppression *s,
				     const struct ms_suppress_frame *f)
{
	const char *const names[] = {f->function, f->file, f->module};
	for (size_t i = 0; i < (is_new(f) ? 1 : 3); i++)
		if (names[i] && names[i][0] && glob(s->detail->pattern, names[i], false))
			return MS_SUPPRESS_YES;
	return f->function ? MS_SUPPRESS_NO : MS_SUPPRESS_NAMES;
}

/* ---- stacks ---- */

/* Holds the lines and frames to match. If `lenient`, an unknown name matches every pattern. */
struct
try {
	const struct ms_suppress_line *lines;
	size_t line_count;
	const struct ms_suppress_frame *frames;
	size_t n;
	bool lenient;
};

static bool function_meets(const struct ms_suppress_line *l, const char *function, bool lenient)
{
	if (!function)
		return lenient;
	if (l->demangled)
		return strcmp(l->demangled, function) == 0;
	if (l->mangled) /* a mangled pattern with wildcards; it can match C++ and Rust names only */
		return lenient && strpbrk(function, ":(");
	return glob(l->pattern, function, true);
}

/* Matches "src:file" or "src:file:line"; the file may be given with or without its folders. */
static bool source_meets(const char *pattern, const struct ms_suppress_frame *f, bool lenient)
{
	char name[4096];
	const char *colon = strrchr(pattern, ':'), *slash = f->file ? strrchr(f->file, '/') : NULL;
	size_t n = strlen(pattern);
	if (!f->file)
		return lenient;
	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		if (strtol(colon + 1, NULL, 10) != f->line)
			return false;
		n = (size_t)(colon - pattern);
	}
	if (n >= sizeof name)
		return false;
	memcpy(name, pattern, n);
	name[n] = '\0';
	return glob(name, f->file, true) || (slash && glob(name, slash + 1, true));
}

static bool line_meets(const struct ms_suppress_line *l, const struct ms_suppress_frame *f,
		       bool lenient)
{
	switch (l->kind) {
	case MS_LINE_FUNCTION:
		return function_meets(l, f->function, lenient);
	case MS_LINE_OBJECT:
		if (is_new(f))
			return false;
		return f->module ? glob(l->pattern, f->module, true) : lenient;
	case MS_LINE_SOURCE:
		return source_meets(l->pattern, f, lenient);
	default:
		return true;
	}
}

/* Matches lines from `line` on with frames from `at` on. The line "..." matches any number of
 * frames, as * does in a glob. */
static bool meets(const struct try *t, size_t line, size_t at)
{
	size_t star = SIZE_MAX, again = 0;
	while (line < t->line_count) {
		if (t->lines[line].kind == MS_LINE_ANY) {
			star = ++line;
			again = at;
		} else if (at < t->n && line_meets(&t->lines[line], &t->frames[at], t->lenient)) {
			line++;
			at++;
		} else if (star != SIZE_MAX && again < t->n) {
			line = star;
			at = ++again;
		} else {
			return false;
		}
	}
	return true;
}

/* Tells whether the line matches an operator new. Its variants are treated as equal, since the
 * array form calls the plain one without a frame of its own. */
static bool new_meets(const struct ms_suppress_line *l)
{
	static const char *const names[] = {
#define MS_HOOK_NEW(name) #name,
#include "format/functions.def"
		"operator new(unsigned long)",
		"operator new[](unsigned long)",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names && l->kind == MS_LINE_FUNCTION; i++)
		if (glob(l->pattern, names[i], true))
			return true;
	return false;
}

/* Tells whether the line matches malloc or a similar function, which Valgrind's stacks begin with
 * and ours do not contain. */
static bool is_allocator(const struct ms_suppress_line *l)
{
	static const char *const names[] = {
#define MS_HOOK_ALLOC(name, ...) #name,
#include "format/functions.def"
	};
	if (l->kind == MS_LINE_OBJECT)
		return strstr(l->pattern, "vgpreload") != NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && l->kind == MS_LINE_FUNCTION; i++)
		if (glob(l->pattern, names[i], true))
			return true;
	return new_meets(l);
}

/* Matches a stack in which operator new called malloc. For Valgrind the allocation function is then
 * the outermost operator new, unless the lines also contain malloc. */
static bool new_any_way(const struct try *t, size_t count)
{
	const struct ms_suppress_line *l = t->lines;
	if (!is_allocator(l))
		return meets(t, 0, 0);
	if (l->kind == MS_LINE_OBJECT || new_meets(l))
		return meets(t, 1, count);
	return t->line_count > 1 && new_meets(l + 1) && meets(t, 1, 0);
}

static bool any_way(const struct try *t)
{
	size_t count = 0;
	while (count < t->n && is_new(&t->frames[count]))
		count++;
	if (count)
		return new_any_way(t, count);
	return meets(t, 0, 0) || (is_allocator(&t->lines[0]) && meets(t, 1, 0));
}

static enum ms_suppressed kind_meets(const struct ms_suppress_detail *d, const char *verdict)
{
	static const struct {
		const char *verdict;
		unsigned kinds;
	} table[] = {{"unreachable", MS_KIND_DEFINITE},
		     {"indirect", MS_KIND_INDIRECT},
		     {"unknown", MS_KIND_POSSIBLE},
		     {"growing", MS_KIND_REACHABLE},
		     {"reachable", MS_KIND_REACHABLE}};
	if (d->kinds == MS_KINDS)
		return MS_SUPPRESS_YES;
	if (!verdict)
		return d->kinds ? MS_SUPPRESS_VERDICT : MS_SUPPRESS_NO;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(verdict, table[i].verdict) == 0)
			return d->kinds & table[i].kinds ? MS_SUPPRESS_YES : MS_SUPPRESS_NO;
	return MS_SUPPRESS_NO;
}

enum ms_suppressed ms_suppress_stack(const struct ms_suppression *s,
				     const struct ms_suppress_frame *frames, size_t n,
				     const char *verdict)
{
	const struct ms_suppress_detail *d = s->detail;
	struct try t = {d->lines, d->line_count, frames, n, false};
	enum ms_suppressed kind = kind_meets(d, verdict);
	if (kind == MS_SUPPRESS_NO)
		return kind;
	if (any_way(&t))
		return kind;
	t.lenient = true;
	return any_way(&t) ? MS_SUPPRESS_NAMES : MS_SUPPRESS_NO;
}
