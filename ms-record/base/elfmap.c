/* SPDX-License-Identifier: MIT
 * Maps a 64-bit ELF file for reading.
 */
#include "elfmap.h"

#include <sys/mman.h>
#include <sys/stat.h>

const void *elfmap_part(const struct elfmap *m, uint64_t offset, uint64_t bytes)
{
	return offset <= m->bytes && bytes <= m->bytes - offset ? m->file + offset : NULL;
}

bool elfmap_map(struct elfmap *m, int fd)
{
	struct stat st;
	*m = (struct elfmap){0};
	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return false;
	void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return false;
	m->file = file;
	m->bytes = (uint64_t)st.st_size;
	return true;
}

bool elfmap_read(struct elfmap *m)
{
	if (!m->file)
		return false;
	if (ms_elf_read(&m->elf, ms_elf_in_memory(m->file, m->bytes)) &&
	    ms_elf_read_sections(&m->elf))
		return true;
	elfmap_close(m);
	return false;
}

bool elfmap_open(struct elfmap *m, int fd)
{
	return elfmap_map(m, fd) && elfmap_read(m);
}

void elfmap_close(struct elfmap *m)
{
	ms_elf_reader_free(&m->elf);
	if (m->file)
		munmap((void *)(uintptr_t)m->file, m->bytes);
	*m = (struct elfmap){0};
}

bool elfmap_table(const struct elfmap *m, unsigned i, struct elfmap_table *t)
{
	const Elf64_Shdr *all = m->elf.sections, *s = &all[i];
	size_t n = m->elf.section_count;
	if (i >= n || (s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || s->sh_offset % 8 ||
	    s->sh_link >= n)
		return false;
	t->symbols = elfmap_part(m, s->sh_offset, s->sh_size);
	t->count = s->sh_size / sizeof *t->symbols;
	t->strings = elfmap_part(m, all[s->sh_link].sh_offset, all[s->sh_link].sh_size);
	t->bytes = all[s->sh_link].sh_size;
	t->dynamic = s->sh_type == SHT_DYNSYM;
	return t->symbols && t->strings && t->bytes && !t->strings[t->bytes - 1];
}
