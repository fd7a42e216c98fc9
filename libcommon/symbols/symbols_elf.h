/* SPDX-License-Identifier: MIT
 * An ELF file mapped for reading: sections, build-id, symbols. Part of the symbol module.
 *
 * Only 64-bit little-endian files are read. Every offset is checked against the file, so that a
 * hostile file has fewer sections or symbols, but causes no fault. Only a file that shrinks while
 * it is mapped cannot be handled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/elf_reader.h"

struct ms_elf_section {
	const char *name;       /* ".debug_info" also for ".zdebug_info" */
	uint64_t address, size; /* size: after decompression */
	uint64_t flags;
	uint32_t type, link;
	const uint8_t *raw; /* contents in the file, possibly compressed; NULL = none */
	uint64_t raw_size;
	enum { MS_ELF_PLAIN, MS_ELF_ZLIB, MS_ELF_ZSTD } packing; /* compression of `raw` */
	bool damaged;                                            /* the contents are incomplete */
	uint8_t *inflated; /* decompressed contents, once requested */
};

struct ms_elf_symbol {
	uint64_t address, size;
	const char *name;
};

struct ms_elf {
	char *path;
	const uint8_t *map;
	size_t size;
	uint64_t mtime_ns; /* modification time; 0 = not read from a file */
	struct ms_elf_section *sections;
	unsigned section_count;
	uint8_t build_id[MS_ELF_ID_MOST];
	size_t build_id_size;
	uint16_t machine;
	uint64_t entry; /* address of the first instruction */
	struct ms_elf_symbol
		*symbols; /* functions by address, one per address; NULL until ms_elf_symbol */
	size_t symbol_count;
	bool symbols_read, has_symbols; /* has_symbols: the file's own symbol tables have
					   functions */
	struct ms_elf *mini;            /* ELF file in .gnu_debugdata, once its symbols were read */
	bool mini_damaged;              /* .gnu_debugdata cannot be read */
	bool cut_short;                 /* the section headers are beyond the end of the file */
};

struct stat;
/* Watches files: `saw` is called for each path passed to ms_elf_open in this thread, with the
 * file's stat or NULL. `sure`: the result is repeatable, not caused by a lack of memory,
 * descriptors or permissions. */
struct ms_elf_watch {
	void (*saw)(void *arg, const char *path, const struct stat *st, bool sure);
	void *arg;
};
extern _Thread_local struct ms_elf_watch ms_elf_watch; /* saw NULL = no callback */

/* Opens the file at `path`. Returns NULL if it does not exist, is not 64-bit little-endian ELF, or
 * cannot be mapped. */
struct ms_elf *ms_elf_open(const char *path);
/* Opens the file `fd`, which stays open, as ms_elf_open does, but without calling ms_elf_watch;
 * `path` is its name in messages. */
struct ms_elf *ms_elf_held(int fd, const char *path);
/* Opens a copy of an ELF file in memory as ms_elf_open does; `path` is its name. */
struct ms_elf *ms_elf_copy(const char *path, const void *data, size_t size);
/* Opens a mapping as ms_elf_copy does, and takes ownership of it. */
struct ms_elf *ms_elf_take(const char *path, void *map, size_t size);
void ms_elf_close(struct ms_elf *e);

struct ms_elf_section *ms_elf_section(struct ms_elf *e, const char *name);
/* Returns the decompressed contents; NULL = there are none or they are damaged. Valid until the
 * file is closed. */
const uint8_t *ms_elf_data(struct ms_elf_section *s);

/* Returns the string at offset `at` of a string table; "" if it does not end inside the table, or
 * if `table` is NULL. */
const char *ms_elf_string(const uint8_t *table, uint64_t size, uint64_t at);

/* Tells whether the build-ids are equal; false if either is missing. */
bool ms_elf_is(const struct ms_elf *e, const void *build_id, size_t size);
/* Tells whether there is a .debug_info, even a damaged one; false for NULL. */
bool ms_elf_has_dwarf(struct ms_elf *e);

/* Returns the function symbol that covers `address`, or NULL. Among several at one address, global
 * symbols are preferred to weak and local ones, then short names. */
const struct ms_elf_symbol *ms_elf_symbol(struct ms_elf *e, uint64_t address);
/* Returns the number of function symbols, including the program's entry. */
size_t ms_elf_symbols(struct ms_elf *e);
/* Tells whether the file's own symbol tables have functions. An entry point that was added does not
 * count. */
bool ms_elf_has_symbols(struct ms_elf *e);
