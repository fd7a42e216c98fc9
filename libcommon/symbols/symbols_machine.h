/* SPDX-License-Identifier: MIT
 * Knowledge of a processor's code, selected by the file's machine, not ours, as a trace may be read
 * on another machine. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_elf_section;

struct ms_machine {
	uint16_t elf; /* e_machine */
	/* Tells whether a relocation of that type fills a slot of a linkage table. */
	bool (*is_slot)(uint64_t type);
	/* Returns the slot through which the entry at offset `at` of the table jumps; 0 = there is
	 * no entry. `got`: the table is .plt.got. `nth`: which of the possible entry layouts to
	 * try. */
	uint64_t (*slot_of)(const struct ms_elf_section *s, uint64_t at, bool got, unsigned nth);
	/* Returns the length of the code if it is the C runtime's entry point; 0 = it is not. */
	uint64_t (*start_bytes)(const uint8_t *code, uint64_t most);
	/* Returns the target of the call that ends at code[at], which lies at `address`. *slot: the
	 * result is not the target, but the address of a slot that contains it. 0 = there is no
	 * such call. */
	uint64_t (*called)(const uint8_t *code, uint64_t at, uint64_t address, bool *slot);
};
extern const struct ms_machine ms_x86_64, ms_aarch64;

/* Returns the machine of an e_machine; NULL = not known. */
const struct ms_machine *ms_machine_of(unsigned elf);
