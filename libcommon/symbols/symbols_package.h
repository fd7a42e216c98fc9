/* SPDX-License-Identifier: MIT
 * DWARF packages (.dwp): the split parts of many units in one file, with an index. Part of the
 * symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_bytes {
	const uint8_t *data;
	uint64_t size;
};

/* Sections of a split unit. */
enum {
	MS_PART_INFO,
	MS_PART_ABBREV,
	MS_PART_LINE,
	MS_PART_OFFSETS, /* .debug_str_offsets */
	MS_PART_STRINGS, /* .debug_str; shared by all units of a package */
	MS_PART_LISTS,   /* .debug_rnglists */
	/* Sections in the program itself: */
	MS_PART_ADDRESSES, /* .debug_addr */
	MS_PART_RANGES,    /* .debug_ranges */
	MS_PART_COUNT
};
extern const char *const ms_part_names[MS_PART_COUNT];

struct ms_elf;
struct ms_package;

/* Return the contents of one section, or of all sections of a .dwo file or package; an absent one
 * is {NULL, 0}. */
struct ms_bytes ms_elf_bytes(struct ms_elf *e, const char *name);
void ms_parts_read(struct ms_elf *e, struct ms_bytes of[MS_PART_COUNT]);

/* Opens a package and takes ownership of the file, which may be NULL. Returns NULL if it is not a
 * package. */
struct ms_package *ms_package_open(struct ms_elf *e);
void ms_package_close(struct ms_package *p);
/* Returns the parts of the unit whose number is `id`. Returns false if it is not in the package, or
 * the index is invalid. */
bool ms_package_find(const struct ms_package *p, uint64_t id, struct ms_bytes of[MS_PART_COUNT]);
/* Returns the unit number in slot `slot` of the index; 0 = there is no such slot. */
uint64_t ms_package_number(const struct ms_package *p, uint32_t slot);
