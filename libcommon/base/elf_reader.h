/* SPDX-License-Identifier: MIT
 * Reads the headers and notes of an ELF file, wherever its bytes are: in a file, in memory, in
 * another process.
 *
 * 64-bit little-endian files of any machine are read. That they are little-endian follows from
 * e_machine: what e_ident says of it is not looked at, as Linux does not when it starts a program.
 * Nothing that a file says is trusted: each offset goes through the source, which has the byte or
 * not, and counts are bounded. A damaged file has fewer segments or sections, or none. Offsets and
 * sizes are in bytes.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_ELF_SEGMENTS 64u /* the first; programs have 15 */
#define MS_ELF_ID_MOST 64u  /* bytes; a longer build-id is none */

/* Says where an ELF file's bytes are. `read` copies all of the `n` bytes at `offset`, or returns
 * false; `to` may be written to all the same. */
struct ms_elf_source {
	bool (*read)(void *arg, uint64_t offset, void *to, size_t n);
	void *arg;
	uint64_t base; /* offset of the file's first byte */
};
/* Reads a file that is open; it is read, not mapped, so that whoever cuts it short harms nobody. The
 * descriptor is borrowed. -1: nothing is there. */
struct ms_elf_source ms_elf_in_file(int fd);
/* Reads `n` bytes of our own memory, which are borrowed. */
struct ms_elf_source ms_elf_in_memory(const void *at, size_t n);

struct ms_elf_reader {
	struct ms_elf_source from;
	Elf64_Ehdr head;
	bool supported; /* it is of 64 bits; else only e_ident, e_type and e_machine hold */
	Elf64_Phdr segments[MS_ELF_SEGMENTS];
	unsigned segment_count;
	Elf64_Shdr *sections; /* malloc'ed */
	size_t section_count;
	const Elf64_Shdr *names; /* the section of their names, all of it in the file; or NULL */
};

/* Reads the headers of the file and of its segments. False: it is no ELF file. Nothing need be freed
 * before sections are read. */
bool ms_elf_read(struct ms_elf_reader *r, struct ms_elf_source from);
/* Reads the headers of sections, too. False: it is not a file of our kind, or they are not in it.
 * True of a file that has none. */
bool ms_elf_read_sections(struct ms_elf_reader *r);
void ms_elf_reader_free(struct ms_elf_reader *r);

/* Copies bytes of the file; all, or false. */
bool ms_elf_get(const struct ms_elf_reader *r, uint64_t offset, void *to, uint64_t n);
/* Returns the first segment of that type, or NULL. */
const Elf64_Phdr *ms_elf_segment(const struct ms_elf_reader *r, uint32_t type);
/* Returns the segment with all of `flags` (PF_R, PF_X) that is loaded from the file at `address`, or
 * NULL. *into: bytes from its beginning. */
const Elf64_Phdr *ms_elf_loaded(const struct ms_elf_reader *r, uint32_t flags, uint64_t address,
				uint64_t *into);
/* Returns the address of the lowest page that is loaded. */
uint64_t ms_elf_low(const struct ms_elf_reader *r);
/* Returns the first section of that name, which is shorter than 32 characters; or NULL. */
const Elf64_Shdr *ms_elf_named(const struct ms_elf_reader *r, const char *name);
/* Copies the GNU build-id, by the notes of sections, if these are read, then of segments. Returns its
 * bytes; 0 = there is none. */
size_t ms_elf_build_id(const struct ms_elf_reader *r, uint8_t id[MS_ELF_ID_MOST]);
