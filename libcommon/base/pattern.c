/* SPDX-License-Identifier: MIT
 * Compiles regular expressions from users.
 *
 * With a back-reference, the time of glibc's matcher grows with the square of the text or faster.
 * It also expands repetitions: (a{255}){255} are 65,025 copies. So the expanded length of an
 * expression is computed first. Each nested repetition doubles the ways to match, so the nesting is
 * limited, too.
 */
#include "pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BYTES_MAX 1000u
#define REPEAT_MAX 255u
#define WRITTEN_OUT_MAX 1000u
#define NESTED_MAX 3u

static const char back_reference[] = "back-references (\\1 to \\9) are not supported",
		  too_long[] = "it is longer than 1000 bytes", repeats[] = "{n} is at most 255",
		  nested[] = "repetitions are nested more than 3 deep",
		  written_out[] = "its repetitions expand to more than 1000 characters";

/* Counts the characters of a group (or of the whole expression) so far, with repetitions expanded,
 * and those of its last item. */
struct level {
	size_t all, last;
	unsigned nested, last_nested; /* nesting of repetitions: in the group, in its last item */
};

struct scan {
	const char *at;
	char *to; /* output: the expression passed to regcomp */
	struct level level[BYTES_MAX + 1];
	size_t depth;
};

static void item(struct scan *s, size_t n)
{
	struct level *l = &s->level[s->depth];
	l->last = n;
	l->last_nested = 0;
	l->all += n;
}

/* Counts the last item as repeated, `times` in all. */
static void repeat(struct scan *s, size_t times)
{
	struct level *l = &s->level[s->depth];
	if (++l->last_nested > l->nested)
		l->nested = l->last_nested;
	if (times < 2)
		return;
	l->all += l->last * (times - 1);
	l->last *= times;
}

/* Skips the bracket expression at s->at, in which a backslash has no special meaning. */
static void pass_bracket(struct scan *s)
{
	const char *p = s->at + 1;
	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']') {
		char kind = *p == '[' && p[1] && strchr(":.=", p[1]) ? p[1] : 0;
		for (p += kind ? 2 : 1; kind && *p; p++)
			if (*p == kind && p[1] == ']') {
				p += 2;
				break;
			}
	}
	s->at = *p ? p + 1 : p;
	item(s, 1);
}

/* Reads digits as a number, limited to REPEAT_MAX + 1. */
static size_t number(const char **p)
{
	size_t n = 0;
	for (; **p >= '0' && **p <= '9'; ++*p)
		n = n > REPEAT_MAX ? n : n * 10 + (size_t)(**p - '0');
	return n > REPEAT_MAX ? REPEAT_MAX + 1 : n;
}

/* Reads {n}, {n,} or {n,m}. False = a number is too large. */
static bool pass_braces(struct scan *s)
{
	const char *p = s->at + 1;
	size_t low = number(&p), high = low;
	if (*p == ',') {
		p++;
		high = *p == '}' ? low + 1 : number(&p);
	}
	if (low > REPEAT_MAX || high > REPEAT_MAX + (*p == '}' && p[-1] == ','))
		return false;
	repeat(s, high > low ? high : low);
	s->at = p;
	return true;
}

/* Reads a run of ?, * and +, and copies it as a single equivalent one. */
static void pass_marks(struct scan *s)
{
	size_t n = strspn(s->at, "?*+");
	bool some = memchr(s->at, '?', n) || memchr(s->at, '*', n);
	bool many = memchr(s->at, '+', n) || memchr(s->at, '*', n);
	repeat(s, some ? 1 : 2);
	*s->to++ = !many ? '?' : some ? '*' : '+';
	s->at += n;
}

static void close_group(struct scan *s)
{
	struct level inner = s->level[s->depth];
	if (s->depth)
		s->depth--;
	item(s, inner.all ? inner.all : 1);
	s->level[s->depth].last_nested = inner.nested;
	if (inner.nested > s->level[s->depth].nested)
		s->level[s->depth].nested = inner.nested;
}

/* Checks the next part of the expression. NULL, or why it is refused. */
static const char *step(struct scan *s)
{
	char c = *s->at, next = s->at[1];
	switch (c) {
	case '[':
		pass_bracket(s);
		return NULL;
	case '{':
		return pass_braces(s) ? (s->at += *s->at == '}', NULL) : repeats;
	case '\\':
		if (next >= '1' && next <= '9')
			return back_reference;
		s->at += next != '\0';
		item(s, 1);
		break;
	case '(':
		s->level[++s->depth] = (struct level){0};
		break;
	case ')':
		close_group(s);
		break;
	case '+':
	case '*':
	case '?':
		pass_marks(s);
		return NULL;
	default:
		item(s, 1);
	}
	s->at++;
	return NULL;
}

static const char *check(const char *text, char to[BYTES_MAX + 1])
{
	struct scan s = {.at = text, .to = to};
	if (strnlen(text, BYTES_MAX + 1) > BYTES_MAX)
		return too_long;
	while (*s.at) {
		const char *from = s.at, *why = step(&s);
		if (why)
			return why;
		if (!strchr("?*+", *from))
			s.to = mempcpy(s.to, from, (size_t)(s.at - from));
		if (s.level[s.depth].all > WRITTEN_OUT_MAX)
			return written_out;
		if (s.level[s.depth].nested > NESTED_MAX)
			return nested;
	}
	*s.to = '\0';
	return NULL;
}

const char *ms_pattern_compile(regex_t *re, const char *text, int flags, char why[MS_PATTERN_WHY])
{
	char same[BYTES_MAX + 1];
	const char *refused = check(text, same);
	int bad = refused ? 0 : regcomp(re, same, REG_EXTENDED | REG_NOSUB | flags);
	if (bad)
		regerror(bad, re, why, MS_PATTERN_WHY);
	return bad ? why : refused;
}
