/* SPDX-License-Identifier: MIT
 * Shortens demangled C++ and Rust names, and keeps the parts that distinguish functions on a
 * screen.
 *
 *   void ns::Map<std::string, ns::Quote, std::allocator<int> >::put(std::string const&, int)
 *     ALL    ns::Map<std::string, ns::Quote>::put
 *     BARE   ns::Map<string, Quote>::put
 *     FIRST  ns::Map<string, ...>::put
 *     NONE   ns::Map<...>::put
 *     cut    ...::put
 *   void ns::make<int>(int)
 *     NONE   ns::make<...>, then ns::make
 *
 * One scan from left to right. At the outermost level a blank ends a return type, which is dropped,
 * "(" begins parameters, which are dropped too, and "<" begins template arguments. If anything is
 * unexpected, the name is returned whole.
 */
#include "shorten.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LABEL_WIDTH 48 /* columns up to which a single name shows template arguments */
#define NESTED 6       /* nesting levels of template arguments that are shown */

/* Lists the amounts of template arguments that are shown. */
enum detail { ALL, BARE, FIRST, NONE };

struct scan {
	struct ms_arena *arena;
	const char *s; /* next character to read */
	char *to;      /* result so far */
	size_t n;
	enum detail detail;
	const char *dots; /* mark for omitted parts */
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

/* Tells whether the character can be part of a name. */
static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Returns the length of the bracketed group at `s`, including the brackets; 0 = it is not closed.
 * Arrows and shifts in it are not brackets. */
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

/* Returns the length of the operator at `p`, which template arguments may follow directly. */
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

/* Copies "operator<<", "operator()", "operator new[]", "operator bool": the word and the operator
 * after it. */
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

/* ---- template arguments ---- */

static bool ends_with(const struct scan *c, const char *word)
{
	size_t n = strlen(word);
	return c->n >= n && memcmp(c->to + c->n - n, word, n) == 0;
}

/* Tells whether the argument is a default of a container, a string or a pointer. */
static bool is_default(const char *argument)
{
	static const char *const names[] = {"std::allocator<",      "std::char_traits<",
					    "std::less<",           "std::hash<",
					    "std::equal_to<",       "std::default_delete<",
					    "alloc::alloc::Global", "std::alloc::Global"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (starts(argument, names[i]))
			return true;
	return false;
}

/* Returns the comma or bracket that ends the argument at `s`; NULL = it cannot be parsed. */
static const char *argument_end(const char *s)
{
	while (*s && *s != ',' && *s != '>') {
		size_t n = strchr("<({[", *s) ? group(s) : starts(s, "->") ? 2 : 1;
		if (!n || (starts(s, "operator") && !is_word(s[8])))
			return NULL;
		s += n;
	}
	return *s ? s : NULL;
}

static bool copy_arguments(struct scan *c, const char *s, int level);

/* Copies one argument; unless all detail is shown (ALL), without the namespaces of its types. */
static bool copy_argument(struct scan *c, const char *s, const char *end, int level)
{
	for (size_t path = c->n, n; s < end; s += n) {
		n = strchr("<({[", *s) ? group(s) : 1;
		if (*s == '<' && !copy_arguments(c, s, level + 1))
			return false;
		if (*s == '<')
			continue;
		if (starts(s, "(anonymous namespace)")) {
			copy(c, "(anon)", 6);
		} else if (c->detail != ALL && starts(s, "::")) {
			c->n = path;
			n = 2;
		} else {
			copy(c, s, n);
			path = n == 1 && !is_word(*s) && *s != ':' ? c->n : path;
		}
	}
	return true;
}

static const char *first_of(const char *s)
{
	return s + strspn(s, " ");
}

/* Counts the arguments of the group at `s`, without trailing defaults; 0 = not understood. */
static size_t count_arguments(const struct scan *c, const char *s)
{
	size_t all = 0, told = 0;
	const char *end = s;
	do {
		const char *one = first_of(end + 1);
		end = argument_end(one);
		if (++all == 1 || !is_default(one))
			told = all;
	} while (end && *end == ',');
	/* for these, arguments after the first are deduced from the call */
	bool made = ends_with(c, "make_shared") || ends_with(c, "make_unique");
	return end != s + group(s) - 1 ? 0 : made ? 1 : told;
}

static void copy_dots(struct scan *c, const char *before, const char *after)
{
	copy(c, before, strlen(before));
	copy(c, c->dots, strlen(c->dots));
	copy(c, after, strlen(after));
}

/* Copies the group of arguments at `s`. False = not understood. */
static bool copy_arguments(struct scan *c, const char *s, int level)
{
	size_t n = group(s), count = n ? count_arguments(c, s) : 0;
	if (!count)
		return false;
	if (n > 3 && (level > NESTED || (level && c->detail >= FIRST))) {
		copy_dots(c, "<", ">");
		return true;
	}
	const char *end = s;
	for (size_t i = 0; i < count; i++) {
		const char *one = first_of(end + 1);
		copy(c, end, i ? (size_t)(one - end) : 1); /* "<" or "," */
		if (i && c->detail >= FIRST) {
			copy_dots(c, "", "");
			break;
		}
		const char *stop = end = argument_end(one);
		while (stop > one && stop[-1] == ' ')
			stop--;
		if (!copy_argument(c, one, stop, level))
			return false;
	}
	copy(c, ">", 1);
	return true;
}

/* Tells whether the next `n` bytes are template arguments of a member or operator of std, which are
 * deduced from the call. */
static bool is_deduced(struct scan *c, size_t n)
{
	c->to[c->n] = 0;
	bool last = !c->s[n] || c->s[n] == '(' || c->s[n] == '[';
	return last && starts(c->to, "std::") &&
	       (strchr(c->to, '>') || starts(c->to + 5, "operator"));
}

/* Copies the group of `n` bytes "<impl Trait for T>", which older Rust compilers put after a
 * module, as "<T as Trait>", as newer ones do. False = not understood. */
static bool take_impl(struct scan *c, size_t n)
{
	size_t depth = 0;
	const char *trait = c->s + strlen("<impl "), *end = c->s + n - 1, *type = NULL;
	for (const char *p = trait; p < end && !type; p++) {
		depth += strchr("<({[", *p) != NULL;
		depth -= strchr(">)}]", *p) && p[-1] != '-' && depth;
		type = !depth && starts(p, " for ") ? p + strlen(" for ") : NULL;
	}
	const char *whole =
		!type ? ms_arena_printf(c->arena, "<%.*s>", (int)(end - trait), trait)
		      : ms_arena_printf(c->arena, "<%.*s as %.*s>", (int)(end - type), type,
					(int)(type - strlen(" for ") - trait), trait);
	c->n = 0;
	if (!copy_arguments(c, whole, 0))
		return false;
	c->s += n;
	return true;
}

/* Copies or shortens the template arguments that come next. False = not understood. */
static bool take_template(struct scan *c)
{
	size_t n = group(c->s), before = c->n;
	if (!n)
		return false;
	if (starts(c->s, "<impl "))
		return take_impl(c, n);
	if (is_deduced(c, n)) {
		c->s += n;
		return true;
	}
	bool type = before == 0; /* <T as Trait>::method: T distinguishes the method */
	bool told = n <= 3 || c->detail < NONE || type;
	if (!told || !copy_arguments(c, c->s, 0)) {
		c->n = before;
		if (c->detail == ALL)
			copy(c, c->s, n);
		else
			copy_dots(c, "<", ">");
	}
	c->s += n;
	return true;
}

/* Copies the group in braces without parameters: {lambda(int)#1} becomes {lambda#1}. */
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

/* Returns the length without the hash at the end of old Rust names. */
static size_t without_hash(const char *s, size_t n)
{
	if (n < 20 || !starts(s + n - 19, "::h") || strspn(s + n - 16, "0123456789abcdef") != 16)
		return n;
	return n - 19;
}

/* Returns the length of the full form of std::string (std::basic_string<...>) at `s`; 0 = it is
 * something else. */
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

/* Returns the name with each full form of std::string replaced by "std::string". */
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

/* ---- whole names ---- */

/* Returns the name with the given amount of template arguments. */
static const char *told(struct ms_arena *a, const char *function, enum detail detail,
			const char *dots)
{
	size_t n = strlen(function);
	struct scan c = {.arena = a,
			 .s = function,
			 .to = ms_arena_alloc(a, n * 2 + 8),
			 .detail = detail,
			 .dots = dots};
	enum step s = GO_ON;
	while (*c.s && s == GO_ON)
		s = step(&c);
	c.n = without_hash((c.to[c.n] = 0, c.to), c.n);
	c.to[c.n] = 0;
	return s == FAILED || c.n == 0 ? function : c.to;
}

static const char *dots_of(bool ascii)
{
	return ascii ? ".." : "\xe2\x80\xa6";
}

/* Returns a name of namespace std with "std" replaced by dots; a name's arguments distinguish it
 * better than "std". */
static const char *without_std(struct ms_arena *a, const char *s, const char *dots)
{
	return starts(s, "std::") ? ms_arena_printf(a, "%s%s", dots, s + 3) : s;
}

/* Returns a name without the template arguments at its end: "make" for "make<..>" or
 * "make::<..>". */
static const char *without_own(struct ms_arena *a, const char *s, const char *dots)
{
	size_t n = strlen(s), k = strlen(dots) + 2;
	bool has = n > k && s[n - k] == '<' && starts(s + n - k + 1, dots) && s[n - 1] == '>';
	n -= has ? k : 0;
	n -= has && n > 2 && starts(s + n - 2, "::") ? 2 : 0;
	return has ? ms_arena_strndup(a, s, n) : s;
}

/* Returns the name with as many template arguments as fit in `columns`. If `is_cut`, "std" is
 * omitted before the arguments are. */
static const char *with_arguments(struct ms_arena *a, const char *function, size_t columns,
				  bool ascii, bool is_cut)
{
	const char *s = function, *dots = dots_of(ascii);
	for (int detail = ALL; detail <= NONE; detail++) {
		s = told(a, function, (enum detail)detail, dots);
		if (ms_utf8_columns(s) <= columns)
			return s;
		const char *shorter = detail == FIRST && is_cut  ? without_std(a, s, dots)
				      : detail == NONE && is_cut ? without_own(a, s, dots)
								 : s;
		if (ms_utf8_columns(shorter) <= columns)
			return shorter;
	}
	return s;
}

/* Returns a C++ or Rust name with std::string in its short form; NULL = the name cannot be
 * shortened. */
static const char *readable(struct ms_arena *a, const char *function)
{
	if (strnlen(function, (1 << 20) + 1) > 1 << 20 ||
	    (!strpbrk(function, "<({[ ") && !strstr(function, "::")))
		return NULL;
	return with_strings(a, function);
}

const char *ms_name_short(struct ms_arena *a, const char *function)
{
	const char *s = readable(a, function);
	return s ? with_arguments(a, s, LABEL_WIDTH, false, false) : function;
}

size_t ms_name_least(struct ms_arena *a, const char *function, bool ascii)
{
	const char *s = readable(a, function);
	return ms_utf8_columns(s ? told(a, s, NONE, dots_of(ascii)) : function);
}

/* Returns the next part of a name: the text after "::" or after the "/" of a path, outside of
 * template arguments; NULL = there is none. A name after "operator" belongs to the operator. */
static const char *next_part(const char *s)
{
	if (starts(s, "operator"))
		return NULL;
	for (size_t n; *s; s += n) {
		n = strchr("<({[", *s) ? group(s) : 1;
		if (!n)
			return NULL;
		if (*s == '/' || starts(s, "::")) {
			s += *s == '/' ? 1 : 2;
			n = 0;
			if (*s != '<') /* "make::<T>" has template arguments here, not another
					  part */
				return *s ? s : NULL;
		}
	}
	return NULL;
}

size_t ms_name_last(const char *function)
{
	const char *last = function;
	for (const char *p = function; (p = next_part(p));)
		last = p;
	return (size_t)(last - function);
}

/* Shortens "<T<U> as Trait>::method" to "<T as ..>::method" or "..T::method". Returns NULL if the
 * name has no such type, or this does not fit. */
static const char *of_type(struct ms_arena *a, const char *s, size_t columns, const char *dots)
{
	size_t n = *s == '<' ? group(s) : 0;
	const char *as = n ? memmem(s, n, " as ", 4) : NULL;
	if (!as)
		return NULL;
	size_t type = strcspn(s + 1, "<(") + 1;
	for (size_t end = (size_t)(as - s);; end = type) {
		const char *t = ms_arena_printf(a, "%.*s as %s>%s", (int)end, s, dots, s + n);
		if (ms_utf8_columns(t) <= columns)
			return t;
		if (end <= type)
			break;
	}
	type = type < (size_t)(as - s) ? type : (size_t)(as - s);
	const char *t = ms_arena_printf(a, "%s%.*s%s", dots, (int)type - 1, s + 1, s + n);
	return type > 1 && ms_utf8_columns(t) <= columns ? t : NULL;
}

/* Returns the end of a name, in complete parts if one fits in `columns`. */
static const char *cut(struct ms_arena *a, const char *s, size_t columns, bool ascii)
{
	const char *dots = dots_of(ascii), *last = s;
	size_t mark = ascii ? 2 : 1, n = strlen(s), i;
	for (const char *p = s; (p = next_part(p)); last = p)
		if (ms_utf8_columns(p) + 2 + mark <= columns)
			return ms_arena_printf(a, "%s%s%s", dots, p[-1] == '/' ? "/" : "::", p);
	size_t have = ms_utf8_columns(last);
	for (i = (size_t)(last - s); i < n && have + mark > columns;) {
		uint32_t c;
		int width;
		i += ms_utf8_step(s + i, n - i, &c, &width);
		have -= (size_t)width;
	}
	return ms_arena_printf(a, "%s%s", dots, s + i);
}

const char *ms_name_fit(struct ms_arena *a, const char *function, size_t columns, bool ascii)
{
	const char *name = readable(a, function), *dots = dots_of(ascii);
	const char *s = name ? with_arguments(a, name, columns, ascii, true) : function;
	if (ms_utf8_columns(s) <= columns)
		return s;
	if (columns < strlen(ascii ? dots : "."))
		return "";
	const char *typed = name ? of_type(a, s, columns, dots) : NULL;
	if (typed)
		return typed;
	/* where a name belongs is more useful than its template arguments */
	return cut(a, without_own(a, s, dots), columns, ascii);
}
