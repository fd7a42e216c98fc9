/* SPDX-License-Identifier: MIT
 * Modules of another process, read from its memory.
 *
 * The memory is not trusted: counts and sizes are bounded, and every offset is checked before use.
 */
#include "attach_elf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hijack.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/elfmap.h"
#include "ms-record/base/process.h"

#define SYMBOLS_MOST (1u << 22)
#define STRINGS_MOST (UINT64_C(256) << 20)
#define DYNAMIC_MOST 512u

static bool read_hijacked(void *arg, uint64_t address, void *to, size_t bytes)
{
	return !hijack_read(arg, address, to, bytes);
}

struct attach_memory attach_memory_of(struct hijack *h)
{
	return (struct attach_memory){read_hijacked, h};
}

static bool read_process(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct process *p = arg;
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
	return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

struct attach_memory attach_memory_of_process(const struct process *p)
{
	return p->memory ? *p->memory : (struct attach_memory){read_process, (void *)(uintptr_t)p};
}

static bool get(const struct attach_memory *mem, uint64_t address, void *to, size_t bytes)
{
	return mem->read(mem->arg, address, to, bytes);
}

/* ---- where ---- */

static void take_segment(struct attach_module *m, const Elf64_Phdr *p)
{
	uint64_t low = m->bias + p->p_vaddr, high = low + p->p_memsz;
	bool readable = p->p_flags & PF_R;
	if (high < low || p->p_filesz > p->p_memsz)
		return; /* segment that the loader would refuse */
	m->start = (low & ~UINT64_C(4095)) < m->start ? low & ~UINT64_C(4095) : m->start;
	m->end = high > m->end ? (high + 4095) & ~UINT64_C(4095) : m->end;
	if (readable && m->eh_frame_hdr - low < p->p_filesz) {
		m->low = low;
		m->high = low + p->p_filesz;
	}
	if (readable && p->p_flags & PF_X && p->p_filesz > m->code_high - m->code_low) {
		m->code_low = low;
		m->code_high = low + p->p_filesz;
	}
}

/* Tells whether all of the range is mapped and readable. */
static bool is_mapped(const struct attach_maps *maps, uint64_t low, uint64_t high)
{
	while (low < high) {
		const struct attach_map *p = attach_maps_at(maps, low);
		if (!p || !p->read)
			return false;
		low = p->end;
	}
	return true;
}

bool attach_elf_module(const struct attach_memory *mem, const struct attach_maps *maps,
		       const struct attach_map *at, struct attach_module *m)
{
	struct ms_elf_reader r;
	if (at->offset || !at->read || !ms_elf_read(&r, attach_elf_at(mem, at->start)) ||
	    r.head.e_phnum > MS_ELF_SEGMENTS)
		return false;
	*m = (struct attach_module){.map = at, .start = UINT64_MAX};
	m->bias = at->start - ms_elf_low(&r);
	const Elf64_Phdr *p = ms_elf_segment(&r, PT_GNU_EH_FRAME);
	if (p) {
		m->eh_frame_hdr = m->bias + p->p_vaddr;
		m->eh_frame_hdr_bytes = p->p_memsz;
	}
	p = ms_elf_segment(&r, PT_DYNAMIC);
	if (p) {
		m->dynamic = m->bias + p->p_vaddr;
		m->dynamic_bytes = p->p_memsz;
	}
	m->interpreter = ms_elf_segment(&r, PT_INTERP);
	for (unsigned i = 0; i < r.segment_count; i++)
		if (r.segments[i].p_type == PT_LOAD)
			take_segment(m, &r.segments[i]);
	if (!m->low || !is_mapped(maps, m->low, m->high))
		m->eh_frame_hdr = m->low = m->high = 0;
	/* A file mapped only as data has no executable mapping at its code's address. */
	const struct attach_map *code = attach_maps_at(maps, m->code_low);
	return m->start < m->end && code && code->exec && code->inode == at->inode &&
	       is_mapped(maps, m->code_low, m->code_high);
}

/* ---- symbols ---- */

static void search(const struct elfmap_table *t, uint64_t bias, struct attach_symbol *wanted,
		   size_t n)
{
	for (size_t i = 0; i < t->count; i++) {
		const Elf64_Sym *s = &t->symbols[i];
		unsigned type = ELF64_ST_TYPE(s->st_info);
		if (s->st_shndx == SHN_UNDEF || !s->st_value || s->st_name >= t->bytes ||
		    (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE))
			continue;
		const char *name = t->strings + s->st_name;
		for (size_t k = 0; k < n; k++)
			if (!wanted[k].address && !strcmp(name, wanted[k].name)) {
				wanted[k].address = bias + s->st_value;
				wanted[k].bytes = s->st_size;
			}
	}
}

struct dynamic {
	uint64_t symbols, strings, bytes, hash, gnu_hash;
};

/* Returns the number of symbols in the GNU hash table: the end of its last chain; 0 = not
 * readable. */
static uint64_t gnu_count(const struct attach_memory *mem, uint64_t at)
{
	uint32_t h[4], last = 0, chain;
	if (!get(mem, at, h, sizeof h) || h[0] > SYMBOLS_MOST || h[2] > SYMBOLS_MOST)
		return 0;
	uint64_t buckets = at + sizeof h + UINT64_C(8) * h[2];
	uint32_t *b = ms_xcalloc(h[0] + 1, sizeof *b);
	bool good = get(mem, buckets, b, h[0] * sizeof *b);
	for (uint32_t i = 0; good && i < h[0]; i++)
		last = b[i] > last ? b[i] : last;
	free(b);
	if (!good || last < h[1])
		return 0;
	uint64_t chains = buckets + UINT64_C(4) * h[0];
	do
		if (!get(mem, chains + UINT64_C(4) * (last - h[1]), &chain, sizeof chain))
			return 0;
	while (last++ < SYMBOLS_MOST && !(chain & 1));
	return last;
}

static uint64_t count_of(const struct attach_memory *mem, const struct dynamic *d)
{
	uint32_t h[2];
	if (d->hash && get(mem, d->hash, h, sizeof h))
		return h[1];
	return d->gnu_hash ? gnu_count(mem, d->gnu_hash) : 0;
}

/* Returns the absolute address for a value of the dynamic section, which most dynamic linkers,
 * but not all, have relocated in place. */
static uint64_t absolute(const struct attach_module *m, uint64_t v)
{
	return v < m->start ? v + m->bias : v;
}

static bool read_dynamic(const struct attach_memory *mem, const struct attach_module *m,
			 struct dynamic *d)
{
	Elf64_Dyn e[DYNAMIC_MOST];
	size_t n = m->dynamic_bytes / sizeof *e;
	if (!m->dynamic || !n)
		return false;
	if (n > DYNAMIC_MOST)
		n = DYNAMIC_MOST;
	if (!get(mem, m->dynamic, e, n * sizeof *e))
		return false;
	*d = (struct dynamic){0};
	for (size_t i = 0; i < n && e[i].d_tag != DT_NULL; i++) {
		uint64_t v = e[i].d_un.d_val;
		if (e[i].d_tag == DT_SYMTAB)
			d->symbols = absolute(m, v);
		else if (e[i].d_tag == DT_STRTAB)
			d->strings = absolute(m, v);
		else if (e[i].d_tag == DT_STRSZ)
			d->bytes = v;
		else if (e[i].d_tag == DT_HASH)
			d->hash = absolute(m, v);
		else if (e[i].d_tag == DT_GNU_HASH)
			d->gnu_hash = absolute(m, v);
	}
	return d->symbols && d->strings && d->bytes && d->bytes < STRINGS_MOST;
}

void attach_elf_dynamic(const struct attach_memory *mem, const struct attach_module *m,
			struct attach_symbol *wanted, size_t n)
{
	struct dynamic d;
	if (!read_dynamic(mem, m, &d))
		return;
	uint64_t count = count_of(mem, &d);
	if (!count || count > SYMBOLS_MOST)
		return;
	Elf64_Sym *symbols = ms_xcalloc(count, sizeof *symbols);
	char *strings = ms_xcalloc(d.bytes + 1, 1);
	struct elfmap_table t = {symbols, count, strings, d.bytes, true};
	if (get(mem, d.symbols, symbols, count * sizeof *symbols) &&
	    get(mem, d.strings, strings, d.bytes))
		search(&t, m->bias, wanted, n);
	MS_FREE(symbols, strings);
}

/* ---- the file ---- */

int attach_elf_open(int proc, const struct attach_map *map)
{
	char path[4200];
	struct stat st;
	snprintf(path, sizeof path, "map_files/%llx-%llx", (unsigned long long)map->start,
		 (unsigned long long)map->end);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || map->path[0] != '/')
		return fd;
	snprintf(path, sizeof path, "root%s", map->path);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != map->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool attach_elf_file(int proc, const struct attach_module *m, struct attach_symbol *wanted,
		     size_t n)
{
	struct elfmap map;
	struct elfmap_table t;
	bool found = false;
	int fd = attach_elf_open(proc, m->map);
	if (elfmap_open(&map, fd)) {
		for (unsigned i = 0; i < map.elf.section_count && !found; i++)
			found = elfmap_table(&map, i, &t) && !t.dynamic;
		if (found)
			search(&t, m->bias, wanted, n);
		elfmap_close(&map);
	}
	descriptor_close(fd);
	return found;
}
