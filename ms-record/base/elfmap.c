/* SPDX-License-Identifier: MIT
 * An ELF file of 64 bits, mapped to be read.
 */
#include "elfmap.h"

#include <sys/mman.h>
#include <sys/stat.h>

const void *elfmap_part(const struct elfmap *m, uint64_t offset, uint64_t bytes)
{
	return offset <= m->bytes && bytes <= m->bytes - offset ? m->file + offset : NULL;
}

bool elfmap_open(struct elfmap *m, int fd)
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
	if (ms_elf_read(&m->elf, ms_elf_in_memory(file, m->bytes)) && ms_elf_read_sections(&m->elf))
		return true;
	elfmap_close(m);
	return false;
}

void elfmap_close(struct elfmap *m)
{
	ms_elf_reader_free(&m->elf);
	if (m->file)
		munmap((void *)(uintptr_t)m->file, m->bytes);
	*m = (struct elfmap){0};
}

const void *elfmap_section(const struct elfmap *m, unsigned i, uint32_t type, uint64_t *bytes)
{
	if (i >= m->elf.section_count || m->elf.sections[i].sh_type != type ||
	    m->elf.sections[i].sh_offset % 8)
		return NULL;
	*bytes = m->elf.sections[i].sh_size;
	return elfmap_part(m, m->elf.sections[i].sh_offset, *bytes);
}

/* Section `i`, if it is in the file and ends with a NUL, as texts do; else NULL. */
static const char *strings_of(const struct elfmap *m, unsigned i, uint64_t *bytes)
{
	if (i >= m->elf.section_count)
		return NULL;
	*bytes = m->elf.sections[i].sh_size;
	const char *text = elfmap_part(m, m->elf.sections[i].sh_offset, *bytes);
	return text && *bytes && !text[*bytes - 1] ? text : NULL;
}

bool elfmap_table(const struct elfmap *m, unsigned i, struct elfmap_table *t)
{
	uint64_t bytes;
	t->symbols = elfmap_section(m, i, SHT_SYMTAB, &bytes);
	if (!t->symbols)
		t->symbols = elfmap_section(m, i, SHT_DYNSYM, &bytes);
	if (!t->symbols)
		return false;
	t->count = bytes / sizeof *t->symbols;
	t->strings = strings_of(m, m->elf.sections[i].sh_link, &t->bytes);
	return t->strings;
}
