/* SPDX-License-Identifier: MIT
 * Guesses which unhooked function of an allocator returned blocks whose allocation was not seen.
 *
 * The function has "alloc" in its name, is in a module with its own malloc, does not call that
 * malloc, and calls functions that malloc calls. If they have no callee in common, because
 * compilers inline small functions, the name alone decides. A function that calls an allocation
 * function of another module only passes on blocks that are recorded there.
 */
#include "hook_elsewhere.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "hook_calls.h"
#include "hook_find.h"
#include "hook_names.h"
#include "hook_symbols.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/session.h"

#define CALLEES_MOST 32u
#define WRAPPER_DEPTH 2u

struct search {
	const struct hook_symbols *file;
	const Elf64_Sym *malloc;
	char prefix[64]; /* prefix of the name of `malloc`, such as "je_" */
	uint64_t callees[CALLEES_MOST];
	unsigned callee_count;
	const char *found;
	unsigned score; /* how likely `found` is the function searched for */
};

static const char *is_function(const struct elfmap_table *t, size_t i)
{
	const Elf64_Sym *y = &t->symbols[i];
	return y->st_shndx != SHN_UNDEF && y->st_value && ELF64_ST_TYPE(y->st_info) == STT_FUNC
		       ? elfmap_name(t, y)
		       : NULL;
}

static bool ends_as(const char *name, const char *end)
{
	size_t n = strlen(name), e = strlen(end);
	return n >= e && !strcmp(name + n - e, end);
}

static struct hook_code code_of(const struct search *s)
{
	return (struct hook_code){&s->file->file, s->file->tables, s->file->n};
}

static bool is_others(const void *unused, const char *name, bool imported)
{
	static const char *const ends[] = {"malloc",   "calloc", "realloc",
					   "memalign", "_Znwm",  "_Znam"};
	(void)unused;
	for (size_t i = 0; imported && i < sizeof ends / sizeof *ends; i++)
		if (ends_as(name, ends[i]))
			return true;
	return false;
}

static bool is_wrapper(const struct search *s, const Elf64_Sym *y)
{
	const struct hook_code c = code_of(s);
	return hook_calls(&c, y->st_value, WRAPPER_DEPTH, is_others, NULL);
}

/* Finds the function of the module whose name ends with malloc and has the shortest prefix. Returns
 * whether it allocates blocks itself. */
static bool find_malloc(struct search *s)
{
	size_t best = sizeof s->prefix;
	for (unsigned k = 0; k < s->file->n; k++)
		for (size_t i = 0; i < s->file->tables[k].count; i++) {
			const char *name = is_function(&s->file->tables[k], i);
			if (!name || !ends_as(name, "malloc") ||
			    strlen(name) - strlen("malloc") >= best)
				continue;
			best = strlen(name) - strlen("malloc");
			s->malloc = &s->file->tables[k].symbols[i];
			snprintf(s->prefix, sizeof s->prefix, "%.*s", (int)best, name);
		}
	const struct hook_code c = code_of(s);
	if (!s->malloc || is_wrapper(s, s->malloc))
		return false;
	s->callee_count = hook_callees(&c, s->malloc, s->callees, CALLEES_MOST);
	return true;
}

/* Tells whether a function is recorded anyway, or allocates nothing. Names with __libc_ count too:
 * a program with its own malloc defines them only to satisfy the linker, and nobody calls them. */
static bool is_known(const struct search *s, const char *name)
{
	static const char *const others[] = {"dealloc", "free", "usable", "stat",
					     "info",    "_Z",   "__libc_"};
	size_t n = strlen(s->prefix);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(name, others[i]))
			return true;
	for (unsigned i = 0; i < hook_prefixed_count; i++)
		if (!strncmp(name, s->prefix, n) && !strcmp(name + n, hook_prefixed_names[i].name))
			return true;
	return hook_known_arguments(name);
}

/* Tells whether function `y` and the module's malloc call a common function. *calls: `y` calls
 * malloc itself. */
static bool shares(const struct search *s, const Elf64_Sym *y, bool *calls)
{
	uint64_t v[CALLEES_MOST];
	const struct hook_code c = code_of(s);
	unsigned n = hook_callees(&c, y, v, CALLEES_MOST);
	bool common = false;
	*calls = false;
	for (unsigned i = 0; i < n; i++) {
		*calls |= v[i] == s->malloc->st_value;
		for (unsigned k = 0; k < s->callee_count; k++)
			common |= v[i] == s->callees[k];
	}
	return common;
}

static void consider(struct search *s, const char *name, const Elf64_Sym *y)
{
	enum { BY_NAME = 1, BY_CALLS = 2 };
	bool calls;
	if (!strstr(name, "alloc") || is_known(s, name) || y->st_value == s->malloc->st_value)
		return;
	unsigned score = ends_as(name, "malloc") ? BY_NAME : 0;
	for (unsigned i = 0; i < s->callee_count; i++)
		if (s->callees[i] == y->st_value)
			return; /* malloc calls this function, which is therefore a part of
				   malloc */
	score += shares(s, y, &calls) ? BY_CALLS : 0;
	if (calls || score <= s->score || is_wrapper(s, y))
		return;
	s->score = score;
	s->found = name;
}

static bool search(struct search *s)
{
	if (s->file->file.elf.head.e_machine != CPU_MACHINE ||
	    !hook_symbols_mention(s->file, "malloc") || !find_malloc(s))
		return false;
	for (unsigned k = 0; k < s->file->n; k++)
		for (size_t i = 0; i < s->file->tables[k].count; i++) {
			const char *name = is_function(&s->file->tables[k], i);
			if (name)
				consider(s, name, &s->file->tables[k].symbols[i]);
		}
	return s->found;
}

/* Opens the file of a mapping by its name, since the process has ended. Returns -1 if another file
 * has that name now. */
static int open_file(const struct attach_map *m)
{
	struct stat st;
	int fd = m->exec && m->path[0] == '/' && !hook_is_ours(m->path) && !hook_is_runtime(m->path)
			 ? open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			 : -1;
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != m->inode)) {
		descriptor_close(fd);
		return -1;
	}
	return fd;
}

/* Tells whether hooked functions may have freed blocks allocated by this module. If the program has
 * its own malloc, only the module that defines that malloc qualifies. */
static bool may_be(const struct session *s, const struct attach_map *m)
{
	return !s->guest.own_malloc ||
	       (s->mem->malloc_at >= m->start && s->mem->malloc_at < m->end);
}

void hook_elsewhere(const struct session *s, char *text, size_t size)
{
	const struct attach_maps *maps = &s->modules.maps;
	if (text[0] || session_mid_run(s) || s->mem->sample_bytes ||
	    s->stats.unknown_frees <= s->stats.paused_allocations + SESSION_FEW_UNKNOWN)
		return;
	for (size_t i = 0; i < maps->n && !text[0]; i++) {
		struct hook_symbols file;
		struct search one = {.file = &file};
		int fd = may_be(s, &maps->v[i]) ? open_file(&maps->v[i]) : -1;
		if (hook_symbols_open_file(&file, fd) && search(&one))
			snprintf(text, size, "%.100s in %.64s", one.found,
				 basename(maps->v[i].path));
		hook_symbols_close(&file);
		descriptor_close(fd);
	}
}
