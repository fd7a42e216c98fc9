/* SPDX-License-Identifier: MIT
 * Reads the headers and notes of an ELF file, from any source of bytes.
 */
#include "elf_reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"

#define PAGE UINT64_C(4096)
#define SECTIONS_MOST (UINT64_C(1) << 20)
#define NOTES_MOST UINT64_C(4096)

/* ---- where it is ---- */

static bool read_file(void *arg, uint64_t offset, void *to, size_t n)
{
	return pread((int)(intptr_t)arg, to, n, (off_t)offset) == (ssize_t)n;
}

struct ms_elf_source ms_elf_in_file(int fd)
{
	return (struct ms_elf_source){read_file, (void *)(intptr_t)fd, 0};
}

/* Copies from memory that ends at `arg`. */
static bool read_memory(void *arg, uint64_t address, void *to, size_t n)
{
	uint64_t end = (uintptr_t)arg;
	if (address > end || n > end - address)
		return false;
	memcpy(to, (const void *)(uintptr_t)address, n);
	return true;
}

struct ms_elf_source ms_elf_in_memory(const void *at, size_t n)
{
	uintptr_t start = (uintptr_t)at;
	return (struct ms_elf_source){read_memory, (void *)(start + n), start};
}

bool ms_elf_get(const struct ms_elf_reader *r, uint64_t offset, void *to, uint64_t n)
{
	uint64_t at;
	return !__builtin_add_overflow(r->from.base, offset, &at) &&
	       r->from.read(r->from.arg, at, to, n);
}

/* ---- headers ---- */

bool ms_elf_read(struct ms_elf_reader *r, struct ms_elf_source from)
{
	Elf64_Ehdr *e = &r->head;
	*r = (struct ms_elf_reader){.from = from};
	bool large = ms_elf_get(r, 0, e, sizeof *e);
	if ((!large && !ms_elf_get(r, 0, e, sizeof(Elf32_Ehdr))) ||
	    memcmp(e->e_ident, ELFMAG, SELFMAG))
		return false;
	r->supported = large && e->e_ident[EI_CLASS] == ELFCLASS64;
	unsigned n = e->e_phnum < MS_ELF_SEGMENTS ? e->e_phnum : MS_ELF_SEGMENTS;
	if (r->supported && e->e_phentsize == sizeof *r->segments &&
	    ms_elf_get(r, e->e_phoff, r->segments, n * sizeof *r->segments))
		r->segment_count = n;
	return true;
}

/* Tells whether a section lies within the file. */
static bool is_there(const struct ms_elf_reader *r, const Elf64_Shdr *s)
{
	uint64_t end, some = s->sh_size != 0;
	char last;
	return !__builtin_add_overflow(s->sh_offset, s->sh_size, &end) &&
	       ms_elf_get(r, end - some, &last, some);
}

bool ms_elf_read_sections(struct ms_elf_reader *r)
{
	const Elf64_Ehdr *e = &r->head;
	Elf64_Shdr first; /* section 0: counts that exceed the fields of the file header */
	if (!r->supported || !e->e_shoff)
		return r->supported;
	if (e->e_shentsize != sizeof first || !ms_elf_get(r, e->e_shoff, &first, sizeof first))
		return false;
	uint64_t n = e->e_shnum ? e->e_shnum : first.sh_size;
	uint64_t names = e->e_shstrndx == SHN_XINDEX ? first.sh_link : e->e_shstrndx;
	if (n > SECTIONS_MOST)
		return false;
	r->sections = ms_xcalloc(n + 1, sizeof first);
	if (!ms_elf_get(r, e->e_shoff, r->sections, n * sizeof first))
		return false;
	r->section_count = n;
	if (names < n && is_there(r, &r->sections[names]))
		r->names = &r->sections[names];
	return true;
}

void ms_elf_reader_free(struct ms_elf_reader *r)
{
	free(r->sections);
	r->sections = NULL;
	r->names = NULL;
	r->section_count = 0;
}

const Elf64_Phdr *ms_elf_segment(const struct ms_elf_reader *r, uint32_t type)
{
	for (unsigned i = 0; i < r->segment_count; i++)
		if (r->segments[i].p_type == type)
			return &r->segments[i];
	return NULL;
}

const Elf64_Phdr *ms_elf_loaded(const struct ms_elf_reader *r, uint32_t flags, uint64_t address,
				uint64_t *into)
{
	for (unsigned i = 0; i < r->segment_count; i++) {
		const Elf64_Phdr *p = &r->segments[i];
		*into = address - p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && *into < p->p_filesz)
			return p;
	}
	return NULL;
}

uint64_t ms_elf_low(const struct ms_elf_reader *r)
{
	uint64_t low = UINT64_MAX;
	for (unsigned i = 0; i < r->segment_count; i++)
		if (r->segments[i].p_type == PT_LOAD && r->segments[i].p_vaddr < low)
			low = r->segments[i].p_vaddr;
	return low & ~(PAGE - 1);
}

const Elf64_Shdr *ms_elf_named(const struct ms_elf_reader *r, const char *name)
{
	char text[32];
	size_t n = strlen(name) + 1;
	for (size_t i = 0; r->names && i < r->section_count; i++) {
		const Elf64_Shdr *s = &r->sections[i];
		if (s->sh_name < r->names->sh_size && n <= r->names->sh_size - s->sh_name &&
		    ms_elf_get(r, r->names->sh_offset + s->sh_name, text, n) &&
		    !memcmp(text, name, n))
			return s;
	}
	return NULL;
}

/* ---- notes ---- */

static uint64_t padded(uint32_t n)
{
	return ((uint64_t)n + 3) & ~UINT64_C(3);
}

static size_t find_id(const uint8_t *p, uint64_t left, uint8_t *id)
{
	Elf64_Nhdr h;
	while (left >= sizeof h) {
		memcpy(&h, p, sizeof h);
		uint64_t desc = sizeof h + padded(h.n_namesz), all = desc + padded(h.n_descsz);
		if (all > left)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof ELF_NOTE_GNU &&
		    !memcmp(p + sizeof h, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) &&
		    h.n_descsz <= MS_ELF_ID_MOST) {
			memcpy(id, p + desc, h.n_descsz);
			return h.n_descsz;
		}
		p += all;
		left -= all;
	}
	return 0;
}

static size_t id_in(const struct ms_elf_reader *r, uint64_t offset, uint64_t bytes, uint8_t *id)
{
	uint8_t notes[NOTES_MOST];
	uint64_t n = bytes < NOTES_MOST ? bytes : NOTES_MOST;
	return ms_elf_get(r, offset, notes, n) ? find_id(notes, n, id) : 0;
}

size_t ms_elf_build_id(const struct ms_elf_reader *r, uint8_t id[MS_ELF_ID_MOST])
{
	size_t found = 0;
	for (size_t i = 0; i < r->section_count && !found; i++) {
		const Elf64_Shdr *s = &r->sections[i];
		if (s->sh_type == SHT_NOTE && !(s->sh_flags & SHF_COMPRESSED))
			found = id_in(r, s->sh_offset, s->sh_size, id);
	}
	for (unsigned i = 0; i < r->segment_count && !found; i++) {
		const Elf64_Phdr *p = &r->segments[i];
		if (p->p_type == PT_NOTE)
			found = id_in(r, p->p_offset, p->p_filesz, id);
	}
	return found;
}
