/* SPDX-License-Identifier: MIT
 * Types in few words: of templates of the C++ library only the arguments that a reader knows,
 * "map<string, Session*>"; of CPython's types the names that they have in Python.
 */
#include "types.h"

#include "libcommon/base/arena.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { DEEPEST = 16 }; /* DEEPEST: nested templates that are read */

/* Lists templates whose further arguments are mostly the default ones. */
static const struct {
	const char *name;
	unsigned args;
} templates[] = {
	{"map", 2},           {"multimap", 2},     {"unordered_map", 2}, {"unordered_multimap", 2},
	{"set", 1},           {"multiset", 1},     {"unordered_set", 1}, {"unordered_multiset", 1},
	{"vector", 1},        {"deque", 1},        {"list", 1},          {"forward_list", 1},
	{"unique_ptr", 1},    {"basic_string", 1}, {"queue", 1},         {"stack", 1},
	{"priority_queue", 1}};
/* Lists what std::shared_ptr counts with, which is in one block with the object, or points to it. */
static const char *const counted[] = {"_Sp_counted_ptr_inplace", "_Sp_counted_ptr",
				      "_Sp_counted_deleter"};

static bool is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool is_counted(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (is_word(s, n, counted[i]))
			return true;
	return false;
}

/* Returns how many arguments of a template are shown. */
static unsigned shown_args(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
		if (is_word(s, n, templates[i].name))
			return templates[i].args;
	return is_counted(s, n) ? 1 : UINT_MAX;
}

static const char *read_type(const char *s, char **to, unsigned depth);

/* Reads the arguments of the template whose name is from `name` up to *to, and what closes them. */
static const char *read_args(const char *s, char *name, char **to, unsigned depth)
{
	size_t length = (size_t)(*to - name);
	unsigned n = 0, most = shown_args(name, length);
	bool string = is_word(name, length, "basic_string"), shared = is_counted(name, length);
	if (shared)
		*to = stpcpy(name, "shared_ptr of ");
	else
		*(*to)++ = '<';
	for (char *args = *to;; s++) {
		char *end = *to;
		*to = n ? stpcpy(*to, ", ") : *to;
		s = read_type(s + strspn(s, " "), to, depth + 1);
		while (*to > args && (*to)[-1] == ' ')
			--*to;
		*to = n++ < most ? *to : end;
		string = string && *to - args == 4 && memcmp(args, "char", 4) == 0;
		if (*s != ',')
			break;
	}
	if (shared && (*to)[-1] == '*')
		--*to;
	if (string)
		*to = stpcpy(name, "string");
	else if (!shared)
		*(*to)++ = '>';
	return *s == '>' ? s + 1 : s;
}

/* Reads a type up to a comma or bracket that is not its own, and appends it to `to`. Returns where
 * it ends. */
static const char *read_type(const char *s, char **to, unsigned depth)
{
	char *name = *to; /* the name that is being read */
	unsigned round = 0;
	for (; *s && (round || (*s != '>' && *s != ',')); s++) {
		bool in_name = isalnum((unsigned char)*s) || strchr("_:$~", *s);
		if (name == *to && strncmp(s, "std::", 5) == 0)
			s += strncmp(s, "std::__cxx11::", 14) == 0 ? 14 : 5;
		if (*s == '<' && depth < DEEPEST && !round) {
			s = read_args(s + 1, name, to, depth) - 1;
			name = *to;
			continue;
		}
		round += *s == '(';
		round -= *s == ')' && round;
		if (!*s)
			break;
		*(*to)++ = *s;
		name = in_name ? name : *to;
	}
	return s;
}

/* Returns Python's own name for a type of CPython, of which `type` is the variable; or `type`. */
static const char *python_type(const char *type)
{
	static const char *const names[][2] = {
		{"Unicode", "str"},         {"Long", "int"},
		{"BaseObject", "object"},   {"Bool", "bool"},
		{"Float", "float"},         {"Complex", "complex"},
		{"Bytes", "bytes"},         {"ByteArray", "bytearray"},
		{"Tuple", "tuple"},         {"List", "list"},
		{"Dict", "dict"},           {"Set", "set"},
		{"FrozenSet", "frozenset"}, {"Function", "function"},
		{"Code", "code"},           {"Module", "module"},
		{"Type", "type"},           {"Property", "property"},
		{"Cell", "cell"},           {"Slice", "slice"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i][0]);
		if (strncmp(type, "Py", 2) == 0 && strncmp(type + 2, names[i][0], n) == 0 &&
		    strcmp(type + 2 + n, "_Type") == 0)
			return names[i][1];
	}
	return type;
}

const char *ms_type_short(struct ms_arena *a, const char *type)
{
	type = python_type(type);
	/* no argument grows by more than a blank and what stands for shared_ptr */
	char *text = ms_arena_alloc(a, 3 * strlen(type) + 32), *to = text;
	for (const char *s = type; *s;) {
		s = read_type(s, &to, 0);
		if (*s)
			*to++ = *s++;
	}
	*to = 0;
	return text;
}
