/* SPDX-License-Identifier: MIT
 * Finds malloc and free among the symbols of an ELF file.
 */
#include "elffile.h"

#include <string.h>

#include "elfmap.h"

static void take_symbols(struct elffile_malloc *m, const struct elfmap_table *t)
{
	bool malloc_there = false, free_there = false;
	for (size_t i = 0; i < t->count; i++) {
		const Elf64_Sym *y = &t->symbols[i];
		const char *name = elfmap_name(t, y);
		unsigned type = ELF64_ST_TYPE(y->st_info);
		bool here = y->st_shndx != SHN_UNDEF;
		if (type != STT_FUNC && type != STT_NOTYPE)
			continue;
		malloc_there |= here && !strcmp(name, "malloc");
		free_there |= here && !strcmp(name, "free");
		m->wanted |= !here && !strcmp(name, "malloc");
		m->checked |=
			here && (!strcmp(name, "__asan_init") || !strcmp(name, "__tsan_init") ||
				 !strcmp(name, "__msan_init") || !strcmp(name, "__hwasan_init"));
	}
	m->malloc |= malloc_there;
	m->defined |= malloc_there && free_there;
	m->exported |= malloc_there && free_there && t->dynamic;
	m->table |= !t->dynamic;
}

bool elffile_malloc(int fd, struct elffile_malloc *m)
{
	struct elfmap map;
	struct elfmap_table t;
	*m = (struct elffile_malloc){0};
	if (!elfmap_open(&map, fd))
		return false;
	for (unsigned i = 0; i < map.elf.section_count; i++)
		if (elfmap_table(&map, i, &t))
			take_symbols(m, &t);
	elfmap_close(&map);
	return true;
}
