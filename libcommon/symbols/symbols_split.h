/* SPDX-License-Identifier: MIT
 * Split DWARF: the part of a unit that the linker never saw, in a file of its own (.dwo) or in a
 * package of many (.dwp). Part of the symbol module.
 *
 * A program then holds a skeleton per unit: its addresses, its lines, and a 64-bit number by which
 * the rest is known. libdw looks for it where the compiler wrote it, whatever the sysroot, and
 * knows no packages; so the rest is found here and opened as a file of its own (symbols_image.h)
 * together with the addresses and ranges that it refers to. What libdw then does not know is where
 * the code of the unit begins, which ranges count from: the skeleton says it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbols_elf.h"
#include "symbols_image.h"

struct ms_range {
	uint64_t low, high;
};

struct ms_ranges {
	struct ms_range *v;
	size_t n, cap;
};

/* Appends a range, unless it is empty or what the linker left of code that it removed. */
void ms_ranges_add_code(struct ms_ranges *out, uint64_t low, uint64_t high);

struct ms_split {
	uint64_t id;
	struct ms_elf *object; /* the .dwo file that it is from; NULL: a package */
	struct ms_image image;
	Dwarf_Die die;
	uint64_t base;         /* first address of the unit's code */
	struct ms_bytes lists; /* of ranges */
	uint16_t version;
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
 * call, or ms_splits_close. */
const struct ms_split *ms_split_of(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id);

/* Appends the ranges of an entry that has DW_AT_ranges. False: it has none, or they are damaged. */
bool ms_split_die_ranges(const struct ms_split *s, Dwarf_Die *die, struct ms_ranges *out);

/* The text of an attribute; NULL = there is none, or an empty one. */
const char *ms_die_text(Dwarf_Die *die, unsigned attribute);
/* The number in it; 0 = there is none. */
uint64_t ms_die_number(Dwarf_Die *die, unsigned attribute);
