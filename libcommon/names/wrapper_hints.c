/* SPDX-License-Identifier: MIT
 * Recognizes functions that are named like allocators, from the words of their names.
 *
 *   mosquitto__calloc          mosquitto calloc           ends in a function of the C library
 *   <Arena<T>>::allocRaw       alloc raw                  ends in alloc and a qualifier
 *   AcquireAlignedMemory       acquire aligned memory     verb and noun
 *   sqlite3ExprListAppendNew   sqlite expr list append new        none of these
 *   avcodec_alloc_context      avcodec alloc context      makes a context: none of these
 */
#include "wrappers.h"

#include <ctype.h>
#include <string.h>

#define WORDS 12
#define LETTERS 24

/* Holds the last words of a name, each cut to LETTERS - 1. */
struct words {
	char v[WORDS][LETTERS];
	size_t n;
};

#define IS_IN(word, list) is_in((word), (list), sizeof(list) / sizeof *(list))

static bool is_in(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

static void add_letter(struct words *w, bool first, char letter)
{
	if (first) {
		if (w->n == WORDS) {
			memmove(w->v[0], w->v[1], (WORDS - 1) * sizeof w->v[0]);
			w->n--;
		}
		memset(w->v[w->n++], 0, LETTERS);
	}
	size_t length = strlen(w->v[w->n - 1]);
	if (length + 1 < LETTERS)
		w->v[w->n - 1][length] = (char)tolower((unsigned char)letter);
}

/* Splits a name at underscores and digits, and before capital letters that begin a word:
 * "MDLTicket" has two words. */
static struct words take_apart(const char *name, size_t length)
{
	struct words w = {.n = 0};
	for (size_t i = 0; i < length; i++) {
		char c = name[i], before = i ? name[i - 1] : '_',
		     after = i + 1 < length ? name[i + 1] : '_';
		if (!isalpha((unsigned char)c))
			continue;
		bool first = !isalpha((unsigned char)before) ||
			     (isupper((unsigned char)c) &&
			      (islower((unsigned char)before) || islower((unsigned char)after)));
		add_letter(&w, first, c);
	}
	return w;
}

/* Returns the last part of a qualified name and its length, without template arguments, parameters
 * and the suffixes of copies that compilers make (.part.0). */
static const char *last_part(const char *function, size_t *length)
{
	const char *name = function, *end = NULL;
	int depth = 0;
	for (const char *p = function; *p; p++) {
		bool opens = strchr("<([{", *p), closes = strchr(">)]}", *p);
		if (depth == 0 && (*p == ' ' || *p == ':' || *p == '*' || *p == '&')) {
			name = p + 1;
			end = NULL;
		} else if (depth == 0 && !end && (opens || *p == '.' || *p == '@')) {
			end = p;
		}
		if (depth == 0 && *p == '(' && p > name)
			break; /* here the parameters begin */
		depth += opens ? 1 : closes && depth ? -1 : 0;
	}
	*length = end ? (size_t)(end - name) : strlen(name);
	return name;
}

static bool ends_in(const char *word, const char *const *list, size_t n)
{
	size_t length = strlen(word);
	for (size_t i = 0; i < n; i++) {
		size_t l = strlen(list[i]);
		if (length >= l && strcmp(word + length - l, list[i]) == 0)
			return true;
	}
	return false;
}
#define ENDS_IN(word, list) ends_in((word), (list), sizeof(list) / sizeof *(list))

/* Tells whether a word may follow a verb such as "alloc" in the name of a wrapper: a manner of
 * allocating, or untyped memory. */
static bool is_qualifier(const char *word)
{
	static const char *const qualifiers[] = {
		"a",      "aligned", "align",   "array",    "base",   "block",   "buf",   "buffer",
		"bytes",  "chunk",   "clear",   "debug",    "die",    "ex",      "fail",  "failed",
		"fast",   "from",    "impl",    "internal", "large",  "locked",  "m",     "mem",
		"memory", "n",       "nocache", "nofail",   "noinc",  "nothrow", "or",    "os",
		"page",   "pages",   "raw",     "root",     "safe",   "size",    "sized", "slow",
		"std",    "sys",     "system",  "unlocked", "usable", "warn",    "with",  "wrapper",
		"z",      "zero",    "zeroed"};
	return IS_IN(word, qualifiers);
}

/* Tells whether one of the words before index `end` is in the list. */
static bool is_before(const struct words *w, size_t end, const char *const *list, size_t n)
{
	for (size_t i = 0; i < end; i++)
		if (is_in(w->v[i], list, n))
			return true;
	return false;
}

/* Classifies a name by its word at index `i`. `scope`, of `length` bytes, is the qualifier of the
 * name. */
static enum ms_wrapper_hint hint_of(const struct words *w, size_t i, const char *scope,
				    size_t length)
{
	static const char *const whole[] = {"malloc",   "calloc",  "realloc", "zalloc",
					    "memalign", "strdup",  "strndup", "memdup",
					    "mallocz",  "callocz", "reallocz"},
				 *const part[] = {"alloc", "allocz", "allocate", "reallocate"},
				 *const noun[] = {"mem", "memory"},
				 *const verb[] = {"acquire", "allocate", "get",    "grab",
						  "obtain",  "request",  "resize", "take"},
				 *const source[] = {"pool", "arena", "slab"};
	const char *word = w->v[i];
	if (ENDS_IN(word, whole))
		return MS_HINT_MALLOC;
	if (ENDS_IN(word, part) && strcmp(word, "dealloc") != 0 && strcmp(word, "deallocate") != 0)
		return MS_HINT_ALLOC;
	if (IS_IN(word, noun) && is_before(w, i, verb, sizeof verb / sizeof *verb))
		return MS_HINT_ALLOC;
	if (i && (strcmp(word, "get") == 0 || strcmp(word, "take") == 0) &&
	    IS_IN(w->v[i - 1], source))
		return MS_HINT_ALLOC;
	if (strcmp(word, "grow") != 0)
		return MS_HINT_NONE;
	struct words in = take_apart(scope, length);
	bool grows = is_before(&in, in.n, source, sizeof source / sizeof *source) ||
		     is_before(w, i, source, sizeof source / sizeof *source);
	return grows ? MS_HINT_GROW : MS_HINT_NONE;
}

enum ms_wrapper_hint ms_wrapper_hint(const char *function)
{
	size_t length;
	if (!function)
		return MS_HINT_NONE;
	const char *name = last_part(function, &length);
	struct words w = take_apart(name, length);
	for (size_t i = w.n; i-- > 0;) {
		enum ms_wrapper_hint h = hint_of(&w, i, function, (size_t)(name - function));
		if (h || !is_qualifier(w.v[i]))
			return h;
	}
	return MS_HINT_NONE;
}
