/* SPDX-License-Identifier: MIT
 * Reads the headers and notes of an ELF file, from any source of bytes: a file, memory, another
 * process.
 *
 * 64-bit little-endian files of any machine are read. The byte order follows from e_machine; the
 * one in e_ident is ignored, as Linux does when it starts a program. Nothing in a file is trusted:
 * the source checks each offset, and counts are bounded. A damaged file has fewer segments or
 * sections, or none. Offsets and sizes are in bytes.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_ELF_SEGMENTS 64u /* most segments that are read; programs have about 15 */
#define MS_ELF_ID_MOST 64u  /* bytes; longer build-ids are ignored */

/* Describes where the bytes of an ELF file come from. `read` copies all of the `n` bytes at
 * `offset`, or returns false, and may have written to `to` even then. */
struct ms_elf_source {
	bool (*read)(void *arg, uint64_t offset, void *to, size_t n);
	void *arg;
	uint64_t base; /* offset of the file's first byte */
};
/* Returns a source that reads an open file with pread: a mapping would fault if the file were
 * truncated. The descriptor is borrowed; -1 = an empty source. */
struct ms_elf_source ms_elf_in_file(int fd);
/* Returns a source that reads `n` bytes of our own memory, which are borrowed. */
struct ms_elf_source ms_elf_in_memory(const void *at, size_t n);

struct ms_elf_reader {
	struct ms_elf_source from;
	Elf64_Ehdr head;
	bool supported; /* the file is 64-bit; else only e_ident, e_type and e_machine are valid */
	Elf64_Phdr segments[MS_ELF_SEGMENTS];
	unsigned segment_count;
	Elf64_Shdr *sections; /* section headers, in memory from malloc */
	size_t section_count;
	const Elf64_Shdr *names; /* section name table, wholly inside the file; or NULL */
};

/* Reads the headers of the file and of its segments. False = not an ELF file. Allocates nothing. */
bool ms_elf_read(struct ms_elf_reader *r, struct ms_elf_source from);
/* Reads the section headers too. Returns false if the file is not 64-bit, or its section headers
 * lie outside the file. Returns true if the file has no sections. */
bool ms_elf_read_sections(struct ms_elf_reader *r);
void ms_elf_reader_free(struct ms_elf_reader *r);

/* Copies `n` bytes of the file. False = not all of them are there. */
bool ms_elf_get(const struct ms_elf_reader *r, uint64_t offset, void *to, uint64_t n);
/* Returns the first segment of that type, or NULL. */
const Elf64_Phdr *ms_elf_segment(const struct ms_elf_reader *r, uint32_t type);
/* Returns the loaded segment with all of `flags` (PF_R, PF_X) whose file bytes include `address`,
 * or NULL. *into: offset of `address` in it, in bytes. */
const Elf64_Phdr *ms_elf_loaded(const struct ms_elf_reader *r, uint32_t flags, uint64_t address,
				uint64_t *into);
/* Returns the address of the lowest loaded page. */
uint64_t ms_elf_low(const struct ms_elf_reader *r);
/* Returns the first section with that name (shorter than 32 characters), or NULL. */
const Elf64_Shdr *ms_elf_named(const struct ms_elf_reader *r, const char *name);
/* Copies the GNU build-id from the notes in sections, if they were read, else in segments. Returns
 * its length in bytes; 0 = there is none. */
size_t ms_elf_build_id(const struct ms_elf_reader *r, uint8_t id[MS_ELF_ID_MOST]);
