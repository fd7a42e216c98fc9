/* SPDX-License-Identifier: MIT
 * Which frames of an ended trace are to be looked up, and in which modules. Part of the symbol
 * module.
 */
#ifndef MS_SYMBOLS_WANTED_H
#define MS_SYMBOLS_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "format/stacks.h"
#include "symbols.h"

struct ms_err;
struct ms_trace;

struct ms_wanted_module {
	uint64_t id, bias;
	struct ms_symbols_module is;
	int handle; /* of ms_symbols_find; -1 = not asked for yet */
};

/* A frame to look up: `address` as its ELF file has it, inside the call. */
struct ms_wanted_frame {
	uint32_t frame, module; /* module: index in `modules` */
	uint64_t address;
};

struct ms_wanted {
	struct ms_arena arena;
	/* by id; id 0 is what frames outside of all modules lie in */
	MS_ARRAY(struct ms_wanted_module) modules;
	MS_ARRAY(struct ms_frame) all;           /* frames by number; 0 is none */
	MS_ARRAY(struct ms_wanted_frame) frames; /* those to look up, by module and address */
	uint8_t *end;                            /* records of the last end block */
	size_t end_size;
	uint64_t first_ns, last_ns; /* of that block */
	uint64_t pid, start_ns;     /* start: ns since 1970 */
	uint64_t end_offset;        /* behind it in the file */
	uint32_t next_block;        /* number of the one to append there */
	bool has_symbols;           /* already: there is nothing to look up */
	bool open_symbols;          /* no end block follows them: not all were appended */
};

/* Reads what is needed of `t`, which is `path`, into `w`, all zero. 0, or -1 with `err` set: it
 * failed, or is no ended trace. On either it must be freed. */
int ms_wanted_read(struct ms_trace *t, const char *path, struct ms_wanted *w, struct ms_err *err);
void ms_wanted_free(struct ms_wanted *w);

#endif
