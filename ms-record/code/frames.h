/* SPDX-License-Identifier: MIT
 * Modules without .eh_frame_hdr (static programs, --no-eh-frame-hdr): where .eh_frame is, and the
 * sorted table that the header would have had.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "ms-record/guest/layout.h"

struct attach_map;
struct attach_memory;

#define FRAMES_BYTES_MOST (UINT64_C(256) << 20) /* largest section that is read */

/* Describes a part of .eh_frame in a process's memory. */
struct frames_section {
	const uint8_t *bytes;
	size_t n;
	uint64_t address; /* address of the first byte */
};

/* Describes the range of addresses that functions may have, and the address to which offsets in
 * tables are relative; high - base < 2 GiB. */
struct frames_code {
	uint64_t low, high, base;
};

struct frames_table {
	uint64_t low, high;                       /* address range of the .eh_frame data read */
	MS_ARRAY(struct mg_frames_entry) entries; /* sorted, without duplicates; malloc'ed */
};

/* Adds the functions of a section to t->entries and sorts them. Unknown entries are skipped. */
void frames_build(const struct frames_section *s, const struct frames_code *code,
		  struct frames_table *t);
/* Searches the bytes of a segment for the longest sequence that looks like entries of .eh_frame:
 * `*n` bytes at offset `*at`. Returns false if there is none. */
bool frames_guess(const struct frames_section *segment, const struct frames_code *code, size_t *at,
		  size_t *n);
/* Builds an unwind table for the module whose ELF header is at the start of `map`, if the module
 * has no .eh_frame_hdr. `proc`: folder /proc/PID. Returns false if no table is needed or can be
 * built; else the caller frees t->entries. */
bool frames_find(const struct attach_memory *mem, int proc, const struct attach_map *map,
		 struct frames_table *t);
/* Builds an unwind table as frames_find does, for the module that starts at `start`, from its open
 * file `fd` (-1 = not available). */
bool frames_find_in(const struct attach_memory *mem, int fd, uint64_t start,
		    struct frames_table *t);
