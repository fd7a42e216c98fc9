/* SPDX-License-Identifier: MIT
 * The few facts of an ELF file that recording needs.
 */
#include "elffile.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "elfmap.h"

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

/* ---- its allocator ---- */

static void take_symbols(struct elffile_malloc *m, const struct elfmap_table *t, bool dynamic)
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
	m->exported |= malloc_there && free_there && dynamic;
	m->table |= !dynamic;
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
			take_symbols(m, &t, map.elf.sections[i].sh_type == SHT_DYNSYM);
	elfmap_close(&map);
	return true;
}
