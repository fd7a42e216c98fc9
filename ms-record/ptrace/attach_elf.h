/* SPDX-License-Identifier: MIT
 * Modules of another process, as they lie in its memory: where they are, what they define.
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
	const struct attach_map *map; /* its first mapping */
	uint64_t start, end, bias;
	uint64_t low, high; /* the readable segment that holds .eh_frame_hdr */
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes;
	uint64_t code_low, code_high; /* the largest readable segment of code */
	uint64_t dynamic, dynamic_bytes;
	bool interpreter; /* it names one */
};

struct attach_symbol {
	const char *name; /* wanted */
	uint64_t address; /* 0 = not found */
	uint64_t bytes;
};

/* How another process's memory is read: all `bytes`, or false. */
struct attach_memory {
	bool (*read)(void *arg, uint64_t address, void *to, size_t bytes);
	void *arg;
};
/* Returns how to read the memory of a hijacked process, by its descriptor. */
struct attach_memory attach_memory_of(struct hijack *h);
/* Returns how to read the memory of a process that runs: less than 2 GiB at a time. `p`:
 * borrowed. */
struct attach_memory attach_memory_of_process(const struct process *p);
/* Returns the source of an ELF file whose first page is mapped at `start`. */
static inline struct ms_elf_source attach_elf_at(const struct attach_memory *mem, uint64_t start)
{
	return (struct ms_elf_source){mem->read, mem->arg, start};
}

/* The module whose ELF header is at the start of that mapping. False = there is none, or it is not
 * loaded there. */
bool attach_elf_module(const struct attach_memory *mem, const struct attach_maps *maps,
		       const struct attach_map *at, struct attach_module *m);
/* Looks for functions (and objects) among the dynamic symbols in memory. Found ones get address and
 * size. */
void attach_elf_dynamic(const struct attach_memory *mem, const struct attach_module *m,
			struct attach_symbol *wanted, size_t n);
/* Opens the very file that is mapped, if we may; else what has its name and number now. -1 =
 * neither. `proc`: folder /proc/PID. */
int attach_elf_open(int proc, const struct attach_map *map);
/* Looks for functions (and objects) that have no address yet among all symbols of the module's
 * file. `proc`: folder /proc/PID. False = the file has no symbol table, or cannot be read. */
bool attach_elf_file(int proc, const struct attach_module *m, struct attach_symbol *wanted,
		     size_t n);
