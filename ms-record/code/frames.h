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

#define FRAMES_BYTES_MOST (UINT64_C(256) << 20) /* of a section that is read */

/* A stretch of .eh_frame, as it lies in a process's memory. */
struct frames_section {
	const uint8_t *bytes;
	size_t n;
	uint64_t address; /* of the first byte */
};

/* The code that it may speak of, and what addresses are counted from; high - base < 2 GiB. */
struct frames_code {
	uint64_t low, high, base;
};

struct frames_table {
	uint64_t low, high;                       /* .eh_frame: all of it was read */
	MS_ARRAY(struct mg_frames_entry) entries; /* sorted, no start twice; malloc'ed */
};

/* Adds the functions of a section to t->entries and sorts them. What is not understood is left out.
 */
void frames_build(const struct frames_section *s, const struct frames_code *code,
		  struct frames_table *t);
/* Finds a run of entries in the bytes of a segment by what they look like: *at and *n, the longest
 * one. False = there is none. */
bool frames_guess(const struct frames_section *segment, const struct frames_code *code, size_t *at,
		  size_t *n);
/* Finds the table of the module whose ELF header is at the start of `map`, if it has none of its
 * own. `proc`: folder /proc/PID. False = it needs none, or none can be made; else t->entries is to
 * be freed. */
bool frames_find(const struct attach_memory *mem, int proc, const struct attach_map *map,
		 struct frames_table *t);
/* Finds the table of the module that starts at `start`, once its file is open (-1: it cannot be
 * had). Returns as frames_find does. */
bool frames_find_in(const struct attach_memory *mem, int fd, uint64_t start,
		    struct frames_table *t);
