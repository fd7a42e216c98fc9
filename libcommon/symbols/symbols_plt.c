/* SPDX-License-Identifier: MIT
 * Identifies entries of a linkage table by their targets: each jumps through a slot, whose symbol a
 * relocation gives.
 *
 *   .plt, .plt.sec, .plt.got      entries, decoded by the file's machine
 *   .rela.plt, .rela.dyn          slot -> symbol
 */
#include "symbols_plt.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "symbols_elf.h"
#include "symbols_machine.h"

struct slot {
	uint64_t address, addend;
	const char *name;
};

struct ms_plt {
	struct ms_elf *elf;
	const struct ms_machine *machine;
	MS_ARRAY(struct slot) slots; /* sorted by address */
	bool named;                  /* some slot has a symbol name, so calls to other modules have
					names */
};

/* ---- slots ---- */

/* Returns the name of symbol `index` in the symbol table that relocations refer to. */
static const char *symbol_of(struct ms_elf *e, uint32_t link, uint64_t index)
{
	Elf64_Sym y;
	if (!index || link >= e->section_count)
		return NULL;
	struct ms_elf_section *table = &e->sections[link];
	const uint8_t *data = ms_elf_data(table);
	if (!data || index >= table->size / sizeof y || table->link >= e->section_count)
		return NULL;
	memcpy(&y, data + index * sizeof y, sizeof y);
	struct ms_elf_section *strings = &e->sections[table->link];
	return ms_elf_string(ms_elf_data(strings), strings->size, y.st_name);
}

static void read_slots(struct ms_plt *p, struct ms_elf_section *s)
{
	const uint8_t *data = ms_elf_data(s);
	for (uint64_t i = 0; data && i < s->size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela r;
		memcpy(&r, data + i * sizeof r, sizeof r);
		if (!p->machine->is_slot(ELF64_R_TYPE(r.r_info)))
			continue;
		const char *name = symbol_of(p->elf, s->link, ELF64_R_SYM(r.r_info));
		bool named = name && *name;
		p->named |= named;
		/* A linker (-z mark-plt) may keep the entry's address in a named slot's addend. */
		*MS_PUSH(&p->slots) = (struct slot){r.r_offset, named ? 0 : (uint64_t)r.r_addend,
						    named ? name : "*ABS*"};
	}
}

struct ms_plt *ms_plt_new(struct ms_elf *e)
{
	struct ms_plt *p = ms_xrealloc(NULL, 1, sizeof *p);
	*p = (struct ms_plt){.elf = e, .machine = ms_machine_of(e->machine)};
	for (unsigned i = 0; p->machine && i < e->section_count; i++)
		if (e->sections[i].type == SHT_RELA && (e->sections[i].flags & SHF_ALLOC))
			read_slots(p, &e->sections[i]);
	MS_SORT(p->slots.v, p->slots.n, ms_by_first_number);
	return p;
}

void ms_plt_free(struct ms_plt *p)
{
	if (!p)
		return;
	MS_FREE(p->slots.v, p);
}

/* ---- entries ---- */

static bool is_table(const struct ms_elf_section *s)
{
	return s->raw && s->packing == MS_ELF_PLAIN && (s->flags & SHF_EXECINSTR) &&
	       (!strcmp(s->name, ".plt") || !strcmp(s->name, ".plt.sec") ||
		!strcmp(s->name, ".plt.got"));
}

static const struct slot *slot_at(const struct ms_plt *p, uint64_t address)
{
	size_t k = MS_COUNT_UP_TO(p->slots.v, p->slots.n, address, address);
	return k && p->slots.v[k - 1].address == address ? &p->slots.v[k - 1] : NULL;
}

/* Returns the slot of the entry at offset `at` of the table. An unknown machine has no entries. */
static const struct slot *entry_at(const struct ms_plt *p, const struct ms_elf_section *s,
				   uint64_t at)
{
	bool got = !strcmp(s->name, ".plt.got");
	for (unsigned i = 0; p->slots.n && i < 2; i++) {
		uint64_t to = p->machine->slot_of(s, at, got, i);
		if (to && slot_at(p, to))
			return slot_at(p, to);
	}
	return NULL;
}

const char *ms_plt_find(const struct ms_plt *p, uint64_t address, uint64_t *addend)
{
	for (unsigned i = 0; i < p->elf->section_count; i++) {
		const struct ms_elf_section *s = &p->elf->sections[i];
		if (!is_table(s) || address - s->address >= s->raw_size)
			continue;
		const struct slot *found = entry_at(p, s, address - s->address);
		if (found)
			*addend = found->addend;
		return found ? found->name : NULL;
	}
	return NULL;
}

const char *ms_plt_called(const struct ms_plt *p, uint64_t address)
{
	for (unsigned i = 0; p->machine && i < p->elf->section_count; i++) {
		const struct ms_elf_section *s = &p->elf->sections[i];
		uint64_t at = address - s->address, addend = 0;
		bool slot = false;
		if (!s->raw || s->packing != MS_ELF_PLAIN || !(s->flags & SHF_EXECINSTR) ||
		    at > s->raw_size)
			continue;
		uint64_t to = p->machine->called(s->raw, at, address, &slot);
		const struct slot *through = slot ? slot_at(p, to) : NULL;
		const char *name = through ? through->name
				   : to    ? ms_plt_find(p, to, &addend)
					   : NULL;
		const struct ms_elf_symbol *y =
			to && !slot && !p->named ? ms_elf_symbol(p->elf, to) : NULL;
		return name ? name : y && y->address == to ? y->name : NULL;
	}
	return NULL;
}
