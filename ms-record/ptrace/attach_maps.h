/* SPDX-License-Identifier: MIT
 * Mappings of another process, and free address space near an address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;

struct attach_map {
	uint64_t start, end, offset, inode;
	bool read, write, exec, shared;
	char *path; /* "" = none */
};
struct attach_maps {
	struct attach_map *v; /* ordered by address */
	size_t n, cap;
};

/* Reads /proc/PID/maps. `proc`: folder /proc/PID. Returns 0, or -1 with `err` set. */
int attach_maps_read(struct attach_maps *m, int proc, struct ms_err *err);
void attach_maps_free(struct attach_maps *m);
/* Returns the mapping that holds the address, or NULL. */
const struct attach_map *attach_maps_at(const struct attach_maps *m, uint64_t address);
/* Returns the `nth` nearest free address for `bytes` (a power of two, and the alignment) from which
 * a 32-bit displacement reaches every byte of [low, high); 0 = none. */
uint64_t attach_maps_room(const struct attach_maps *m, uint64_t low, uint64_t high, uint64_t bytes,
			  unsigned nth);
