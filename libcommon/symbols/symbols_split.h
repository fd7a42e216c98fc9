/* SPDX-License-Identifier: MIT
 * Split DWARF: the part of a unit that was not linked, in a file of its own (.dwo) or in a package
 * of many (.dwp). Part of the symbol module.
 *
 * The program then contains a skeleton per unit: its addresses, its lines, and a 64-bit number that
 * identifies the split part. libdw searches for that only at the compiler's path, ignores the
 * sysroot, and does not support packages. So the split part is found here, and opened as a file of
 * its own (symbols_image.h), together with the addresses and ranges that it refers to. Then libdw
 * does not know the start address of the unit's code, to which ranges are relative, so it is taken
 * from the skeleton.
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

/* Appends a range of code, unless it is empty or the linker removed the code. */
void ms_ranges_add_code(struct ms_ranges *out, uint64_t low, uint64_t high);

struct ms_split {
	uint64_t id;
	struct ms_elf *object; /* .dwo file that contains the unit; NULL = a package does */
	struct ms_image image;
	Dwarf_Die die;
	uint64_t base;         /* start address of the unit's code */
	struct ms_bytes lists; /* range lists */
	uint16_t version;
};

struct ms_splits;

/* Creates a finder of split parts. `elf` has the skeletons; `binary` is the path of the module,
 * from which a package's name derives. All parameters are borrowed. */
struct ms_splits *ms_splits_new(const char *sysroot, const char *const *debug_dirs,
				struct ms_elf *elf, const char *binary);
void ms_splits_free(struct ms_splits *s);
/* Closes all open parts; they are reopened on demand. */
void ms_splits_close(struct ms_splits *s);

/* Returns the split part that belongs to a skeleton unit; NULL = not found. Valid until the next
 * call of this function or of ms_splits_close. */
const struct ms_split *ms_split_of(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id);

/* Appends the ranges of an entry that has DW_AT_ranges. Returns false if it has none, or they are
 * damaged. */
bool ms_split_die_ranges(const struct ms_split *s, Dwarf_Die *die, struct ms_ranges *out);

/* Returns the text of an attribute; NULL = there is none, or it is empty. */
const char *ms_die_text(Dwarf_Die *die, unsigned attribute);
/* Returns the number in an attribute; 0 = there is none. */
uint64_t ms_die_number(Dwarf_Die *die, unsigned attribute);
