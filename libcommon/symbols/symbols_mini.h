/* SPDX-License-Identifier: MIT
 * The compressed symbol table inside a stripped file. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>

#include "symbols_elf.h"

/* Opens the ELF file in .gnu_debugdata of `e`; the caller closes it. Returns NULL if there is none,
 * or, if *damaged is set, it cannot be read. */
struct ms_elf *ms_elf_mini(struct ms_elf *e, bool *damaged);
