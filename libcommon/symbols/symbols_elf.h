/* SPDX-License-Identifier: MIT
 * An ELF file mapped for reading: sections, build-id, symbols. Part of the symbol module.
 *
 * Only 64-bit little-endian files are read. Every offset is checked against the file, so that a
 * hostile file gives fewer sections or symbols, never a fault. A file that shrinks while it is
 * mapped is the one thing that cannot be caught.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/elf_reader.h"

struct ms_elf_section {
	const char *name;       /* ".debug_info" also for ".zdebug_info" */
	uint64_t address, size; /* size: of the contents once decompressed */
	uint64_t flags;
	uint32_t type, link;
	const uint8_t *raw; /* in the file; NULL when there are no contents there */
	uint64_t raw_size;
	enum { MS_ELF_PLAIN, MS_ELF_ZLIB, MS_ELF_ZSTD } packing; /* of `raw` */
	bool damaged;      /* it has contents, but not whole ones */
	uint8_t *inflated; /* contents of a compressed one, when they were asked for */
};

struct ms_elf_symbol {
	uint64_t address, size;
	const char *name;
};

struct ms_elf {
	char *path;
	const uint8_t *map;
	size_t size;
	uint64_t mtime_ns; /* 0 = it is no file */
	struct ms_elf_section *sections;
	unsigned section_count;
	uint8_t build_id[MS_ELF_ID_MOST];
	size_t build_id_size;
	uint16_t machine;
	uint64_t entry; /* address of the first instruction */
	struct ms_elf_symbol
		*symbols; /* functions by address, one per address; NULL until ms_elf_symbol */
	size_t symbol_count;
	bool symbols_read, has_symbols; /* the file's own tables have some */
	struct ms_elf *mini;            /* .gnu_debugdata, if its symbols were read */
	bool mini_damaged;              /* that cannot be read */
	bool cut_short;                 /* its table of sections is not in the file */
};

struct stat;
/* Told of each path that ms_elf_open is asked for in this thread, with what is there, or NULL.
 * `sure`: it would come to the same again, and was not for want of memory, descriptors or rights. */
struct ms_elf_watch {
	void (*saw)(void *arg, const char *path, const struct stat *st, bool sure);
	void *arg;
};
extern _Thread_local struct ms_elf_watch ms_elf_watch; /* saw NULL = nobody */

/* Opens the file at `path`. NULL when it is not there, not ELF of our kind, or cannot be mapped. */
struct ms_elf *ms_elf_open(const char *path);
/* Opens the file `fd`, which stays open, as ms_elf_open does; `path` is its name in messages, and no
 * cache is told of it. */
struct ms_elf *ms_elf_held(int fd, const char *path);
/* Opens an image that is in memory already, which is copied, as ms_elf_open does: `path` is what it
 * is called. */
struct ms_elf *ms_elf_copy(const char *path, const void *data, size_t size);
/* Opens a mapping as ms_elf_copy does, and takes it over. */
struct ms_elf *ms_elf_take(const char *path, void *map, size_t size);
void ms_elf_close(struct ms_elf *e);

struct ms_elf_section *ms_elf_section(struct ms_elf *e, const char *name);
/* Contents, decompressed; NULL when there are none or they are damaged. Valid until the file is
 * closed. */
const uint8_t *ms_elf_data(struct ms_elf_section *s);

/* A string of a table that ends inside it; "" for anything else, a table that is NULL too. */
const char *ms_elf_string(const uint8_t *table, uint64_t size, uint64_t at);

/* True when the build-ids are the same, false when either is missing. */
bool ms_elf_is(const struct ms_elf *e, const void *build_id, size_t size);
/* True when there is a .debug_info, be it a damaged one; false also of NULL. */
bool ms_elf_has_dwarf(struct ms_elf *e);

/* The function symbol that covers `address`, or NULL. Among several of one address the most public
 * and shortest name is kept. */
const struct ms_elf_symbol *ms_elf_symbol(struct ms_elf *e, uint64_t address);
/* Number of function symbols, that of the program's entry included. */
size_t ms_elf_symbols(struct ms_elf *e);
/* True when the file's own tables name functions. */
bool ms_elf_has_symbols(struct ms_elf *e);
