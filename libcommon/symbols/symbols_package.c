/* SPDX-License-Identifier: MIT
 * Reads the index of a DWARF package and cuts a unit's parts out.
 *
 * The index is a hash table of unit numbers, open addressing, whose slots hold the rows of two
 * tables: where a unit's part of each section begins, and how large it is.
 *
 *   version, columns, units, slots | numbers[slots] | rows[slots] | sections[columns] |
 *   offsets[units][columns] | sizes[units][columns]
 */
#include "symbols_package.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "symbols_elf.h"

struct ms_package {
	struct ms_elf *elf;
	const uint8_t *numbers, *rows, *sections, *offsets, *sizes;
	uint32_t columns, units, slots;
	struct ms_bytes of[MS_PART_COUNT]; /* whole sections */
	bool headers; /* version 5: offsets of strings begin with a header, there are range lists */
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
	p->headers = (version & 0xffff) == 5;
	p->columns = number_at(at, 1);
	p->units = number_at(at, 2);
	p->slots = number_at(at, 3);
	if ((version != 2 && !p->headers) || !p->columns || p->columns > 16 || !p->slots ||
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

void ms_parts_read(struct ms_elf *e, struct ms_bytes of[MS_PART_COUNT])
{
	static const char *const names[MS_PART_COUNT] = {
		".debug_info.dwo",        ".debug_abbrev.dwo", ".debug_line.dwo",
		".debug_str_offsets.dwo", ".debug_str.dwo",    ".debug_rnglists.dwo"};
	for (size_t i = 0; i < MS_PART_COUNT; i++)
		of[i] = ms_elf_bytes(e, names[i]);
}

struct ms_package *ms_package_open(const char *path)
{
	struct ms_elf *e = ms_elf_open(path);
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

/* Row of a unit in the two tables; false: it is not there. */
static bool find_row(const struct ms_package *p, uint64_t id, uint32_t *row)
{
	uint32_t mask = p->slots - 1, at = (uint32_t)id & mask,
		 step = ((uint32_t)(id >> 32) & mask) | 1;
	for (uint32_t i = 0; i < p->slots; i++, at = (at + step) & mask) {
		uint64_t number;
		memcpy(&number, p->numbers + (uint64_t)at * sizeof number, sizeof number);
		*row = number_at(p->rows, at);
		if (*row && number == id)
			return *row <= p->units;
		if (!*row && !number)
			return false;
	}
	return false;
}

/* The unit's part of a section by its number in the index. */
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

bool ms_package_find(const struct ms_package *p, uint64_t id, struct ms_split_parts *out)
{
	/* DW_SECT_*; strings are not cut */
	static const unsigned numbers[MS_PART_COUNT] = {1, 3, 4, 6, 0, 8};
	uint32_t row;
	if (!find_row(p, id, &row))
		return false;
	*out = (struct ms_split_parts){.packed = true};
	for (unsigned i = 0; i < (p->headers ? MS_PART_COUNT : MS_PART_LISTS); i++)
		out->of[i] = numbers[i] ? part(p, row, numbers[i], p->of[i]) : p->of[i];
	return out->of[MS_PART_INFO].size && out->of[MS_PART_ABBREV].size;
}

/* Is there a header before the offsets, as version 5 has it? Its length is then that of the rest.
 */
static size_t offsets_header(struct ms_bytes b)
{
	return b.size >= 8 && number_at(b.data, 0) == b.size - 4 ? 8 : 0;
}

void ms_package_strings(struct ms_bytes of[MS_PART_COUNT], uint8_t *own[2])
{
	struct ms_bytes all = of[MS_PART_STRINGS], offsets = of[MS_PART_OFFSETS];
	if (!all.size || !offsets.size || all.size >= UINT32_MAX)
		return;
	size_t header = offsets_header(offsets), n = (offsets.size - header) / 4;
	uint64_t used = 1, room = 1 << 16;
	uint8_t *strings = ms_xrealloc(NULL, room, 1);
	uint8_t *numbers = ms_xrealloc(NULL, offsets.size, 1);
	strings[0] = 0;
	memcpy(numbers, offsets.data, offsets.size);
	for (size_t i = 0; i < n; i++) {
		uint32_t from = number_at(offsets.data + header, i), to = 0;
		const uint8_t *s = all.data + from;
		size_t size = from < all.size ? strnlen((const char *)s, all.size - from) + 1 : 0;
		/* one unit cannot have more than all of them: the rest is nonsense */
		if (size > 1 && size <= all.size - from && used + size <= all.size + 1) {
			while (used + size > room)
				strings = ms_xrealloc(strings, room *= 2, 1);
			memcpy(strings + used, s, size);
			to = (uint32_t)used;
			used += size;
		}
		memcpy(numbers + header + i * 4, &to, sizeof to);
	}
	own[0] = strings;
	own[1] = numbers;
	of[MS_PART_STRINGS] = (struct ms_bytes){strings, used};
	of[MS_PART_OFFSETS] = (struct ms_bytes){numbers, offsets.size};
}
