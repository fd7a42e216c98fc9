/* SPDX-License-Identifier: MIT
 * Allocators that are known by the names of their functions.
 *
 * A library's malloc, free and so on are recorded anyway; this file finds functions with names of
 * their own. mimalloc, tcmalloc, jemalloc's xallocx and Firefox's arenas are known by full names
 * (hook_names.h). Any other allocator is a family of functions with one prefix, P: Pmalloc, Pfree
 * and Prealloc or Pcalloc, in one module, whatever the visibility of its symbols. Most candidates
 * are wrappers of malloc: if Pmalloc's code reaches an allocation function of another name within
 * a few calls, it is no family; if it does so through a pointer, the guest detects that at the
 * first call (guest/custom.c, C5).
 *
 * Symbol tables are searched without comparing names: strings that end with "malloc" are found
 * first, and a symbol counts if its name begins inside one of them.
 */
#include "hook_families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hook_calls.h"
#include "hook_names.h"
#include "hook_write.h"
#include "libcommon/base/err.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/held_files.h"
#include "ms-record/session/session.h"

#define FAMILIES_MOST 32u
#define PREFIX_MOST 64u
#define WRAPPER_DEPTH 2u
#define ARGUMENTS_DEPTH 2u
#define FUNCTIONS_MOST 24u
enum { MALLOC, FREE, CALLOC, REALLOC }; /* first four entries of hook_prefixed_names */

/* Holds the allocation functions with one name prefix in one module. */
struct family {
	char prefix[PREFIX_MOST];
	const Elf64_Sym *functions[FUNCTIONS_MOST]; /* indexed like hook_prefixed_names; NULL = not
						       defined */
	bool exported;                              /* other modules may call the family's malloc,
						       too */
};

struct families {
	struct family v[FAMILIES_MOST];
	unsigned n;
};

/* ---- names ---- */

static bool is_function(const Elf64_Sym *y)
{
	unsigned type = ELF64_ST_TYPE(y->st_info);
	return y->st_shndx != SHN_UNDEF && y->st_value && (type == STT_FUNC || type == STT_NOTYPE);
}

/* Tells whether functions with this prefix are not treated as a family: they are aliases of malloc,
 * or have other parameters, or other functions allocate blocks of the same allocator (PHP). */
static bool is_refused(const char *prefix)
{
	static const char *const names[] = {"__libc_",    "__real_", "__wrap_",  "__rtld_",
					    "__minimal_", "_e",      "sqlite3_", "rte_"};
	static const char *const parts[] = {"interceptor", "sanitizer"};
	static const char *const ends[] = {"arena_", "heap_", "pool_", "zone_", "ctx_", "region_"};
	size_t n = strlen(prefix);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(prefix, names[i]))
			return true;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(prefix, parts[i]))
			return true;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (n >= strlen(ends[i]) && !strcmp(prefix + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static struct family *family_of(struct families *all, const char *prefix, size_t n)
{
	for (unsigned i = 0; i < all->n; i++)
		if (strlen(all->v[i].prefix) == n && !memcmp(all->v[i].prefix, prefix, n))
			return &all->v[i];
	if (all->n == FAMILIES_MOST || n >= PREFIX_MOST)
		return NULL;
	struct family *f = &all->v[all->n];
	*f = (struct family){0};
	memcpy(f->prefix, prefix, n);
	if (is_refused(f->prefix))
		return NULL;
	all->n++;
	return f;
}

/* ---- a table ---- */

/* Describes a string in the symbol table that ends with "malloc": names that begin at an offset in
 * [from, to] end with "malloc". */
struct text {
	uint64_t from, to;
};

static size_t find_texts(const struct elfmap_table *t, struct text v[FAMILIES_MOST])
{
	static const char wanted[] = "malloc"; /* searched with its terminating NUL */
	const char *p = t->strings, *end = p + t->bytes;
	size_t n = 0;
	while (n < FAMILIES_MOST && (p = memmem(p, (size_t)(end - p), wanted, sizeof wanted))) {
		uint64_t to = (uint64_t)(p - t->strings), from = to;
		while (from && t->strings[from - 1] && to - from < PREFIX_MOST)
			from--;
		v[n++] = (struct text){from, to};
		p += sizeof wanted;
	}
	return n;
}

static void find_prefixes(struct families *all, const struct elfmap_table *t)
{
	struct text texts[FAMILIES_MOST];
	size_t n = find_texts(t, texts);
	for (size_t i = 0; n && i < t->count; i++) {
		const Elf64_Sym *y = &t->symbols[i];
		for (size_t k = 0; k < n; k++)
			if (y->st_name >= texts[k].from && y->st_name <= texts[k].to &&
			    is_function(y))
				family_of(all, t->strings + y->st_name, texts[k].to - y->st_name);
	}
}

static void take_function(struct families *all, const char *name, const Elf64_Sym *y, bool dynamic)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct family *f = &all->v[i];
		size_t n = strlen(f->prefix);
		if (strncmp(name, f->prefix, n) != 0)
			continue;
		for (unsigned k = 0; k < hook_prefixed_count; k++)
			if (!strcmp(name + n, hook_prefixed_names[k].name)) {
				if (!f->functions[k])
					f->functions[k] = y;
				f->exported |= k == MALLOC && dynamic;
			}
	}
}

static bool is_whole(const struct family *f, bool before)
{
	return f->functions[MALLOC] && f->functions[FREE] &&
	       (f->functions[CALLOC] || f->functions[REALLOC] || (before && !*f->prefix));
}

/* Finds the families of a file. `before`: the file may define the program's own malloc: a family
 * without a prefix, which is complete without calloc and realloc. */
static void find_families(struct families *all, const struct hook_symbols *file, bool before)
{
	unsigned kept = 0;
	all->n = 0;
	if (before)
		family_of(all, "", 0);
	for (unsigned i = 0; i < file->n; i++)
		find_prefixes(all, &file->tables[i]);
	for (unsigned i = 0; i < file->n && all->n; i++) {
		const struct elfmap_table *t = &file->tables[i];
		for (size_t k = 0; k < t->count; k++)
			if (is_function(&t->symbols[k]))
				take_function(all, elfmap_name(t, &t->symbols[k]), &t->symbols[k],
					      t->dynamic);
	}
	for (unsigned i = 0; i < all->n; i++)
		if (is_whole(&all->v[i], before))
			all->v[kept++] = all->v[i];
	all->n = kept;
}

/* ---- wrappers ---- */

struct others {
	const struct families *all;
	const struct family *own;
};

static bool ends_as(const char *name, const char *end)
{
	size_t n = strlen(name), e = strlen(end);
	return n >= e && !strcmp(name + n - e, end);
}

static bool is_allocation(const void *arg, const char *name, bool imported)
{
	static const char *const ends[] = {
#define MS_HOOK_ALLOC(name, ...) #name,
#include "format/functions.def"
		"mallocx", "_Znwm", "_Znam"};
	const struct others *o = arg;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		if (!ends_as(name, ends[i]))
			continue;
		size_t n = strlen(name) - strlen(ends[i]);
		if (imported || (!n && *o->own->prefix))
			return true;
		for (unsigned k = 0; k < o->all->n; k++)
			if (&o->all->v[k] != o->own && strlen(o->all->v[k].prefix) == n &&
			    !memcmp(name, o->all->v[k].prefix, n))
				return true;
	}
	return false;
}

static bool is_wrapper(const struct families *all, const struct family *f,
		       const struct hook_symbols *file)
{
	const struct hook_code code = {&file->file, file->tables, file->n};
	const struct others o = {all, f};
	return hook_calls(&code, f->functions[MALLOC]->st_value, WRAPPER_DEPTH, is_allocation, &o);
}

/* Tells whether the family's malloc reads no arguments except the first, the size. */
static bool takes_size(const struct family *f, const struct hook_symbols *file)
{
	const struct hook_code code = {&file->file, file->tables, file->n};
	return hook_arguments(&code, f->functions[MALLOC]->st_value, ARGUMENTS_DEPTH) <= 1;
}

/* ---- which of them ---- */

static bool is_linker(const char *path)
{
	return !strncmp(basename(path), "ld-", 3);
}

static bool is_malloc_of(const void *arg, const char *name, bool imported)
{
	const struct family *f = arg;
	return !imported && !strncmp(name, f->prefix, strlen(f->prefix)) &&
	       ends_as(name, "malloc") && strlen(name) == strlen(f->prefix) + strlen("malloc");
}

/* Tells whether the module's unprefixed malloc calls the family's malloc. If so, recording the
 * unprefixed one suffices. */
static bool is_part(const struct families *all, const struct family *f,
		    const struct hook_symbols *file)
{
	const struct hook_code code = {&file->file, file->tables, file->n};
	for (unsigned i = 0; i < all->n; i++)
		if (!*all->v[i].prefix && hook_calls(&code, all->v[i].functions[MALLOC]->st_value,
						     WRAPPER_DEPTH, is_malloc_of, f))
			return true;
	return false;
}

/* Describes the module that a family is in. */
struct where {
	const struct hook_symbols *file;
	const struct attach_module *module; /* NULL = not mapped: the file is only tested for
					       families */
	bool runtime;                       /* a C or C++ runtime, whose prefixed functions are
					       parts of its malloc */
	bool before; /* the module's functions take precedence over those of the preloaded
			library */
};

/* Tells whether a family is an allocator of its own, not merely another name for a recorded one.
 * Without a prefix: if the module was loaded later, or no other module uses its malloc, or other
 * modules bind to its malloc instead of the preloaded one. With a prefix: if it is not an alias or
 * a wrapper of malloc. */
static bool is_own(const struct hook_families *known, const struct families *all,
		   const struct family *f, const struct where *at)
{
	bool unused =
		known->own && at->runtime; /* callers use the program's malloc, not the runtime's */
	uint64_t bias = at->module ? at->module->bias : 0;
	if (bias + f->functions[MALLOC]->st_value == known->malloc && !unused)
		return false;
	if (!*f->prefix)
		return known->later || at->before || unused || !f->exported;
	if (at->file->file.elf.head.e_machine != CPU_MACHINE)
		return false;
	return !at->runtime && takes_size(f, at->file) && !is_part(all, f, at->file) &&
	       !is_wrapper(all, f, at->file);
}

/* Tells whether the module is searched for families. A C library loaded at start is not: its malloc
 * is hooked anyway, unless the program has its own. */
static bool may_have(const struct hook_families *known, const char *path)
{
	return !is_linker(path) && (known->later || known->own || !hook_is_runtime(path));
}

static void give(const struct hook_place *place, const char *text, uint32_t family,
		 hook_families_fn *f, void *arg)
{
	struct ms_err ignored = {0};
	struct hook_spec spec;
	if (place->address < place->module.code_low || place->address >= place->module.code_high ||
	    hook_spec_read(&spec, text, &ignored))
		return;
	spec.custom.family = family;
	f(arg, &spec, place);
	hook_spec_free(&spec);
}

/* Returns the address to hook for a function of a family: the function's own, or the target of its
 * only jump, unless that is another function of the family. */
static uint64_t begins(const struct family *f, const struct hook_symbols *file, unsigned function)
{
	const struct hook_code code = {&file->file, file->tables, file->n};
	const Elf64_Sym *y = f->functions[function];
	uint64_t to = hook_begins(&code, y);
	for (unsigned i = 0; i < hook_prefixed_count; i++)
		if (f->functions[i] && f->functions[i]->st_value == to)
			return y->st_value;
	return to;
}

static void give_family(const struct family *f, const struct where *at, uint32_t number,
			hook_families_fn *to, void *arg)
{
	const struct attach_module *m = at->module;
	char text[PREFIX_MOST + 64];
	for (unsigned i = 0; i < hook_prefixed_count; i++) {
		const Elf64_Sym *y = f->functions[i];
		if (!y)
			continue;
		uint64_t entry = begins(f, at->file, i);
		const struct hook_place place = {
			*m, m->bias + entry, entry == y->st_value ? y->st_size : 0, at->runtime};
		snprintf(text, sizeof text, "%s%s%s", f->prefix, hook_prefixed_names[i].name,
			 hook_prefixed_names[i].arguments);
		give(&place, text, number, to, arg);
	}
}

static void give_known(const struct hook_symbols *file, const struct attach_module *m,
		       hook_families_fn *to, void *arg)
{
	char text[128];
	for (unsigned i = 0; i < file->n; i++)
		for (size_t k = 0; k < file->tables[i].count; k++) {
			const Elf64_Sym *y = &file->tables[i].symbols[k];
			const char *name = elfmap_name(&file->tables[i], y);
			const char *arguments = is_function(y) ? hook_known_arguments(name) : NULL;
			if (!arguments)
				continue;
			const struct hook_place place = {*m, m->bias + y->st_value, y->st_size,
							 false};
			snprintf(text, sizeof text, "%s%s", name, arguments);
			give(&place, text, 0, to, arg);
		}
}

/* Tells whether the file has an allocator whose function names are known in full. */
static bool has_known(const struct hook_symbols *file)
{
	static const char *const keys[] = {"mallocx", "mi_malloc", "tc_malloc", "moz_arena_malloc"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		for (unsigned k = 0; k < file->n; k++) {
			const struct elfmap_table *t = &file->tables[k];
			if (!memmem(t->strings, t->bytes, keys[i], strlen(keys[i]) + 1))
				continue;
			for (size_t n = 0; n < t->count; n++)
				if (is_function(&t->symbols[n]) &&
				    !strcmp(elfmap_name(t, &t->symbols[n]), keys[i]))
					return true;
		}
	return false;
}

void hook_families_each(const struct hook_modules *m, struct hook_families *known,
			hook_families_fn *f, void *arg)
{
	struct families *all = ms_xcalloc(1, sizeof *all);
	for (size_t i = 0; i < hook_modules_count(m); i++) {
		const struct hook_symbols *file;
		const struct attach_module *module = hook_module(m, i, &file);
		if (!may_have(known, module->map->path) || !file->file.file ||
		    !hook_symbols_mention(file, "malloc"))
			continue;
		if (has_known(file))
			give_known(file, module, f, arg);
		const struct where at = {file, module, hook_is_runtime(module->map->path),
					 known->launched && !i};
		find_families(all, file, at.before);
		for (unsigned k = 0; k < all->n; k++)
			if (known->next < MG_FAMILIES && is_own(known, all, &all->v[k], &at)) {
				known->own |= at.before && !*all->v[k].prefix;
				give_family(&all->v[k], &at, known->next++, f, arg);
			}
	}
	free(all);
}

static bool has_any(struct families *all, const struct hook_symbols *file, bool before)
{
	const struct hook_families start = {0};
	const struct where at = {.file = file, .before = before};
	if (!hook_symbols_mention(file, "malloc"))
		return false;
	if (has_known(file))
		return true;
	find_families(all, file, before);
	for (unsigned i = 0; i < all->n; i++)
		if (is_own(&start, all, &all->v[i], &at))
			return true;
	return false;
}

/* ---- a process ---- */

static bool may_open(const struct hook_symbols *file)
{
	return hook_symbols_mention(file, "dlopen") || hook_symbols_mention(file, "dlmopen");
}

/* Returns what the symbols of a mapped file call for, as bits. */
static unsigned look_at_file(int proc, const struct attach_map *m, bool first)
{
	struct hook_symbols file;
	if (!hook_symbols_open(&file, proc, m))
		return 0;
	struct families *all = ms_xcalloc(1, sizeof *all);
	unsigned wanted = (has_any(all, &file, first) ? HOOKS_FAMILIES : 0) |
			  (may_open(&file) ? HOOKS_LATER : 0);
	hook_symbols_close(&file);
	free(all);
	return wanted;
}

/* Tells whether a process sees the same files as ms-record; otherwise a module's debug file may be
 * a different one. */
static bool shares_root(int proc)
{
	struct stat own, its;
	return !stat("/", &own) && !fstatat(proc, "root/", &its, 0) && own.st_dev == its.st_dev &&
	       own.st_ino == its.st_ino;
}

/* Returns the result of look_at_file, which is remembered: a build runs the same few programs again
 * and again, and some have a hundred thousand symbols. */
static unsigned wanted_by_file(int proc, const struct attach_map *m, bool first)
{
	int fd = attach_elf_open(proc, m);
	uint8_t *note = held_file_note(fd, first ? HELD_NOTE_PROGRAM : HELD_NOTE_MODULE);
	descriptor_close(fd);
	if (!note)
		return look_at_file(proc, m, first);
	if (!*note)
		*note = (uint8_t)(HELD_NOTED | look_at_file(proc, m, first));
	return *note & ~HELD_NOTED;
}

unsigned hook_families_wanted(struct session *s)
{
	const struct hook_families start = {0};
	const struct attach_maps *maps = &s->modules.maps;
	int proc = s->process.folder;
	bool shared = shares_root(proc);
	unsigned wanted = 0;
	for (size_t i = 0; i < maps->n; i++) {
		const struct attach_map *m = &maps->v[i];
		if (!m->exec || !m->inode || hook_is_ours(m->path) || !may_have(&start, m->path))
			continue;
		bool first = !strcmp(m->path, maps->v[0].path);
		wanted |= (shared ? wanted_by_file : look_at_file)(proc, m, first);
	}
	return wanted;
}

void hook_families_refused(struct session *s, struct ms_err *err, const struct hook_spec *spec,
			   const struct hook_place *place, const char *why)
{
	const char *module = basename(place->module.map->path);
	if (!s->guest.missed[0])
		snprintf(s->guest.missed, sizeof s->guest.missed, "%.100s in %.64s", spec->name,
			 module);
	if (!err->text[0])
		ms_err_set(err,
			   "some allocations in '%s' are missing: '%s' cannot be hooked (%s)%s",
			   module, spec->name, why,
			   strcmp(why, HOOK_LIMIT_REACHED) && strcmp(why, HOOK_TOO_LATE)
				   ? "; use --hook with a function that it calls"
				   : "");
}

/* ---- operators ---- */

static void look_for(const struct hook_modules *m, const char *text, const char *path,
		     hook_families_fn *f, void *arg)
{
	struct ms_err ignored = {0};
	struct hook_place place;
	struct hook_spec spec;
	if (hook_spec_read(&spec, text, &ignored))
		return;
	spec.module = (char *)(uintptr_t)path;
	if (!hook_find_known(m, &spec, &place, &ignored))
		f(arg, &spec, &place);
	spec.module = NULL;
	hook_spec_free(&spec);
}

void hook_operators_each(const struct hook_modules *m, const char *path, hook_families_fn *f,
			 void *arg)
{
	char text[128];
	if (hook_is_runtime(path))
		return;
	for (unsigned i = 0; i < hook_operator_count; i++) {
		snprintf(text, sizeof text, "%s%s", hook_operators[i].name,
			 hook_operators[i].arguments);
		look_for(m, text, path, f, arg);
	}
}
