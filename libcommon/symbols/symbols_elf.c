/* SPDX-License-Identifier: MIT
 * Reads an ELF file's sections, build-id and symbols, and checks everything in it.
 */
#include "symbols_elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libdeflate.h>
#include <zstd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/io.h"
#include "libcommon/base/mapped_file.h"
#include "libcommon/base/order.h"
#include "libcommon/base/ready.h"
#include "symbols_machine.h"
#include "symbols_mini.h"

/* Largest compression ratio of zlib. A header that claims more is invalid, and would make us
 * allocate too much. */
enum { MAX_ZLIB_RATIO = 1032 };
/* Largest compression ratio of zstd, in which 4 bytes can stand for 128 KiB. */
enum { MAX_ZSTD_RATIO = 32768 };
/* ELFCOMPRESS_ZSTD, which older headers lack. */
enum { COMPRESS_ZSTD = 2 };
enum { USUAL_RATIO = 8 };
#define LARGE ((size_t)2 << 20) /* size of a large page */

static bool inside(const struct ms_elf *e, uint64_t offset, uint64_t size)
{
	return offset <= e->size && size <= e->size - offset;
}

const char *ms_elf_string(const uint8_t *table, uint64_t size, uint64_t at)
{
	if (!table || at >= size || !memchr(table + at, 0, size - at))
		return "";
	return (const char *)table + at;
}

static uint64_t big_endian_64(const uint8_t *p)
{
	uint64_t v = 0;
	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static void unusable(struct ms_elf_section *s)
{
	s->raw = NULL;
	s->damaged = true;
}

/* Reads the header of a compressed section and returns the header's size in bytes; 0 = it is
 * truncated, or of an unknown compression. */
static size_t compressed_header(struct ms_elf_section *s)
{
	Elf64_Chdr h;
	if (s->raw_size < sizeof h)
		return 0;
	memcpy(&h, s->raw, sizeof h);
	s->size = h.ch_size;
	s->packing = h.ch_type == ELFCOMPRESS_ZLIB ? MS_ELF_ZLIB : MS_ELF_ZSTD;
	return h.ch_type == ELFCOMPRESS_ZLIB || h.ch_type == COMPRESS_ZSTD ? sizeof h : 0;
}

static size_t old_compressed_header(struct ms_elf_section *s)
{
	enum { SIZE = 12 };
	if (s->raw_size < SIZE || memcmp(s->raw, "ZLIB", 4))
		return 0;
	s->size = big_endian_64(s->raw + 4);
	s->packing = MS_ELF_ZLIB;
	return SIZE;
}

/* Reads the uncompressed size of a compressed section, in the ELF or the old ".zdebug" format, and
 * moves `raw` to the compressed data. */
static void open_compressed(struct ms_elf_section *s)
{
	bool old = !(s->flags & SHF_COMPRESSED);
	if (!s->raw || (old && strncmp(s->name, ".zdebug_", 8) != 0))
		return;
	size_t header = old ? old_compressed_header(s) : compressed_header(s);
	s->raw += header;
	s->raw_size -= header;
	if (!header || (s->packing == MS_ELF_ZLIB && s->size / MAX_ZLIB_RATIO > s->raw_size))
		unusable(s);
}

/* Returns the name of a section, ".debug_x" for the old form ".zdebug_x" of a compressed
 * section. */
static const char *plain_name(struct ms_elf_section *s)
{
	if (strncmp(s->name, ".zdebug_", 8))
		return s->name;
	static const char *const names[] = {".debug_info",       ".debug_abbrev", ".debug_line",
					    ".debug_str",        ".debug_ranges", ".debug_aranges",
					    ".debug_line_str",   ".debug_addr",   ".debug_rnglists",
					    ".debug_str_offsets"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i] + 1, s->name + 2))
			return names[i];
	return s->name;
}

static void read_sections(struct ms_elf *e, struct ms_elf_reader *r)
{
	bool whole = ms_elf_read_sections(r) && r->names;
	e->cut_short = r->head.e_shoff && !whole;
	if (!whole)
		return;
	uint64_t names_size = r->names->sh_size;
	const uint8_t *names = names_size ? e->map + r->names->sh_offset : NULL;
	e->sections = ms_xrealloc(NULL, r->section_count, sizeof *e->sections);
	for (size_t i = 0; i < r->section_count; i++) {
		const Elf64_Shdr *s = &r->sections[i];
		bool has = s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL,
		     here = has && inside(e, s->sh_offset, s->sh_size);
		e->sections[i] = (struct ms_elf_section){
			.name = ms_elf_string(names, names_size, s->sh_name),
			.address = s->sh_addr,
			.size = s->sh_size,
			.flags = s->sh_flags,
			.type = s->sh_type,
			.link = s->sh_link,
			.raw = here ? e->map + s->sh_offset : NULL,
			.raw_size = s->sh_size,
			.damaged = has && !here,
		};
		open_compressed(&e->sections[i]);
		e->sections[i].name = plain_name(&e->sections[i]);
	}
	e->section_count = (unsigned)r->section_count;
}

/* Reads an ELF file. Returns NULL with errno 0 if it is not a 64-bit little-endian ELF file. */
struct ms_elf *ms_elf_take(const char *path, void *map, size_t size)
{
	struct ms_elf_reader r;
	if (!ms_elf_read(&r, ms_elf_in_memory(map, size)) || !r.supported ||
	    r.head.e_ident[EI_DATA] != ELFDATA2LSB) {
		ms_mapped_file_free(map, size);
		errno = 0;
		return NULL;
	}
	struct ms_elf *e = ms_xrealloc(NULL, 1, sizeof *e);
	*e = (struct ms_elf){
		.map = map, .size = size, .machine = r.head.e_machine, .entry = r.head.e_entry};
	e->path = ms_xrealloc(NULL, strlen(path) + 1, 1);
	strcpy(e->path, path);
	read_sections(e, &r);
	e->build_id_size = ms_elf_build_id(&r, e->build_id);
	ms_elf_reader_free(&r);
	return e;
}

_Thread_local struct ms_elf_watch ms_elf_watch;

struct ms_elf *ms_elf_open(const char *path)
{
	struct ms_elf *e = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int why = errno, known = fd < 0 ? stat(path, &st) : fstat(fd, &st);
	errno = why;
	if (fd < 0 || known < 0)
		goto out;
	errno = 0;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		goto out;
	void *map = ms_mapped_file(fd, (size_t)st.st_size);
	if (map != MAP_FAILED)
		e = ms_elf_take(path, map, (size_t)st.st_size);
	if (e)
		e->mtime_ns = ms_ns_of(st.st_mtim);
out:;
	bool sure = e || !errno || errno == ENOENT || errno == ENOTDIR;
	if (ms_elf_watch.saw)
		ms_elf_watch.saw(ms_elf_watch.arg, path, known == 0 ? &st : NULL, sure);
	ms_close(fd);
	return e;
}

struct ms_elf *ms_elf_held(int fd, const char *path)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return NULL;
	void *map = ms_mapped_file(fd, (size_t)st.st_size);
	struct ms_elf *e = map == MAP_FAILED ? NULL : ms_elf_take(path, map, (size_t)st.st_size);
	if (e)
		e->mtime_ns = ms_ns_of(st.st_mtim);
	return e;
}

struct ms_elf *ms_elf_copy(const char *path, const void *data, size_t size)
{
	if (size < sizeof(Elf64_Ehdr))
		return NULL;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	memcpy(map, data, size);
	return ms_elf_take(path, map, size);
}

void ms_elf_close(struct ms_elf *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->section_count; i++)
		free(e->sections[i].inflated);
	ms_elf_close(e->mini);
	MS_FREE(e->sections, e->symbols, e->path);
	ms_mapped_file_free((void *)e->map, e->size);
	free(e);
}

struct ms_elf_section *ms_elf_section(struct ms_elf *e, const char *name)
{
	for (unsigned i = 0; i < e->section_count; i++)
		if (!strcmp(e->sections[i].name, name))
			return &e->sections[i];
	return NULL;
}

/* Decompresses exactly `size` bytes; a stream with fewer or more is damaged. */
static bool inflate_zlib(const struct ms_elf_section *s, uint8_t *out)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool good = d && libdeflate_zlib_decompress(d, s->raw, s->raw_size, out, s->size, NULL) ==
				 LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(d);
	return good;
}

static bool inflate_zstd(const struct ms_elf_section *s, uint8_t *out)
{
	return ZSTD_decompress(out, s->size, s->raw, s->raw_size) == s->size;
}

/* Tells whether the section's claimed size is possible; called before memory is allocated. */
static bool is_plausible(const struct ms_elf_section *s)
{
	return s->raw_size <= UINT32_MAX && s->size < UINT32_MAX &&
	       (s->packing == MS_ELF_ZLIB ||
		(s->size / MAX_ZSTD_RATIO <= s->raw_size &&
		 ZSTD_getFrameContentSize(s->raw, s->raw_size) == s->size));
}

/* Allocates memory, in large pages if there are any: page faults took a sixth of the decompression
 * time. Populates only the usual size of debug sections, as the file's claim may be false. */
static uint8_t *room_for(size_t size, size_t packed)
{
	size_t usual = packed * USUAL_RATIO;
	void *out = size < LARGE ? malloc(size) : NULL;
	if (size >= LARGE && posix_memalign(&out, LARGE, (size + LARGE - 1) & ~(LARGE - 1)) == 0)
		madvise(out, size, MADV_HUGEPAGE);
	if (out)
		ready_memory(out, size < usual ? size : usual);
	return out;
}

const uint8_t *ms_elf_data(struct ms_elf_section *s)
{
	if (!s || !s->raw || s->packing == MS_ELF_PLAIN || s->inflated)
		return !s ? NULL : s->inflated ? s->inflated : s->raw;
	uint8_t *out = NULL;
	if (is_plausible(s))
		out = room_for(s->size + 1, s->raw_size);
	if (out && (s->packing == MS_ELF_ZLIB ? inflate_zlib(s, out) : inflate_zstd(s, out))) {
		s->inflated = out;
		return out;
	}
	free(out);
	unusable(s);
	return NULL;
}

bool ms_elf_is(const struct ms_elf *e, const void *build_id, size_t size)
{
	return size && e->build_id_size == size && !memcmp(e->build_id, build_id, size);
}

bool ms_elf_has_dwarf(struct ms_elf *e)
{
	struct ms_elf_section *s = e ? ms_elf_section(e, ".debug_info") : NULL;
	return s && (s->damaged || (s->raw && s->size));
}

/* ---- symbols ---- */

struct candidate {
	struct ms_elf_symbol symbol;
	unsigned rank; /* the symbol of lowest rank at an address is kept */
};

struct candidates {
	struct candidate *v;
	size_t n, cap;
};

/* Ranks a symbol: global before weak before local, sized before unsized, fewer leading underscores,
 * then the shorter name. */
static unsigned rank_of(const Elf64_Sym *s, const char *name)
{
	static const unsigned char by_bind[] = {[STB_LOCAL] = 2, [STB_GLOBAL] = 0, [STB_WEAK] = 1};
	unsigned bind = ELF64_ST_BIND(s->st_info), underscores = (unsigned)strspn(name, "_");
	size_t length = strlen(name);
	unsigned r = ELF64_ST_TYPE(s->st_info) == STT_NOTYPE || !s->st_size;
	r = r << 2 | (bind < sizeof by_bind ? by_bind[bind] : 3);
	r = r << 3 | (underscores > 7 ? 7 : underscores);
	return r << 16 | (length > 0xffff ? 0xffff : (unsigned)length);
}

static bool is_function(const struct ms_elf *e, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	if (s->st_shndx == SHN_UNDEF || !s->st_value)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Labels of hand-written assembly have no type. */
	return type == STT_NOTYPE && s->st_shndx < e->section_count &&
	       (e->sections[s->st_shndx].flags & SHF_EXECINSTR);
}

static void read_table(struct ms_elf *e, struct ms_elf_section *s, struct candidates *c)
{
	const uint8_t *data = ms_elf_data(s);
	if (!data || s->link >= e->section_count)
		return;
	struct ms_elf_section *strings = &e->sections[s->link];
	const uint8_t *names = ms_elf_data(strings);
	for (uint64_t i = 0; i < s->size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym y;
		memcpy(&y, data + i * sizeof y, sizeof y);
		if (!is_function(e, &y))
			continue;
		const char *name = ms_elf_string(names, strings->size, y.st_name);
		if (!*name || *name == '$')
			continue;
		*MS_PUSH(c) = (struct candidate){{y.st_value, y.st_size, name}, rank_of(&y, name)};
	}
}

/* Adds the entry point as _start if its code looks like that of the C runtime. Stripped programs
 * have no symbol for it, and every stack of the first thread ends there. */
static void add_entry(struct ms_elf *e, struct candidates *c)
{
	const struct ms_machine *m = ms_machine_of(e->machine);
	for (unsigned i = 0; m && i < e->section_count; i++) {
		const struct ms_elf_section *s = &e->sections[i];
		uint64_t at = e->entry - s->address;
		if (!(s->flags & SHF_EXECINSTR) || !s->raw || s->packing != MS_ELF_PLAIN ||
		    at >= s->raw_size)
			continue;
		uint64_t bytes = m->start_bytes(s->raw + at, s->raw_size - at);
		if (bytes)
			*MS_PUSH(c) = (struct candidate){{e->entry, bytes, "_start"}, UINT_MAX};
	}
}

static int by_address_and_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return MS_ORDER(x->symbol.address, y->symbol.address) ?:
	       MS_ORDER(x->rank, y->rank) ?:
	       strcmp(x->symbol.name, y->symbol.name);
}

/* Reads the symbol tables. Returns false if there is no full symbol table, only the dynamic
 * linker's. */
static bool read_tables(struct ms_elf *e, struct candidates *c)
{
	bool whole = false;
	for (unsigned i = 0; i < e->section_count; i++)
		if (e->sections[i].type == SHT_SYMTAB || e->sections[i].type == SHT_DYNSYM) {
			whole |= e->sections[i].type == SHT_SYMTAB && e->sections[i].raw;
			read_table(e, &e->sections[i], c);
		}
	return whole;
}

static void read_symbols(struct ms_elf *e)
{
	struct candidates c = {0};
	e->symbols_read = true;
	if (!read_tables(e, &c) && (e->mini = ms_elf_mini(e, &e->mini_damaged)))
		read_tables(e->mini, &c);
	e->has_symbols = c.n > 0;
	add_entry(e, &c);
	if (!c.n)
		return;
	qsort(c.v, c.n, sizeof *c.v, by_address_and_rank);
	e->symbols = ms_xrealloc(NULL, c.n, sizeof *e->symbols);
	for (size_t i = 0; i < c.n; i++)
		if (!i || c.v[i].symbol.address != c.v[i - 1].symbol.address)
			e->symbols[e->symbol_count++] = c.v[i].symbol;
	free(c.v);
}

size_t ms_elf_symbols(struct ms_elf *e)
{
	if (!e->symbols_read)
		read_symbols(e);
	return e->symbol_count;
}

bool ms_elf_has_symbols(struct ms_elf *e)
{
	ms_elf_symbols(e);
	return e->has_symbols;
}

/* Tells whether a symbol covers the address. One without a size extends to the next symbol or the
 * end of its section. */
static bool reaches(struct ms_elf *e, size_t i, uint64_t address)
{
	const struct ms_elf_symbol *y = &e->symbols[i];
	if (y->size)
		return address - y->address < y->size;
	if (i + 1 < e->symbol_count && address >= e->symbols[i + 1].address)
		return false;
	for (unsigned k = 0; k < e->section_count; k++) {
		const struct ms_elf_section *s = &e->sections[k];
		if ((s->flags & SHF_EXECINSTR) && y->address >= s->address &&
		    y->address - s->address < s->size)
			return address - s->address < s->size;
	}
	return false;
}

const struct ms_elf_symbol *ms_elf_symbol(struct ms_elf *e, uint64_t address)
{
	size_t n = ms_elf_symbols(e), low = MS_COUNT_UP_TO(e->symbols, n, address, address);
	/* A symbol inside another one (a local label, an alias of a part) hides it only within its
	 * own extent. */
	enum { LOOK_BACK = 16 };
	for (size_t back = 0; back < LOOK_BACK && back < low; back++)
		if (reaches(e, low - 1 - back, address))
			return &e->symbols[low - 1 - back];
	return NULL;
}
