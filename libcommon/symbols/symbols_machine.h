/* SPDX-License-Identifier: MIT
 * What symbols need to know of a processor's code, by the file's machine and not by ours: a trace
 * may be read elsewhere. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_elf_section;

struct ms_machine {
	uint16_t elf; /* e_machine */
	/* Does that relocation fill a slot of a linkage table? */
	bool (*is_slot)(uint64_t type);
	/* The slot through which the entry jumps that `at`, an offset in the table, lies in; 0: it
	 * is none. `got`: the table is .plt.got. Of what could be an entry there, the `nth`. */
	uint64_t (*slot_of)(const struct ms_elf_section *s, uint64_t at, bool got, unsigned nth);
	/* Returns how long the code is that only the C runtime's start is, if it begins there; 0:
	 * it is other code. */
	uint64_t (*start_bytes)(const uint8_t *code, uint64_t most);
	/* Returns where the call goes that ends at code[at], which lies at `address`; *slot: it is
	 * the address of a slot that holds where. 0: there is no such call. */
	uint64_t (*called)(const uint8_t *code, uint64_t at, uint64_t address, bool *slot);
};
extern const struct ms_machine ms_x86_64;

/* NULL = not known. */
const struct ms_machine *ms_machine_of(unsigned elf);
