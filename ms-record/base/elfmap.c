/* SPDX-License-Identifier: MIT
 * An ELF file of 64 bits, mapped to be read.
 */
#include "elfmap.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

const void *elfmap_part(const struct elfmap *m, uint64_t offset, uint64_t bytes)
{
	return offset <= m->bytes && bytes <= m->bytes - offset ? m->file + offset : NULL;
}

static bool find_sections(struct elfmap *m)
{
	const Elf64_Ehdr *e = m->head = elfmap_part(m, 0, sizeof *e);
	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_shentsize != sizeof *m->sections || e->e_shoff % 8)
		return false;
	m->sections = elfmap_part(m, e->e_shoff, e->e_shnum * sizeof *m->sections);
	return m->sections;
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
	if (find_sections(m))
		return true;
	elfmap_close(m);
	return false;
}

void elfmap_close(struct elfmap *m)
{
	if (m->file)
		munmap((void *)(uintptr_t)m->file, m->bytes);
	*m = (struct elfmap){0};
}

const void *elfmap_section(const struct elfmap *m, unsigned i, uint32_t type, uint64_t *bytes)
{
	if (i >= m->head->e_shnum || m->sections[i].sh_type != type || m->sections[i].sh_offset % 8)
		return NULL;
	*bytes = m->sections[i].sh_size;
	return elfmap_part(m, m->sections[i].sh_offset, *bytes);
}

/* Section `i`, if it is in the file and ends with a NUL, as texts do; else NULL. */
static const char *strings_of(const struct elfmap *m, unsigned i, uint64_t *bytes)
{
	if (i >= m->head->e_shnum)
		return NULL;
	*bytes = m->sections[i].sh_size;
	const char *text = elfmap_part(m, m->sections[i].sh_offset, *bytes);
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
	t->strings = strings_of(m, m->sections[i].sh_link, &t->bytes);
	return t->strings;
}

/* The build-id among the `left` bytes of notes at `p`. */
static const uint8_t *find_id(const uint8_t *p, uint64_t left, size_t *bytes)
{
	enum { ALIGN = 3 };
	Elf64_Nhdr h;
	while (left >= sizeof h) {
		memcpy(&h, p, sizeof h);
		uint64_t name = sizeof h + (((uint64_t)h.n_namesz + ALIGN) & ~(uint64_t)ALIGN);
		uint64_t all = name + (((uint64_t)h.n_descsz + ALIGN) & ~(uint64_t)ALIGN);
		if (all > left)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof ELF_NOTE_GNU &&
		    !memcmp(p + sizeof h, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) {
			*bytes = h.n_descsz;
			return p + name;
		}
		p += all;
		left -= all;
	}
	return NULL;
}

const uint8_t *elfmap_build_id(const struct elfmap *m, size_t *bytes)
{
	const uint8_t *id = NULL;
	for (unsigned i = 0; i < m->head->e_shnum && !id; i++) {
		const Elf64_Shdr *s = &m->sections[i];
		const uint8_t *p =
			s->sh_type == SHT_NOTE ? elfmap_part(m, s->sh_offset, s->sh_size) : NULL;
		id = p ? find_id(p, s->sh_size, bytes) : NULL;
	}
	return id;
}
