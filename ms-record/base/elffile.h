/* SPDX-License-Identifier: MIT
 * The few facts of an ELF file that recording needs, read with bounds on everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELFFILE_LOADS 16u

struct elffile {
	int bits; /* 64, 32 */
	uint16_t machine, type;
	char interp[256]; /* "" = none */
	uint8_t build_id[64];
	size_t build_id_size;
	struct {
		uint64_t offset, address, bytes;
	} loads[ELFFILE_LOADS];
	size_t load_count;
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes; /* address in the file, 0 = none */
};

/* Where the bytes come from: a file, or a process's memory at `base`. */
struct elffile_source {
	int fd;
	pid_t pid;
	uint64_t base;
};

/* False when it is no ELF file. Fields that cannot be read stay empty. */
bool elffile_read(const struct elffile_source *src, struct elffile *f);

/* What a file's symbols say of malloc and free. */
struct elffile_malloc {
	bool table;    /* it has a table of all symbols, not only of those for the linker */
	bool malloc;   /* that is defined in it; a program may never call free */
	bool defined;  /* both are defined in it, */
	bool exported; /* and the linker sees them */
	bool wanted;   /* it takes malloc from elsewhere */
	bool checked;  /* its allocator is a sanitizer's */
};
/* False when there is nothing to be read. */
bool elffile_malloc(int fd, struct elffile_malloc *m);
