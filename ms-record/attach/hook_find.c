/* SPDX-License-Identifier: MIT
 * Finds functions that --hook names in the modules of a process.
 *
 * Symbols come from the mapped file, .symtab and .dynsym, so that static functions are found too.
 * Files are not trusted: nothing is read outside their bounds.
 */
#include "hook_find.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/symbols/symbols.h"

struct hook_module {
	struct attach_module m;
	struct hook_symbols file;
	struct elfmap_table known[HOOK_TABLES]; /* per table: the symbols selected by is_known();
						   malloc'ed */
};

/* ---- files ---- */

/* Tells whether a symbol begins like one of the names that hook_find_known looks up. These few
 * symbols are kept apart: a hundred lookups among a hundred thousand symbols would be slow. */
static bool is_known(const char *name)
{
	static const char *const starts[] = {"je_",     "_rjem_",  "mi_",        "tc_",
					     "mallocx", "rallocx", "dallocx",    "sdallocx",
					     "_Zn",     "_Zd",     HOOK_UNWINDER};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (*name == *starts[i] && !strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static struct elfmap_table known_of(const struct elfmap_table *all)
{
	MS_ARRAY(Elf64_Sym) some = {0};
	for (size_t i = 0; i < all->count; i++)
		if (is_known(elfmap_name(all, &all->symbols[i])))
			*MS_PUSH(&some) = all->symbols[i];
	return (struct elfmap_table){some.v, some.n, all->strings, all->bytes, all->dynamic};
}

static void map_file(struct hook_module *m, int proc)
{
	hook_symbols_open(&m->file, proc, m->m.map);
	for (unsigned i = 0; i < m->file.n; i++)
		m->known[i] = known_of(&m->file.tables[i]);
}

bool hook_is_ours(const char *path)
{
	const char *base = basename(path);
	return !strcmp(path, "[vdso]") || !strcmp(base, "libmemscope-preload.so") ||
	       !strncmp(path, "/memfd:" MG_IMAGE_NAME " ", sizeof "/memfd:" MG_IMAGE_NAME);
}

void hook_modules_read(struct hook_modules *all, int proc, const struct attach_maps *maps,
		       const struct attach_memory *mem,
		       bool (*wanted)(const void *arg, const struct attach_map *map),
		       const void *arg)
{
	*all = (struct hook_modules){0};
	for (size_t i = 0; i < maps->n; i++) {
		struct hook_module m = {0};
		if (hook_is_ours(maps->v[i].path) || (wanted && !wanted(arg, &maps->v[i])) ||
		    !attach_elf_module(mem, maps, &maps->v[i], &m.m))
			continue;
		map_file(&m, proc);
		*MS_PUSH(&all->all) = m;
	}
}

size_t hook_modules_count(const struct hook_modules *all)
{
	return all->all.n;
}

const struct attach_module *hook_module(const struct hook_modules *all, size_t i,
					const struct hook_symbols **file)
{
	*file = &all->all.v[i].file;
	return &all->all.v[i].m;
}

const char *hook_module_name(const struct hook_modules *all)
{
	return all->all.n ? all->all.v[0].m.map->path : "";
}

void hook_modules_free(struct hook_modules *all)
{
	for (size_t i = 0; i < all->all.n; i++) {
		for (unsigned k = 0; k < all->all.v[i].file.n; k++)
			free((void *)(uintptr_t)all->all.v[i].known[k].symbols);
		hook_symbols_close(&all->all.v[i].file);
	}
	free(all->all.v);
	*all = (struct hook_modules){0};
}

/* ---- names ---- */

/* Classifies the suffix that a compiler appended to a function's name. */
enum suffix { NONE, SAME, CHANGED, OTHER };

static enum suffix suffix_of(const char *s)
{
	static const char *const changed[] = {".constprop", ".isra", ".part"};
	if (!*s || *s == '@')
		return NONE;
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
		if (strstr(s, changed[i]))
			return CHANGED;
	return !strncmp(s, ".lto_priv", 9) || !strncmp(s, ".llvm.", 6) ? SAME : OTHER;
}

/* Cuts the parameters off a demangled name in place: "ns::f(int) const" becomes "ns::f". */
static void strip_parameters(char *name)
{
	int depth = 0;
	char *close = strrchr(name, ')');
	for (char *p = close; p && p >= name; p--) {
		depth += (*p == ')') - (*p == '(');
		if (!depth) {
			if (p > name)
				*p = '\0';
			return;
		}
	}
}

/* Tells whether a demangled name ends with `wanted`. It need not equal it: a template function's
 * name begins with its return type. */
static bool ends_as(const char *name, const char *wanted)
{
	size_t n = strlen(name), w = strlen(wanted);
	return n >= w && !strcmp(name + n - w, wanted) &&
	       (n == w || name[n - w - 1] == ' ' || name[n - w - 1] == '*');
}

static bool demangles_to(const char *mangled, size_t n, const char *wanted)
{
	char *bare = ms_xstrndup(mangled, n), *name = ms_demangle(bare);
	bool same = name && ends_as(name, wanted);
	if (name && !same) {
		strip_parameters(name);
		same = ends_as(name, wanted);
	}
	MS_FREE(name, bare);
	return same;
}

/* Stores the last identifier of a C++ name, which its mangled form contains unchanged; "" =
 * none. */
static void key_of(const char *name, char key[64])
{
	size_t n = strcspn(name, "(<"), from = n;
	while (from && (isalnum((unsigned char)name[from - 1]) || name[from - 1] == '_'))
		from--;
	snprintf(key, 64, "%.*s", (int)(n - from), name + from);
	if (strstr(name, "operator"))
		key[0] = '\0';
}

/* Tells whether the symbol's name is `wanted`, plain or mangled. *suffix: kind of the suffix that a
 * compiler appended. */
static bool is_named(const char *symbol, const char *wanted, const char *key, enum suffix *suffix)
{
	size_t n = strlen(wanted);
	if (!strncmp(symbol, wanted, n) && (!symbol[n] || symbol[n] == '.' || symbol[n] == '@')) {
		*suffix = suffix_of(symbol + n);
		return true;
	}
	if (symbol[0] != '_' || symbol[1] != 'Z' || (*key && !strstr(symbol, key)))
		return false;
	size_t bare = strcspn(symbol, ".@");
	*suffix = suffix_of(symbol + bare);
	return demangles_to(symbol, bare, wanted);
}

static bool module_fits(const char *path, const char *wanted)
{
	const char *base = basename(path);
	size_t n = wanted ? strlen(wanted) : 0;
	return !wanted || !strcmp(path, wanted) ||
	       (!strncmp(base, wanted, n) && (!base[n] || base[n] == '.'));
}

/* ---- one of them ---- */

struct found {
	struct hook_place *place;
	unsigned count;
	bool indirect;
	char others[200];  /* names and modules of all matches, as text */
	char changed[128]; /* name of a compiler's copy with other parameters */
};

static void note(struct found *f, const struct hook_module *m, const char *name)
{
	size_t n = strlen(f->others);
	char *nice = ms_demangle(name);
	snprintf(f->others + n, sizeof f->others - n, "%s%s in %s", n ? ", " : "",
		 nice ? nice : name, basename(m->m.map->path));
	free(nice);
}

static void take(struct found *f, const struct hook_module *m, const Elf64_Sym *s, const char *name,
		 enum suffix suffix)
{
	uint64_t address = m->m.bias + s->st_value;
	if (suffix == CHANGED)
		snprintf(f->changed, sizeof f->changed, "%s", name);
	if (suffix == CHANGED || suffix == OTHER || (f->count && f->place->address == address))
		return;
	f->indirect |= ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC;
	note(f, m, name);
	if (f->count++)
		return;
	*f->place = (struct hook_place){.module = m->m, .address = address, .bytes = s->st_size};
}

static void search(struct found *f, const struct hook_module *m, const struct hook_spec *spec,
		   bool known)
{
	char key[64];
	key_of(spec->name, key);
	known = known && is_known(spec->name);
	for (unsigned k = 0; k < m->file.n; k++) {
		const struct elfmap_table *t = known ? &m->known[k] : &m->file.tables[k];
		for (size_t i = 0; i < t->count; i++) {
			const Elf64_Sym *s = &t->symbols[i];
			unsigned type = ELF64_ST_TYPE(s->st_info);
			enum suffix suffix;
			if (s->st_shndx == SHN_UNDEF || !s->st_value || s->st_name >= t->bytes ||
			    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
				continue;
			const char *name = t->strings + s->st_name;
			if (is_named(name, spec->name, key, &suffix))
				take(f, m, s, name, suffix);
		}
	}
}

static int find(const struct hook_modules *all, const struct hook_spec *spec, bool known,
		struct hook_place *place, struct ms_err *err)
{
	struct found f = {.place = place};
	for (size_t i = 0; i < all->all.n; i++)
		if (module_fits(all->all.v[i].m.map->path, spec->module))
			search(&f, &all->all.v[i], spec, known);
	if (f.count > 1)
		return ms_err_set(err,
				  "there are several: %s; say which by 'MODULE!NAME' or its "
				  "full name",
				  f.others);
	if (f.changed[0])
		return ms_err_set(err,
				  "the compiler made a specialized copy, '%s': calls to that copy "
				  "would be missed",
				  f.changed);
	if (f.indirect)
		return ms_err_set(err,
				  "it is an ifunc: its code is chosen when the program starts");
	if (f.count &&
	    (place->address < place->module.code_low || place->address >= place->module.code_high))
		return ms_err_set(err, "its address is outside the code of its module");
	return f.count ? 0 : 1;
}

int hook_find(const struct hook_modules *all, const struct hook_spec *spec,
	      struct hook_place *place, struct ms_err *err)
{
	return find(all, spec, false, place, err);
}

int hook_find_known(const struct hook_modules *all, const struct hook_spec *spec,
		    struct hook_place *place, struct ms_err *err)
{
	return find(all, spec, true, place, err);
}

bool hook_knows(const struct hook_modules *all, const char *name)
{
	struct hook_place place;
	struct found f = {.place = &place};
	struct hook_spec spec = {.name = (char *)(uintptr_t)name};
	for (size_t i = 0; i < all->all.n && !f.count; i++)
		search(&f, &all->all.v[i], &spec, true);
	return f.count != 0;
}

bool hook_is_runtime(const char *path)
{
	static const char *const runtimes[] = {"libstdc++", "libc++", "libc.", "libc-", "ld-"};
	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		if (!strncmp(basename(path), runtimes[i], strlen(runtimes[i])))
			return true;
	return false;
}
