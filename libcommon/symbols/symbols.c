/* SPDX-License-Identifier: MIT
 * The symbolizer: modules, the files behind them, and answers from DWARF or else from the symbol
 * table.
 */
#include "symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <elfutils/libdwfl.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/io.h"
#include "libcommon/base/lookup.h"
#include "format/trace.h"
#include "symbols_cache.h"
#include "symbols_debuginfod.h"
#include "symbols_dwarf.h"
#include "symbols_files.h"
#include "symbols_made.h"
#include "symbols_plt.h"
#include "symbol_sources.h" /* generated: a hash of these sources, part of the cache key */

/* Values of MS_MODULE_KIND without a file: the kernel's vDSO, and code made at run time. */
enum { KIND_VDSO = 1, KIND_MADE = MS_SYMBOLS_MADE };

#define CACHE_BYTES (UINT64_C(512) << 20)

struct module {
	struct ms_symbols_module is;
	bool opened;
	int state;
	const char *source;
	struct ms_module_files files;
	struct ms_elf *symbols; /* the element of `files` with the better symbol table */
	struct ms_dwarf *dwarf;
	struct ms_made *made;
	struct ms_plt *plt;  /* linkage table of the binary, created when needed */
	struct ms_elf *code; /* the binary, if `files` were not searched for */
	bool code_sought;
	/* Demangled names of symbols, by index in the symbol table; NULL = not demangled yet. */
	const char **names;
	struct ms_cached cached; /* key NULL = not to be cached */
};

struct ms_symbols {
	struct ms_symbols_options opt;
	struct ms_arena arena;
	uint64_t until_ns;             /* deadline for asking servers, CLOCK_MONOTONIC */
	struct ms_debuginfod *servers; /* NULL = never ask */
	MS_ARRAY(struct module) modules;
	int cache;      /* descriptor of the cache folder; -1 = none */
	size_t at_work; /* module whose files are being read */
};

struct ms_symbols *ms_symbols_new(const struct ms_symbols_options *opt)
{
	struct ms_symbols *s = ms_xcalloc(1, sizeof *s);
	if (opt)
		s->opt = *opt;
	s->cache = s->opt.no_cache || s->opt.debuginfod_ns ? -1 : ms_cache_folder();
	if (s->opt.debuginfod_ns) {
		s->until_ns = ms_clock_ns(CLOCK_MONOTONIC) + s->opt.debuginfod_ns;
		s->servers = ms_debuginfod_new(s->until_ns);
	}
	return s;
}

struct ms_symbols *ms_symbols_again(const struct ms_symbols *s)
{
	struct ms_symbols_options opt = s->opt;
	opt.debuginfod_ns = 0;
	opt.no_cache |= s->servers != NULL;
	struct ms_symbols *again = ms_symbols_new(&opt);
	if (s->servers)
		again->servers = ms_debuginfod_new(s->until_ns);
	return again;
}

const char *ms_symbols_trouble(const struct ms_symbols *s)
{
	return s->servers ? ms_debuginfod_trouble(s->servers) : NULL;
}

/* Returns the module's state after all lookups. */
static int state_of(const struct module *m)
{
	if (m->state != MS_SYMBOLS_DWARF || !m->dwarf)
		return m->state;
	return m->dwarf->damaged   ? MS_SYMBOLS_DAMAGED
	       : m->dwarf->partial ? MS_SYMBOLS_PARTIAL
				   : MS_SYMBOLS_DWARF;
}

/* Writes the results for the module to the cache, unless files are damaged or missing: later
 * lookups may find more damage, and missing files may exist by then, so these modules are searched
 * again each time. */
static bool keep(struct ms_symbols *s, struct module *m)
{
	int state = state_of(m);
	bool written = false;
	if (m->opened && m->cached.chains.n > m->cached.sorted &&
	    (state == MS_SYMBOLS_DWARF || state == MS_SYMBOLS_ELF || state == MS_SYMBOLS_NONE)) {
		m->cached.state = state;
		m->cached.source = m->source;
		written = ms_cached_write(&m->cached, s->cache, &s->arena);
	}
	ms_cached_free(&m->cached);
	return written;
}

void ms_symbols_free(struct ms_symbols *s)
{
	bool written = false;
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.n; i++) {
		written |= keep(s, &s->modules.v[i]);
		ms_dwarf_free(s->modules.v[i].dwarf);
		ms_made_free(s->modules.v[i].made);
		ms_plt_free(s->modules.v[i].plt);
		ms_elf_close(s->modules.v[i].code);
		ms_module_files_close(&s->modules.v[i].files);
		free(s->modules.v[i].names);
	}
	ms_debuginfod_free(s->servers);
	if (written)
		ms_cache_trim(s->cache, CACHE_BYTES);
	ms_close(s->cache);
	free(s->modules.v);
	ms_arena_free(&s->arena);
	free(s);
}

static bool same(const struct ms_symbols_module *a, const struct ms_symbols_module *b)
{
	if (a->kind != b->kind || a->held != b->held || a->build_id_size != b->build_id_size ||
	    strcmp(a->path, b->path))
		return false;
	if (a->build_id_size)
		return !memcmp(a->build_id, b->build_id, a->build_id_size);
	return a->file_bytes == b->file_bytes && a->file_mtime_ns == b->file_mtime_ns &&
	       a->deleted == b->deleted &&
	       (a->kind != KIND_MADE || (a->pid == b->pid && a->from_ns == b->from_ns));
}

/* Sets a cache key that is unique for the question: each part has a fixed format or is preceded by
 * its length. */
static void set_key(struct ms_symbols *s, struct module *m)
{
	const uint8_t *bytes = m->is.build_id;
	size_t n = bytes ? m->is.build_id_size : 0;
	struct ms_arena *a = &s->arena;
	char *id = ms_arena_alloc(a, 2 * n + 1);
	for (size_t i = 0; i < n; i++)
		sprintf(id + 2 * i, "%02x", bytes[i]);
	char *key = ms_arena_printf(a, "%s %s %d %s %d %" PRIu64 " %" PRIu64 " %d %zu:%s",
				    MS_SYMBOLS_SOURCES, dwfl_version(NULL), s->opt.no_demangle, id,
				    m->is.kind, m->is.file_bytes, m->is.file_mtime_ns,
				    m->is.deleted, strlen(m->is.path), m->is.path);
	if (s->opt.sysroot)
		key = ms_arena_printf(a, "%s r%zu:%s", key, strlen(s->opt.sysroot), s->opt.sysroot);
	for (const char *const *d = s->opt.debug_dirs; d && *d; d++)
		key = ms_arena_printf(a, "%s d%zu:%s", key, strlen(*d), *d);
	m->cached.key = key;
	m->cached.name = ms_arena_printf(a, "%.40s-%08x", n ? id : "none", ms_hash_text(key));
}

/* Tells whether the path is still that of the open file. If not, the open file is used, and nothing
 * is cached. */
static bool leads_to(const char *path, int held)
{
	struct stat there, is;
	return stat(path, &there) == 0 && fstat(held, &is) == 0 && there.st_dev == is.st_dev &&
	       there.st_ino == is.st_ino;
}

int ms_symbols_module_of(struct ms_symbols *s, const struct ms_symbols_module *asked)
{
	struct ms_symbols_module copy = *asked, *is = &copy;
	if (is->held > 0 && leads_to(is->path, is->held))
		is->held = 0;
	for (size_t i = 0; i < s->modules.n; i++)
		if (same(&s->modules.v[i].is, is))
			return (int)i;
	struct module *m = MS_PUSH(&s->modules);
	*m = (struct module){.is = *is, .source = ""};
	m->is.path = ms_arena_strdup(&s->arena, is->path);
	m->is.cwd = is->cwd ? ms_arena_strdup(&s->arena, is->cwd) : NULL;
	m->is.build_id = NULL;
	if (is->build_id_size)
		m->is.build_id = memcpy(ms_arena_alloc(&s->arena, is->build_id_size), is->build_id,
					is->build_id_size);
	if (s->cache >= 0 && !is->held && is->kind != KIND_MADE && is->kind != KIND_VDSO) {
		set_key(s, m);
		ms_cached_read(&m->cached, s->cache, &s->arena);
	}
	return (int)(s->modules.n - 1);
}

static void open_dwarf(struct ms_symbols *s, struct module *m)
{
	struct ms_elf *e = ms_elf_has_dwarf(m->files.debug) ? m->files.debug : m->files.binary;
	if (!e || !ms_elf_has_dwarf(e))
		return;
	const struct ms_dwarf_files files = {e, m->files.alt, m->symbols, m->is.path};
	m->dwarf = ms_dwarf_new(&files, &s->opt, &s->arena);
	m->state = m->dwarf ? MS_SYMBOLS_DWARF : MS_SYMBOLS_DAMAGED;
	m->source = e->path;
}

/* Opens the list of code made at run time, which some programs write. */
static void open_made(struct ms_symbols *s, struct module *m)
{
	const struct ms_symbols_module *is = &m->is;
	struct ms_made_by by = {is->pid, is->uid, is->from_ns, is->to_ns, is->since_ns, is->cwd};
	m->made = ms_made_open(s->opt.sysroot ? s->opt.sysroot : "", &by);
	if (!m->made)
		return;
	m->state = MS_SYMBOLS_ELF;
	m->source = ms_made_path(m->made);
}

static void open_module(struct ms_symbols *s, struct module *m)
{
	m->opened = true;
	m->state = MS_SYMBOLS_NONE;
	if (m->is.kind == KIND_MADE) {
		open_made(s, m);
		return;
	}
	m->files = ms_module_files(&s->opt, s->servers, &m->is);
	struct ms_elf *binary = m->files.binary, *debug = m->files.debug;
	if (!binary && !debug) {
		m->state = m->is.kind == KIND_VDSO ? MS_SYMBOLS_NONE
			   : m->files.mismatch     ? MS_SYMBOLS_MISMATCH
						   : MS_SYMBOLS_MISSING;
		return;
	}
	m->symbols = debug && (!binary || ms_elf_symbols(debug) > ms_elf_symbols(binary)) ? debug
											  : binary;
	if (ms_elf_symbols(m->symbols)) {
		/* even a stripped file has _start, which does not count as a symbol table */
		if (ms_elf_has_symbols(m->symbols)) {
			m->state = MS_SYMBOLS_ELF;
			m->source = m->symbols->path;
		}
		m->names = calloc(ms_elf_symbols(m->symbols), sizeof *m->names);
	}
	open_dwarf(s, m);
	if (m->files.refused && !m->dwarf && m->state != MS_SYMBOLS_DAMAGED)
		m->state = MS_SYMBOLS_REFUSED;
	if (m->files.damaged || (m->symbols->mini_damaged && !m->dwarf))
		m->state = MS_SYMBOLS_DAMAGED;
}

static void note_file(void *arg, const char *path, const struct stat *st, bool sure)
{
	struct ms_symbols *s = arg;
	ms_cached_saw(&s->modules.v[s->at_work].cached, path, st, sure, &s->arena);
}

/* Starts recording which files are opened for the module, because the cached result depends on
 * them. */
static void watch(struct ms_symbols *s, const struct module *m)
{
	s->at_work = (size_t)(m - s->modules.v);
	if (m->cached.key)
		ms_elf_watch = (struct ms_elf_watch){note_file, s};
}

static struct module *module_at(struct ms_symbols *s, int module)
{
	return module < 0 || (size_t)module >= s->modules.n ? NULL : &s->modules.v[module];
}

int ms_symbols_module_state(struct ms_symbols *s, int module, const char **file)
{
	struct module *m = module_at(s, module);
	bool known = m && !m->opened && m->cached.sorted;
	if (m && !known && !m->opened) {
		watch(s, m);
		open_module(s, m);
		ms_elf_watch.saw = NULL;
	}
	if (file)
		*file = !m ? "" : known ? m->cached.source : m->source;
	return !m ? MS_SYMBOLS_NONE : known ? m->cached.state : state_of(m);
}

/* Returns a name such as "malloc@plt". A separate debug file has no instructions, so the binary is
 * used. */
static const char *linkage_name(struct ms_symbols *s, struct module *m, uint64_t address)
{
	uint64_t addend;
	if (!m->files.binary)
		return NULL;
	if (!m->plt)
		m->plt = ms_plt_new(m->files.binary);
	const char *name = ms_plt_find(m->plt, address, &addend), *out;
	if (!name)
		return NULL;
	char *plain = s->opt.no_demangle ? NULL : ms_demangle(name);
	name = plain ? plain : name;
	out = addend ? ms_arena_printf(&s->arena, "%s+0x%" PRIx64 "@plt", name, addend)
		     : ms_arena_printf(&s->arena, "%s@plt", name);
	free(plain);
	return out;
}

/* Returns the symbol for an address. A signal handler returns to the first instruction of a
 * function that nobody called (__restore_rt), so the byte before the return address may belong to
 * no function. */
static const struct ms_elf_symbol *function_at(struct ms_elf *e, uint64_t address)
{
	const struct ms_elf_symbol *y = ms_elf_symbol(e, address);
	if (y)
		return y;
	y = ms_elf_symbol(e, address + 1);
	return y && y->address == address + 1 ? y : NULL;
}

/* Returns the symbol table's name for `address`, demangled once. */
static const char *symbol_name(struct ms_symbols *s, struct module *m, uint64_t address)
{
	const struct ms_elf_symbol *y = m->symbols ? function_at(m->symbols, address) : NULL;
	if (!y || !m->names)
		return linkage_name(s, m, address);
	const char **name = &m->names[y - m->symbols->symbols];
	if (*name)
		return *name;
	char *plain = s->opt.no_demangle ? NULL : ms_demangle(y->name);
	*name = ms_arena_strdup(&s->arena, plain ? plain : y->name);
	free(plain);
	return *name;
}

static size_t find_in_files(struct ms_symbols *s, struct module *m, uint64_t address,
			    struct ms_location *out, size_t max)
{
	if (!m->opened)
		open_module(s, m);
	if (m->made) {
		ms_made_find(m->made, address, out);
		return 1;
	}
	size_t n = m->dwarf ? ms_dwarf_find(m->dwarf, address, out, max) : 0;
	if (!n) {
		out[0] = (struct ms_location){0};
		n = 1;
	}
	if (!out[n - 1].function)
		out[n - 1].function = symbol_name(s, m, address);
	return n;
}

size_t ms_symbols_find(struct ms_symbols *s, int module, uint64_t address, struct ms_location *out,
		       size_t max)
{
	struct module *m = module_at(s, module);
	if (!max)
		return 0;
	if (!m) {
		out[0] = (struct ms_location){0};
		return 1;
	}
	const struct ms_cached_chain *known = ms_cached_find(&m->cached, address);
	if (known && known->n < max) {
		memcpy(out, known->v, known->n * sizeof *out);
		return known->n;
	}
	watch(s, m);
	size_t n = find_in_files(s, m, address, out, max);
	ms_elf_watch.saw = NULL;
	if (m->cached.key && n < max)
		ms_cached_add(&m->cached, address, out, n, &s->arena);
	return n;
}

bool ms_symbols_variable(struct ms_symbols *s, int module, uint64_t address, bool in_thread,
			 struct ms_variable *out)
{
	struct module *m = module_at(s, module);
	if (!m)
		return false;
	watch(s, m);
	if (!m->opened)
		open_module(s, m);
	bool found = m->dwarf && ms_dwarf_variable(m->dwarf, address, in_thread, out);
	ms_elf_watch.saw = NULL;
	return found;
}

const char *ms_symbols_called(struct ms_symbols *s, int module, uint64_t address)
{
	struct module *m = module_at(s, module);
	if (!m || m->is.kind == KIND_MADE || m->is.kind == KIND_VDSO)
		return NULL;
	/* files were not searched for if symbols came from the cache; then only the binary is
	 * opened */
	if (!m->code_sought && !m->files.binary)
		m->code = ms_module_binary(&s->opt, &m->is);
	m->code_sought = true;
	struct ms_elf *e = m->files.binary ? m->files.binary : m->code;
	if (e && !m->plt)
		m->plt = ms_plt_new(e);
	return m->plt ? ms_plt_called(m->plt, address + 1) : NULL;
}
