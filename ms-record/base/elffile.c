/* SPDX-License-Identifier: MIT
 * The few facts of an ELF file that recording needs.
 */
#include "elffile.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADERS_MAX 64u
#define NOTES_MAX 4096u

static bool read_at(const struct elffile_source *src, uint64_t offset, void *out, size_t n)
{
	if (src->fd >= 0)
		return pread(src->fd, out, n, (off_t)offset) == (ssize_t)n;
	struct iovec to = {out, n}, from = {(void *)(uintptr_t)(src->base + offset), n};
	return process_vm_readv(src->pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

static void read_notes(const struct elffile_source *src, uint64_t offset, uint64_t bytes,
		       struct elffile *f)
{
	uint8_t notes[NOTES_MAX];
	size_t n = bytes < sizeof notes ? (size_t)bytes : sizeof notes;
	if (!read_at(src, offset, notes, n))
		return;
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= n;) {
		Elf64_Nhdr h;
		memcpy(&h, notes + at, sizeof h);
		at += sizeof h;
		if (h.n_namesz > n || h.n_descsz > n)
			return;
		size_t name = at, desc = at + ((h.n_namesz + 3u) & ~3u);
		at = desc + ((h.n_descsz + 3u) & ~3u);
		if (at > n)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && h.n_descsz <= sizeof f->build_id) {
			memcpy(f->build_id, notes + desc, h.n_descsz);
			f->build_id_size = h.n_descsz;
			return;
		}
	}
}

static void read_header(const struct elffile_source *src, const Elf64_Phdr *p, struct elffile *f)
{
	if (p->p_type == PT_NOTE && !f->build_id_size) {
		read_notes(src, p->p_offset, p->p_filesz, f);
	} else if (p->p_type == PT_INTERP) {
		size_t n =
			p->p_filesz < sizeof f->interp ? (size_t)p->p_filesz : sizeof f->interp - 1;
		if (!read_at(src, p->p_offset, f->interp, n) || !n)
			strcpy(f->interp, "?");
		f->interp[n] = '\0';
	} else if (p->p_type == PT_GNU_EH_FRAME) {
		f->eh_frame_hdr = p->p_vaddr;
		f->eh_frame_hdr_bytes = p->p_memsz;
	} else if (p->p_type == PT_LOAD && f->load_count < ELFFILE_LOADS) {
		f->loads[f->load_count].offset = p->p_offset;
		f->loads[f->load_count].address = p->p_vaddr;
		f->loads[f->load_count++].bytes = p->p_filesz;
	}
}

bool elffile_read(const struct elffile_source *src, struct elffile *f)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	memset(f, 0, sizeof *f);
	if (!read_at(src, 0, &e, sizeof(Elf32_Ehdr)) || memcmp(e.e_ident, ELFMAG, SELFMAG))
		return false;
	f->machine = e.e_machine;
	f->type = e.e_type;
	f->bits = e.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	if (f->bits == 32 || !read_at(src, 0, &e, sizeof e) || e.e_phentsize != sizeof p)
		return true;
	for (unsigned i = 0; i < e.e_phnum && i < HEADERS_MAX; i++)
		if (read_at(src, e.e_phoff + i * sizeof p, &p, sizeof p))
			read_header(src, &p, f);
	return true;
}

static bool table_defines(const struct elffile_source *src, const Elf64_Shdr *symbols,
			  const Elf64_Shdr *strings, const char *name)
{
	size_t want = strlen(name) + 1;
	char text[64];
	if (symbols->sh_entsize != sizeof(Elf64_Sym) || want > sizeof text)
		return false;
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym y;
		if (!read_at(src, symbols->sh_offset + at, &y, sizeof y))
			return false;
		if (ELF64_ST_TYPE(y.st_info) != STT_FUNC || y.st_shndx == SHN_UNDEF)
			continue;
		if (read_at(src, strings->sh_offset + y.st_name, text, want) &&
		    !memcmp(text, name, want))
			return true;
	}
	return false;
}

bool elffile_defines(int fd, const char *name)
{
	struct elffile_source src = {fd, 0, 0};
	Elf64_Ehdr e;
	Elf64_Shdr y, t;
	if (!read_at(&src, 0, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_shentsize != sizeof y)
		return false;
	for (unsigned i = 0; i < e.e_shnum; i++)
		if (read_at(&src, e.e_shoff + i * sizeof y, &y, sizeof y) &&
		    (y.sh_type == SHT_DYNSYM || y.sh_type == SHT_SYMTAB) && y.sh_link < e.e_shnum &&
		    read_at(&src, e.e_shoff + y.sh_link * sizeof t, &t, sizeof t) &&
		    table_defines(&src, &y, &t, name))
			return true;
	return false;
}

/* ---- its allocator ---- */

/* `bytes` at an offset of a file that is mapped, or NULL. */
static const void *part(const uint8_t *file, uint64_t all, uint64_t offset, uint64_t bytes)
{
	return offset <= all && bytes <= all - offset ? file + offset : NULL;
}

static void take_symbols(struct elffile_malloc *m, const Elf64_Shdr *table, const Elf64_Sym *y,
			 const char *names, uint64_t bytes)
{
	bool malloc_there = false, free_there = false;
	for (uint64_t i = 0; i < table->sh_size / sizeof *y; i++) {
		unsigned type = ELF64_ST_TYPE(y[i].st_info);
		bool here = y[i].st_shndx != SHN_UNDEF;
		if (y[i].st_name >= bytes || (type != STT_FUNC && type != STT_NOTYPE))
			continue;
		const char *name = names + y[i].st_name;
		malloc_there |= here && !strcmp(name, "malloc");
		free_there |= here && !strcmp(name, "free");
		m->wanted |= !here && !strcmp(name, "malloc");
		m->checked |=
			here && (!strcmp(name, "__asan_init") || !strcmp(name, "__tsan_init") ||
				 !strcmp(name, "__msan_init") || !strcmp(name, "__hwasan_init"));
	}
	m->malloc |= malloc_there;
	m->defined |= malloc_there && free_there;
	m->exported |= malloc_there && free_there && table->sh_type == SHT_DYNSYM;
	m->table |= table->sh_type == SHT_SYMTAB;
}

static bool take_tables(struct elffile_malloc *m, const uint8_t *file, uint64_t all)
{
	const Elf64_Ehdr *e = part(file, all, 0, sizeof *e);
	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shoff % 8)
		return false;
	const Elf64_Shdr *s = part(file, all, e->e_shoff, e->e_shnum * sizeof *s);
	for (unsigned i = 0; s && i < e->e_shnum; i++) {
		if ((s[i].sh_type != SHT_DYNSYM && s[i].sh_type != SHT_SYMTAB) ||
		    s[i].sh_link >= e->e_shnum || s[i].sh_offset % 8)
			continue;
		const Elf64_Shdr *t = &s[s[i].sh_link];
		const Elf64_Sym *y = part(file, all, s[i].sh_offset, s[i].sh_size);
		const char *names = part(file, all, t->sh_offset, t->sh_size);
		if (y && names && t->sh_size && !names[t->sh_size - 1])
			take_symbols(m, &s[i], y, names, t->sh_size);
	}
	return s != NULL;
}

bool elffile_malloc(int fd, struct elffile_malloc *m)
{
	struct stat st;
	*m = (struct elffile_malloc){0};
	if (fstat(fd, &st) || st.st_size <= 0)
		return false;
	void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return false;
	bool good = take_tables(m, file, (uint64_t)st.st_size);
	munmap(file, (size_t)st.st_size);
	return good;
}
