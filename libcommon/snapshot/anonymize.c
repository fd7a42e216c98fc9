/* SPDX-License-Identifier: MIT
 * Replaces names with numbers, from one table of all names seen, by kind.
 */
#include "anonymize.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "libcommon/names/runtime.h"

/* Lists the kinds of names that are numbered separately. */
enum space { FUNCTIONS, COMPONENTS, THREADS, MARKS, ARGUMENTS, HOSTS, ALLOCATORS, REMARKS, SPACES };

struct name {
	const char *text;
	enum space space;
	uint32_t number;
};

struct ms_anonymizer {
	struct ms_arena arena;
	MS_ARRAY(struct name) names;
	struct ms_lookup index; /* finds a name's number by its text and kind */
	uint32_t last[SPACES];
};

struct ms_anonymizer *ms_anonymizer_new(void)
{
	return ms_xcalloc(1, sizeof(struct ms_anonymizer));
}

void ms_anonymizer_free(struct ms_anonymizer *a)
{
	if (!a)
		return;
	ms_arena_free(&a->arena);
	MS_FREE(a->names.v, a->index.slots, a);
}

static uint32_t number_of(struct ms_anonymizer *a, enum space space, const char *text)
{
	uint32_t hash = ms_hash_text(text) + space, n;
	for (size_t at = hash; (n = ms_lookup_next(&a->index, hash, &at));)
		if (a->names.v[n - 1].space == space && strcmp(a->names.v[n - 1].text, text) == 0)
			return a->names.v[n - 1].number;
	*MS_PUSH(&a->names) =
		(struct name){ms_arena_strdup(&a->arena, text), space, ++a->last[space]};
	ms_lookup_add(&a->index, hash, (uint32_t)a->names.n);
	return a->last[space];
}

#define SAY(...) ms_arena_printf(&a->arena, __VA_ARGS__)

/* ---- paths ---- */

/* Returns the ending of a file name, such as ".so", if it tells only the type of the file, else
 * "". */
static const char *ending(const char *name)
{
	static const char *const known[] = {
		".c", ".h",  ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".ipp",   ".tcc", ".S",
		".s", ".rs", ".go", ".py",  ".d",   ".f90", ".so", ".inc", ".trace", ".db"};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
		if (strcmp(dot, known[i]) == 0)
			return known[i];
	const char *so = strstr(name, ".so.");
	return so && strspn(so + 4, "0123456789.") == strlen(so + 4) ? ".so" : "";
}

static const char *component(struct ms_anonymizer *a, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return name;
	return SAY("p%u%s", number_of(a, COMPONENTS, name), ending(name));
}

/* Tells whether `text` is empty or a name that kernel or recorder use for memory without a file. */
static bool is_special(const char *text)
{
	static const char *const known[] = {"[heap]",           "[stack]",       "[vdso]",
					    "[vvar]",           "[vvar_vclock]", "[vsyscall]",
					    "[anonymous code]", "[uprobes]"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(text, known[i]) == 0)
			return true;
	return !*text;
}

/* Replaces each part of a path. `library`: belongs to the runtime, which stays visible in the new
 * name. */
static const char *path(struct ms_anonymizer *a, const char *text, bool library)
{
	char *copy = ms_arena_strdup(&a->arena, text), *rest = copy;
	const char *out = "";
	if (is_special(text))
		return text;
	for (char *name; (name = strsep(&rest, "/"));) {
		const char *as = *name ? component(a, name) : "";
		if (library && !rest)
			as = SAY("libc-%s", as);
		out = SAY("%s%s%s", out, as, rest ? "/" : "");
	}
	return out;
}

/* ---- the rest ---- */

static const char *function(struct ms_anonymizer *a, const char *text)
{
	return SAY("%sf%u", ms_is_runtime(NULL, text, NULL) ? "std::" : "",
		   number_of(a, FUNCTIONS, text));
}

static const char *file(struct ms_anonymizer *a, const char *text)
{
	const char *as = path(a, text, false);
	bool runtime = ms_is_runtime(NULL, NULL, text);
	return runtime ? SAY("/usr/include/%s", *as == '/' ? as + 1 : as) : as;
}

static const char *point(struct ms_anonymizer *a, const char *text)
{
	static const char mark[] = "mark:";
	if (strncmp(text, mark, sizeof mark - 1) != 0)
		return text;
	char *name = ms_arena_strdup(&a->arena, text + sizeof mark - 1);
	char *which = strrchr(name, '#');
	const char *end = "";
	if (which && (strcmp(which, "#last") == 0 ||
		      (which[1] && strspn(which + 1, "0123456789") == strlen(which + 1)))) {
		end = SAY("%s", which);
		*which = 0;
	}
	return SAY("mark:mark%u%s", number_of(a, MARKS, name), end);
}

/* Replaces allocators in a list such as "glibc 2.36, jemalloc 5.3 (libfast.so)": removes modules
 * and keeps only known names. */
static const char *allocators(struct ms_anonymizer *a, const char *text)
{
	static const char *const known[] = {"glibc",    "musl",     "jemalloc",    "tcmalloc",
					    "mimalloc", "snmalloc", "operator new"};
	char *copy = ms_arena_strdup(&a->arena, text), *rest = copy;
	const char *out = "";
	for (char *name; (name = strsep(&rest, ","));) {
		const char *as = NULL;
		name += *name == ' ';
		name[strcspn(name, "(")] = 0;
		for (size_t i = 0; i < sizeof known / sizeof *known && !as; i++) {
			size_t n = strlen(known[i]);
			if (strncmp(name, known[i], n) == 0 &&
			    strspn(name + n, " 0123456789.") == strlen(name + n))
				as = name;
		}
		if (!as)
			as = SAY("allocator%u", number_of(a, ALLOCATORS, name));
		out = SAY("%s%s%s", out, *out ? ", " : "", as);
	}
	return out;
}

const char *ms_anonymous(struct ms_anonymizer *a, enum ms_name kind, const char *bytes, size_t n)
{
	const char *text = ms_arena_strndup(&a->arena, bytes, n);
	switch (kind) {
	case MS_NAME_FUNCTION:
		return function(a, text);
	case MS_NAME_FILE:
		return file(a, text);
	case MS_NAME_MODULE:
		return path(a, text, ms_is_runtime(text, NULL, NULL));
	case MS_NAME_PATH:
		return path(a, text, false);
	case MS_NAME_THREAD:
		return SAY("thread%u", number_of(a, THREADS, text));
	case MS_NAME_MARK:
		return SAY("mark%u", number_of(a, MARKS, text));
	case MS_NAME_ARGUMENT:
		return SAY("arg%u", number_of(a, ARGUMENTS, text));
	case MS_NAME_HOST:
		return SAY("host%u", number_of(a, HOSTS, text));
	case MS_NAME_POINT:
		return point(a, text);
	case MS_NAME_KERNEL:
		return SAY("%.*s",
			   (int)(strcspn(text, "0123456789.") ? 0 : strspn(text, "0123456789.")),
			   text);
	case MS_NAME_ALLOCATOR:
		return allocators(a, text);
	default:
		return SAY("remark%u", number_of(a, REMARKS, text));
	}
}
