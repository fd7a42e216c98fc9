/* SPDX-License-Identifier: MIT
 * Shortens demangled C++ and Rust names: what is left tells one function from another on a screen.
 *
 *   void ns::Map<int, std::allocator<int> >::put(std::string const&, int)   ->  ns::Map<...>::put
 *
 * One scan from left to right. At the outermost level a blank ends a return type, which is dropped,
 * "(" begins parameters, which are dropped too, and "<" begins template arguments, kept when short.
 * Anything unexpected gives the name back whole.
 */
#include "shorten.h"

#include "libcommon/base/arena.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define SHORT_ARGUMENTS 14

struct scan {
	const char *s; /* next character */
	char *to;      /* result so far */
	size_t n;
};

static void copy(struct scan *c, const char *s, size_t n)
{
	memcpy(c->to + c->n, s, n);
	c->n += n;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Is that character one of a name? */
static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Length of the bracketed group that `s` begins with, brackets included; 0 when it is not closed.
 * Arrows and shifts inside are no brackets. */
static size_t group(const char *s)
{
	size_t depth = 0;
	for (const char *p = s; *p; p++) {
		if (starts(p, "->") ||
		    ((starts(p, "operator<") || starts(p, "operator>")) && !is_word(p[-1]))) {
			p += *p == '-' ? 1 : 8;
			while (p[1] == '<' || p[1] == '>' || p[1] == '=')
				p++;
			continue;
		}
		if (strchr("<({[", *p))
			depth++;
		if (strchr(">)}]", *p) && --depth == 0)
			return (size_t)(p - s) + 1;
	}
	return 0;
}

/* Length of the operator at `p`: template arguments may follow it at once. */
static size_t symbol_length(const char *p)
{
	static const char *const symbols[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
		"++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "->", "[]"};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (starts(p, symbols[i]))
			return strlen(symbols[i]);
	return *p && strchr("+-*/%^&|~!=<>,", *p) ? 1 : 0;
}

/* "operator<<", "operator()", "operator new[]", "operator bool": the word and what belongs to it.
 */
static bool take_operator(struct scan *c)
{
	char before = c->n ? c->to[c->n - 1] : ':';
	if (!starts(c->s, "operator") || is_word(before))
		return false;
	const char *p = c->s + 8;
	if (is_word(*p))
		return false;
	if (starts(p, "()"))
		p += 2;
	else if (*p == ' ' || *p == '"')
		p += strcspn(p, "(<");
	else
		p += symbol_length(p);
	copy(c, c->s, (size_t)(p - c->s));
	c->s = p;
	return true;
}

/* Returns false when the name is one that this scan does not understand. */
static bool take_template(struct scan *c)
{
	size_t n = group(c->s);
	if (!n)
		return false;
	bool rust = c->n == 0; /* <T as Trait>::method */
	if (rust ? n <= 48 : n <= SHORT_ARGUMENTS + 2 && !memchr(c->s + 1, '<', n - 1))
		copy(c, c->s, n);
	else
		copy(c, "<" ELLIPSIS ">", 5);
	c->s += n;
	return true;
}

/* {lambda(int)#1} -> {lambda#1} */
static bool take_braces(struct scan *c)
{
	size_t n = group(c->s);
	if (!n)
		return false;
	const char *open = memchr(c->s, '(', n);
	size_t skip = open ? group(open) : 0;
	if (skip) {
		copy(c, c->s, (size_t)(open - c->s));
		copy(c, open + skip, n - (size_t)(open - c->s) - skip);
	} else {
		copy(c, c->s, n);
	}
	c->s += n;
	return true;
}

enum step { GO_ON, ENDED, FAILED };

static enum step take_parens(struct scan *c)
{
	size_t n = group(c->s);
	if (!n)
		return FAILED;
	if (starts(c->s, "(anonymous namespace)"))
		copy(c, "(anon)", 6);
	else if (c->s[n] == '.') /* Go: main.(*T).method */
		copy(c, c->s, n);
	else if (c->n == 8 && memcmp(c->to, "decltype", 8) == 0)
		c->n = 0;
	else if (!starts(c->s + n, "::") && !starts(c->s + n, " const::"))
		return c->n ? ENDED : FAILED;
	c->s += n;
	if (starts(c->s, " const::"))
		c->s += 6;
	return GO_ON;
}

static enum step step(struct scan *c)
{
	if (take_operator(c))
		return GO_ON;
	switch (*c->s) {
	case '<':
		return take_template(c) ? GO_ON : FAILED;
	case '{':
		return take_braces(c) ? GO_ON : FAILED;
	case '(':
		return take_parens(c);
	case '[': { /* [abi:cxx11], .NET's [assembly]; but -[Class method] */
		if (c->n == 1 && (c->to[0] == '-' || c->to[0] == '+'))
			return FAILED;
		size_t n = group(c->s);
		c->s += n;
		return n ? GO_ON : FAILED;
	}
	case ' ':
		if (starts(c->s, " [clone "))
			return ENDED;
		if (c->s[1] != '<') /* operator<< <char> */
			c->n = 0;
		c->s++;
		return GO_ON;
	default:
		copy(c, c->s++, 1);
		return GO_ON;
	}
}

/* Old Rust names end in a hash. */
static size_t without_hash(const char *s, size_t n)
{
	if (n < 20 || !starts(s + n - 19, "::h") || strspn(s + n - 16, "0123456789abcdef") != 16)
		return n;
	return n - 19;
}

/* Length of what is std::string in full at `s`; 0 = it is something else. */
static size_t string_length(const char *s)
{
	static const char *const begins[] = {"std::__cxx11::basic_string<char, ",
					     "std::basic_string<char, "};
	static const char rest[] = "std::char_traits<char>, std::allocator<char>";
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		size_t n = strlen(begins[i]);
		if (!starts(s, begins[i]) || !starts(s + n, rest))
			continue;
		n += strlen(rest) + (s[n + strlen(rest)] == ' ');
		return s[n] == '>' ? n + 1 : 0;
	}
	return 0;
}

/* std::string is called so, wherever it stands. */
static const char *with_strings(struct ms_arena *a, const char *function)
{
	if (!strstr(function, "basic_string<char, "))
		return function;
	char *copied = ms_arena_alloc(a, strlen(function) + 1), *to = copied;
	for (const char *s = function; *s;) {
		size_t n = string_length(s);
		if (n)
			to = stpcpy(to, "std::string");
		else
			*to++ = *s;
		s += n ? n : 1;
		s += n && s[0] == ' ' && s[1] == '>';
	}
	*to = 0;
	return copied;
}

const char *ms_name_short(struct ms_arena *a, const char *function)
{
	function =
		strnlen(function, (1 << 20) + 1) > 1 << 20 ? function : with_strings(a, function);
	size_t n = strlen(function);
	if (n > 1 << 20)
		return function;
	if (!strpbrk(function, "<({[ ") && !strstr(function, "::"))
		return function;
	struct scan c = {.s = function, .to = ms_arena_alloc(a, n * 2 + 8)};
	enum step s = GO_ON;
	while (*c.s && s == GO_ON)
		s = step(&c);
	c.n = without_hash((c.to[c.n] = 0, c.to), c.n);
	c.to[c.n] = 0;
	return s == FAILED || c.n == 0 ? function : c.to;
}
