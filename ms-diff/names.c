/* SPDX-License-Identifier: MIT
 * Normalizes names of functions and modules, so that they are equal in every build.
 */
#include "names.h"

#include "libcommon/base/arena.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Returns the position of the bracket that closes the one at `s`, or of the last character. "->"
 * and "operator>" do not close an angle bracket. */
static const char *closing(const char *s)
{
	int depth = 0;
	const char *start = s;
	for (; *s; s++) {
		if (strchr("<([{", *s))
			depth++;
		else if (strchr(")]}", *s) || (*s == '>' && s > start && s[-1] != '-'))
			depth--;
		if (depth == 0)
			return s;
	}
	return s - 1;
}

/* Returns the length of the symbol after "operator" that looks like brackets: "<<", "()", "->". */
static size_t operator_symbol(const char *s)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					      ">>", "<=", ">=",  "->",  "<",   ">"};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (begins(s, symbols[i]))
			return strlen(symbols[i]);
	return 0;
}

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Tells whether `s` begins with a suffix that compilers append to the names of function copies. */
static bool is_copy_suffix(const char *s)
{
	static const char *const suffixes[] = {
		".constprop",   ".isra",  ".part",  ".cold", ".lto_priv",
		".localalias",  ".llvm.", ".clone", ".ipcp", ".sra.",
		".specialized", ".warm",  ".hot"};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const char *end = s + strlen(suffixes[i]);
		/* "main.partition" in Go does not end in ".part" */
		if (begins(s, suffixes[i]) && (end[-1] == '.' || !is_identifier(*end)))
			return true;
	}
	return false;
}

struct copy {
	char *start, *to;
};

/* Copies an operator name such as "operator<<" and returns its end; NULL = no operator at `s`. */
static const char *copy_operator(struct copy *c, const char *s)
{
	if (!begins(s, "operator") || (c->to > c->start && is_identifier(c->to[-1])) ||
	    is_identifier(s[8]))
		return NULL;
	size_t n = 8 + operator_symbol(s + 8);
	memcpy(c->to, s, n);
	c->to += n;
	if (s[n] != ' ')
		return s + n;
	/* "operator new", "operator bool": the type is part of the name */
	const char *end = s + n + 1 + strcspn(s + n + 1, "(<");
	memcpy(c->to, s + n, (size_t)(end - s) - n);
	c->to += (size_t)(end - s) - n;
	return end;
}

/* Skips the group in brackets at `s`, and copies it only if it is part of a name. */
static const char *skip_bracket(struct copy *c, const char *s)
{
	static const char nameless[] = "(anonymous namespace)";
	if (begins(s, nameless)) {
		c->to = stpcpy(c->to, nameless);
		return s + sizeof nameless - 1;
	}
	const char *end = closing(s);
	/* Rust: "<T as Trait>::method" */
	if (*s == '<' && c->to == c->start) {
		memcpy(c->to, s, (size_t)(end - s) + 1);
		c->to += end - s + 1;
	}
	return end + 1;
}

/* Copies a group in braces without numbers and parameters: "{lambda(int)#2}", "{unnamed type#1}",
 * "{closure#0}". */
static const char *copy_braces(struct copy *c, const char *s)
{
	const char *end = closing(s);
	for (; s < end && *s != '(' && *s != '#'; s++)
		*c->to++ = *s;
	*c->to++ = '}';
	return *end ? end + 1 : end;
}

static bool is_rust_hash(const char *s)
{
	return begins(s, "::h") && strspn(s + 3, "0123456789abcdef") == 16 && s[19] == 0;
}

const char *normal_function(struct ms_arena *a, const char *f)
{
	static const char *const thunks[] = {"non-virtual thunk to ", "virtual thunk to ",
					     "covariant return thunk to "};
	for (size_t i = 0; i < sizeof thunks / sizeof *thunks; i++)
		if (begins(f, thunks[i]))
			f += strlen(thunks[i]);
	struct copy c = {.start = ms_arena_alloc(a, strlen(f) + 2)};
	c.to = c.start;
	bool parameters = false;
	for (const char *s = f; *s;) {
		const char *after = copy_operator(&c, s);
		if (after) {
			s = after;
		} else if (begins(s, " [clone ") || is_rust_hash(s) ||
			   (*s == '.' && is_copy_suffix(s))) {
			break;
		} else if (*s == '{') {
			s = copy_braces(&c, s);
		} else if (strchr("<([", *s)) {
			parameters |= *s == '(' && !begins(s, "(anonymous");
			s = skip_bracket(&c, s);
		} else if (*s == ' ') {
			if (parameters && s[1] != '(') {
				const char *more = strstr(s, "::");
				if (!more) /* " const", " &" after the parameters */
					break;
				s = more; /* more name parts follow: a function within a function */
				continue;
			}
			s++;
			c.to = c.start; /* the text before was a return type */
		} else {
			*c.to++ = *s++;
		}
	}
	*c.to = 0;
	const char *name = c.start + strspn(c.start, "*&");
	return *name ? name : f;
}

const char *normal_module(struct ms_arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = ms_arena_strdup(a, slash && slash[1] ? slash + 1 : path);
	char *deleted = strstr(name, " (deleted)");
	if (deleted)
		*deleted = 0;
	char *so = strstr(name, ".so");
	if (!so || (so[3] && so[3] != '.'))
		return name;
	/* remove the version before and after ".so" */
	char *end = so;
	while (end > name && (isdigit((unsigned char)end[-1]) || end[-1] == '.'))
		end--;
	if (end < so && end > name + 1 && end[-1] == '-')
		strcpy(end - 1, ".so");
	else
		so[3] = 0;
	return name;
}
