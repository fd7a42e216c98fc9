/* SPDX-License-Identifier: MIT
 * Reads the bounds of variables from a module's file: .symtab, else that of its debug file, else
 * .dynsym.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/order.h"
#include "ms-record/base/descriptor.h"
#include "scan_keep.h"

static void add_symbol(struct kept_symbols *s, const struct elfmap_table *t, const Elf64_Sym *y)
{
	uint64_t end = y->st_value + y->st_size;
	const char *name = elfmap_name(t, y);
	if (end > y->st_value && *name)
		*MS_PUSH(s) = (struct kept_symbol){y->st_value, end, name};
}

/* Adds the variables of the file's full or dynamic symbol table. Returns false if it has none. */
static bool take_table(struct kept_module *m, const struct elfmap *map, bool dynamic)
{
	struct elfmap_table t;
	for (unsigned i = 0; i < map->elf.section_count; i++) {
		if (!elfmap_table(map, i, &t) || t.dynamic != dynamic)
			continue;
		for (size_t k = 0; k < t.count; k++) {
			const Elf64_Sym *y = &t.symbols[k];
			unsigned type = ELF64_ST_TYPE(y->st_info);
			if (y->st_shndx == SHN_UNDEF)
				continue;
			if (type == STT_OBJECT || type == STT_COMMON)
				add_symbol(&m->variables, &t, y);
			else if (type == STT_TLS)
				add_symbol(&m->locals, &t, y);
		}
		return true;
	}
	return false;
}

/* Opens the debug file that is installed for the module's build-id. */
static bool open_debug(struct kept_module *m)
{
	uint8_t id[MS_ELF_ID_MOST];
	char path[64 + 2 * MS_ELF_ID_MOST];
	size_t n = ms_elf_build_id(&m->file.elf, id);
	if (n < 2)
		return false;
	int at = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		at += snprintf(path + at, sizeof path - (size_t)at, "%02x", id[i]);
	snprintf(path + at, sizeof path - (size_t)at, ".debug");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool good = elfmap_open(&m->debug, fd);
	descriptor_close(fd);
	return good;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Compares by address; of symbols at one address the longest comes first, then the name that looks
 * least like an internal one. */
static int by_place(const void *a, const void *b)
{
	const struct kept_symbol *x = a, *y = b;
	int c = MS_ORDER(x->start, y->start) ?: MS_ORDER(y->end, x->end);
	return c ?: MS_ORDER(underscores(x->name), underscores(y->name)) ?: strcmp(x->name, y->name);
}

/* Sorts the symbols and drops aliases, and symbols inside others. */
static void settle(struct kept_symbols *s)
{
	size_t n = 0;
	if (s->n)
		qsort(s->v, s->n, sizeof *s->v, by_place);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->v[i].start >= s->v[n - 1].end)
			s->v[n++] = s->v[i];
	s->n = n;
}

void kept_module_read(struct kept_module *m)
{
	if (m->read)
		return;
	m->read = true;
	m->has_file = elfmap_read(&m->file);
	if (!m->has_file)
		return;
	if (!take_table(m, &m->file, false) && !(open_debug(m) && take_table(m, &m->debug, false)))
		take_table(m, &m->file, true);
	for (size_t i = 0; i < m->variables.n && !m->python; i++)
		m->python = !strcmp(m->variables.v[i].name, "_PyRuntime");
	settle(&m->variables);
	settle(&m->locals);
	m->section_roots = ms_xcalloc(m->file.elf.section_count + 1, sizeof *m->section_roots);
}

void kept_module_free(struct kept_module *m)
{
	elfmap_close(&m->file);
	elfmap_close(&m->debug);
	MS_FREE(m->variables.v, m->locals.v, m->section_roots);
}

const struct kept_symbol *kept_symbol_at(const struct kept_symbols *s, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(s->v, s->n, start, address);
	return i && address < s->v[i - 1].end ? &s->v[i - 1] : NULL;
}

/* Returns the name of a section, or "". */
static const char *section_name(const struct elfmap *f, const Elf64_Shdr *s)
{
	const Elf64_Shdr *names = f->elf.names;
	const char *all = names ? elfmap_part(f, names->sh_offset, names->sh_size) : NULL;
	bool good = all && s->sh_name < names->sh_size &&
		    memchr(all + s->sh_name, '\0', names->sh_size - s->sh_name);
	return good ? all + s->sh_name : "";
}

unsigned kept_section_at(const struct kept_module *m, uint64_t address, const char **name)
{
	const struct elfmap *f = &m->file;
	unsigned i = 0, n = m->has_file ? (unsigned)f->elf.section_count : 0;
	for (; i < n; i++) {
		const Elf64_Shdr *s = &f->elf.sections[i];
		if (s->sh_flags & SHF_ALLOC && !(s->sh_flags & SHF_TLS) &&
		    address - s->sh_addr < s->sh_size)
			break;
	}
	*name = i < n ? section_name(f, &f->elf.sections[i]) : NULL;
	return i;
}
