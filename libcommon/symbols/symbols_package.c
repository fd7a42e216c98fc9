/* SPDX-License-Identifier: MIT
 * Reads the index of a DWARF package and finds a unit's parts.
 *
 * The index is a hash table of unit numbers, open addressing, whose slots hold row numbers of two
 * tables: the offset and the size of a unit's part in each section.
 *
 *   version, columns, units, slots | numbers[slots] | rows[slots] | sections[columns] |
 *   offsets[units][columns] | sizes[units][columns]
 */
#include "symbols_package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "symbols_elf.h"

struct ms_package {
	struct ms_elf *elf;
	const uint8_t *numbers, *rows, *sections, *offsets, *sizes;
	uint32_t columns, units, slots;
	struct ms_bytes of[MS_PART_COUNT]; /* the package's sections, whole */
	bool lists;                        /* version 5: each unit has its own range lists */
};

static uint32_t number_at(const uint8_t *table, uint64_t i)
{
	uint32_t v;
	memcpy(&v, table + i * sizeof v, sizeof v);
	return v;
}

static bool read_index(struct ms_package *p)
{
	enum { HEADER = 16 };
	struct ms_elf_section *s = ms_elf_section(p->elf, ".debug_cu_index");
	const uint8_t *at = ms_elf_data(s);
	if (!at || s->size < HEADER)
		return false;
	uint32_t version = number_at(at, 0);
	p->lists = (version & 0xffff) == 5;
	p->columns = number_at(at, 1);
	p->units = number_at(at, 2);
	p->slots = number_at(at, 3);
	if ((version != 2 && !p->lists) || !p->columns || p->columns > 16 || !p->slots ||
	    (p->slots & (p->slots - 1)))
		return false;
	uint64_t cells = (uint64_t)p->units * p->columns * 4,
		 need = HEADER + (uint64_t)p->slots * 12 + p->columns * 4 + cells * 2;
	if (need > s->size)
		return false;
	p->numbers = at + HEADER;
	p->rows = p->numbers + (uint64_t)p->slots * 8;
	p->sections = p->rows + (uint64_t)p->slots * 4;
	p->offsets = p->sections + p->columns * 4;
	p->sizes = p->offsets + cells;
	return true;
}

struct ms_bytes ms_elf_bytes(struct ms_elf *e, const char *name)
{
	struct ms_elf_section *s = ms_elf_section(e, name);
	const uint8_t *data = ms_elf_data(s);
	return (struct ms_bytes){data, data ? s->size : 0};
}

const char *const ms_part_names[MS_PART_COUNT] = {
	".debug_info", ".debug_abbrev",   ".debug_line", ".debug_str_offsets",
	".debug_str",  ".debug_rnglists", ".debug_addr", ".debug_ranges"};

void ms_parts_read(struct ms_elf *e, struct ms_bytes of[MS_PART_COUNT])
{
	char name[32];
	for (size_t i = 0; i < MS_PART_COUNT; i++) {
		snprintf(name, sizeof name, "%s.dwo", ms_part_names[i]);
		of[i] = ms_elf_bytes(e, name);
	}
}

struct ms_package *ms_package_open(struct ms_elf *e)
{
	if (!e)
		return NULL;
	struct ms_package *p = ms_xcalloc(1, sizeof *p);
	p->elf = e;
	if (!read_index(p)) {
		ms_package_close(p);
		return NULL;
	}
	ms_parts_read(e, p->of);
	return p;
}

void ms_package_close(struct ms_package *p)
{
	if (!p)
		return;
	ms_elf_close(p->elf);
	free(p);
}

uint64_t ms_package_number(const struct ms_package *p, uint32_t slot)
{
	uint64_t number = 0;
	if (slot < p->slots)
		memcpy(&number, p->numbers + (uint64_t)slot * sizeof number, sizeof number);
	return number;
}

/* Finds the row of a unit in the two tables of the index. Returns false if the unit is not in the
 * package. */
static bool find_row(const struct ms_package *p, uint64_t id, uint32_t *row)
{
	uint32_t mask = p->slots - 1, at = (uint32_t)id & mask,
		 step = ((uint32_t)(id >> 32) & mask) | 1;
	for (uint32_t i = 0; i < p->slots; i++, at = (at + step) & mask) {
		uint64_t number = ms_package_number(p, at);
		*row = number_at(p->rows, at);
		if (*row && number == id)
			return *row <= p->units;
		if (!*row && !number)
			return false;
	}
	return false;
}

/* Returns the unit's part of the section with that number in the index. */
static struct ms_bytes part(const struct ms_package *p, uint32_t row, unsigned number,
			    struct ms_bytes whole)
{
	for (uint32_t i = 0; i < p->columns; i++) {
		uint64_t cell = (uint64_t)(row - 1) * p->columns + i;
		uint32_t offset = number_at(p->offsets, cell), size = number_at(p->sizes, cell);
		if (number_at(p->sections, i) != number)
			continue;
		if (!size || offset > whole.size || size > whole.size - offset)
			break;
		return (struct ms_bytes){whole.data + offset, size};
	}
	return (struct ms_bytes){0};
}

bool ms_package_find(const struct ms_package *p, uint64_t id, struct ms_bytes of[MS_PART_COUNT])
{
	/* numbers DW_SECT_*; 0 = the whole section, for strings */
	static const unsigned numbers[] = {1, 3, 4, 6, 0, 8};
	uint32_t row;
	if (!find_row(p, id, &row))
		return false;
	memset(of, 0, MS_PART_COUNT * sizeof *of);
	for (unsigned i = 0; i < (p->lists ? MS_PART_LISTS + 1 : MS_PART_LISTS); i++)
		of[i] = numbers[i] ? part(p, row, numbers[i], p->of[i]) : p->of[i];
	return of[MS_PART_INFO].size && of[MS_PART_ABBREV].size;
}
