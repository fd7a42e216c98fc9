/* SPDX-License-Identifier: MIT
 * Modules of another process, read from its memory: their addresses and symbols.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach_maps.h"
#include "libcommon/base/elf_reader.h"

struct hijack;
struct process;

struct attach_module {
	const struct attach_map *map; /* the module's first mapping, borrowed */
	uint64_t start, end, bias;
	uint64_t low, high; /* the readable segment that holds .eh_frame_hdr */
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes;
	uint64_t code_low, code_high; /* the largest readable segment of code */
	uint64_t dynamic, dynamic_bytes;
	bool interpreter; /* the module has a PT_INTERP segment */
};

struct attach_symbol {
	const char *name; /* name to look for */
	uint64_t address; /* 0 = not found */
	uint64_t bytes;
};

/* Reads another process's memory. `read` reads all `bytes` or returns false. */
struct attach_memory {
	bool (*read)(void *arg, uint64_t address, void *to, size_t bytes);
	void *arg;
};
/* Returns a reader for the memory of a hijacked process, by its descriptor `mem`. */
struct attach_memory attach_memory_of(struct hijack *h);
/* Returns a reader for the memory of a running process; less than 2 GiB per read. `p`: borrowed. */
struct attach_memory attach_memory_of_process(const struct process *p);
/* Returns the source of an ELF file whose first page is mapped at `start`. */
static inline struct ms_elf_source attach_elf_at(const struct attach_memory *mem, uint64_t start)
{
	return (struct ms_elf_source){mem->read, mem->arg, start};
}

/* Describes the module whose ELF header begins the mapping `at`. Returns false if there is none or
 * it is not loaded there. */
bool attach_elf_module(const struct attach_memory *mem, const struct attach_maps *maps,
		       const struct attach_map *at, struct attach_module *m);
/* Looks up functions (and objects) in the dynamic symbols in memory. Sets address and size of those
 * found. */
void attach_elf_dynamic(const struct attach_memory *mem, const struct attach_module *m,
			struct attach_symbol *wanted, size_t n);
/* Opens the mapped file itself if permitted, else the file now at its path if that has the same
 * inode number. Returns -1 if neither works. `proc`: folder /proc/PID. */
int attach_elf_open(int proc, const struct attach_map *map);
/* Looks up functions (and objects) without an address yet in the symbol table of the module's file.
 * `proc`: folder /proc/PID. Returns false if the file has none or cannot be read. */
bool attach_elf_file(int proc, const struct attach_module *m, struct attach_symbol *wanted,
		     size_t n);
