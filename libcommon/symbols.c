/* SPDX-License-Identifier: MIT
 * The symbolizer: modules, the files behind them, and answers from DWARF or else from the symbol
 * table.
 */
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "format/trace.h"
#include "symbols_dwarf.h"
#include "symbols_files.h"

/* A module's kind in a trace that is backed by a file: MS_MODULE_KIND 0 and the recorder's
 * guest, 3. */
static bool has_file(int kind)
{
	return kind == 0 || kind == 3;
}

struct module {
	char *path;
	uint8_t *id;
	size_t id_size;
	int kind;
	bool opened;
	int state;
	const char *source;
	struct ms_module_files files;
	struct ms_elf *symbols; /* the one of `files` with the better symbol table */
	struct ms_dwarf *dwarf;
	/* Names of the symbol table made readable so far, one per symbol. */
	const char **names;
};

struct ms_symbols {
	struct ms_symbols_options opt;
	struct ms_arena arena;
	struct {
		struct module *v;
		size_t n, cap;
	} modules;
};

struct ms_symbols *ms_symbols_new(const struct ms_symbols_options *opt)
{
	struct ms_symbols *s = ms_xrealloc(NULL, 1, sizeof *s);
	*s = (struct ms_symbols){0};
	if (opt)
		s->opt = *opt;
	return s;
}

struct ms_symbols *ms_symbols_again(const struct ms_symbols *s)
{
	return ms_symbols_new(&s->opt);
}

void ms_symbols_free(struct ms_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.n; i++) {
		ms_dwarf_free(s->modules.v[i].dwarf);
		ms_module_files_close(&s->modules.v[i].files);
		free(s->modules.v[i].names);
	}
	free(s->modules.v);
	ms_arena_free(&s->arena);
	free(s);
}

int ms_symbols_module(struct ms_symbols *s, const char *path, const void *build_id,
		      size_t build_id_size, int kind)
{
	for (size_t i = 0; i < s->modules.n; i++) {
		const struct module *m = &s->modules.v[i];
		if (m->kind == kind && m->id_size == build_id_size && !strcmp(m->path, path) &&
		    (!build_id_size || !memcmp(m->id, build_id, build_id_size)))
			return (int)i;
	}
	struct module *m = MS_PUSH(&s->modules);
	*m = (struct module){.path = ms_arena_strdup(&s->arena, path),
			     .id_size = build_id_size,
			     .kind = kind,
			     .source = ""};
	if (build_id_size)
		m->id = memcpy(ms_arena_alloc(&s->arena, build_id_size), build_id, build_id_size);
	return (int)(s->modules.n - 1);
}

static void open_dwarf(struct ms_symbols *s, struct module *m)
{
	struct ms_elf *e = m->files.debug && ms_elf_has_dwarf(m->files.debug) ? m->files.debug
									      : m->files.binary;
	if (!e || !ms_elf_has_dwarf(e))
		return;
	m->dwarf = ms_dwarf_new(e, m->files.alt, m->symbols, &s->arena, !s->opt.no_demangle);
	if (!m->dwarf)
		return;
	m->state = MS_SYMBOLS_DWARF;
	m->source = e->path;
}

static void open_module(struct ms_symbols *s, struct module *m)
{
	m->opened = true;
	m->state = MS_SYMBOLS_NONE;
	if (!has_file(m->kind))
		return;
	m->files = ms_module_files(&s->opt, m->path, m->id, m->id_size);
	struct ms_elf *binary = m->files.binary, *debug = m->files.debug;
	if (!binary && !debug) {
		m->state = m->files.mismatch ? MS_SYMBOLS_MISMATCH : MS_SYMBOLS_MISSING;
		return;
	}
	m->symbols = debug && (!binary || ms_elf_symbols(debug) > ms_elf_symbols(binary)) ? debug
											  : binary;
	if (ms_elf_symbols(m->symbols)) {
		/* a stripped file still has its _start, which is no symbol table */
		if (ms_elf_has_symbols(m->symbols)) {
			m->state = MS_SYMBOLS_ELF;
			m->source = m->symbols->path;
		}
		m->names = calloc(ms_elf_symbols(m->symbols), sizeof *m->names);
	}
	open_dwarf(s, m);
}

static struct module *module_at(struct ms_symbols *s, int module)
{
	if (module < 0 || (size_t)module >= s->modules.n)
		return NULL;
	struct module *m = &s->modules.v[module];
	if (!m->opened)
		open_module(s, m);
	return m;
}

int ms_symbols_module_state(struct ms_symbols *s, int module, const char **file)
{
	const struct module *m = module_at(s, module);
	if (file)
		*file = m ? m->source : "";
	return m ? m->state : MS_SYMBOLS_NONE;
}

/* The name of the symbol table for `address`, made readable once. */
static const char *symbol_name(struct ms_symbols *s, struct module *m, uint64_t address)
{
	const struct ms_elf_symbol *y = m->symbols ? ms_elf_symbol(m->symbols, address) : NULL;
	if (!y || !m->names)
		return NULL;
	const char **name = &m->names[y - m->symbols->symbols];
	if (*name)
		return *name;
	char *plain = s->opt.no_demangle ? NULL : ms_demangle(y->name);
	*name = ms_arena_strdup(&s->arena, plain ? plain : y->name);
	free(plain);
	return *name;
}

size_t ms_symbols_find(struct ms_symbols *s, int module, uint64_t address, struct ms_location *out,
		       size_t max)
{
	struct module *m = module_at(s, module);
	size_t n = m && m->dwarf && max ? ms_dwarf_find(m->dwarf, address, out, max) : 0;
	if (!max)
		return 0;
	if (!n) {
		out[0] = (struct ms_location){0};
		n = 1;
	}
	if (m && !out[n - 1].function)
		out[n - 1].function = symbol_name(s, m, address);
	return n;
}
