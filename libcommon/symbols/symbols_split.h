/* SPDX-License-Identifier: MIT
 * Split DWARF: the part of a unit that the linker never saw, in a file of its own (.dwo) or in a
 * package of many (.dwp). Part of the symbol module.
 *
 * A program then holds a skeleton per unit: its addresses, its lines, and a 64-bit number by which
 * the rest is known. libdw looks for it where the compiler wrote it, whatever the sysroot, and
 * knows no packages; so the rest is found here, laid out as a file of its own (symbols_image.h)
 * together with the addresses that it refers to, and opened as that. Only its ranges need a reader
 * of their own, because they refer to the skeleton.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbols_elf.h"
#include "symbols_image.h"
#include "symbols_package.h"

struct ms_ranges;

/* What the ranges of a split unit refer to. */
struct ms_split_ranges {
	struct ms_bytes list;    /* .debug_ranges of the program, or .debug_rnglists of its own */
	struct ms_bytes address; /* its part of .debug_addr */
	uint64_t list_base;      /* added to offsets in `list` */
	uint64_t base;           /* first address of the unit's code */
	uint16_t version;
};

struct ms_split {
	uint64_t id;
	uint64_t used;
	struct ms_image image;
	uint8_t *lists; /* copy of the .debug_rnglists */
	Dwarf_Die die;
	struct ms_split_ranges ranges;
};

struct ms_splits;

/* `elf` has the skeletons, `binary` is the path of the module, for which a package is named; both
 * and what is of struct ms_symbols_options are borrowed. */
struct ms_splits *ms_splits_new(const char *sysroot, const char *const *debug_dirs,
				struct ms_elf *elf, const char *binary);
void ms_splits_free(struct ms_splits *s);
/* Closes all that are open; they are opened again when asked for. */
void ms_splits_close(struct ms_splits *s);

/* The split part of the unit whose skeleton that is. NULL: it is not found. Valid until the next
 * call. */
const struct ms_split *ms_split_of(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id);

/* Appends the ranges of an entry that has DW_AT_ranges. False: it has none, or they are damaged. */
bool ms_split_die_ranges(const struct ms_split_ranges *r, Dwarf_Die *die, struct ms_ranges *out);

/* The text of an attribute; NULL = there is none, or an empty one. */
const char *ms_die_text(Dwarf_Die *die, unsigned attribute);
