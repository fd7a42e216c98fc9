/* SPDX-License-Identifier: MIT
 * The symbol table of a stripped file that is compressed in the file itself. Part of the symbol
 * module.
 */
#pragma once

#include <stdbool.h>

#include "symbols_elf.h"

/* The ELF file in .gnu_debugdata of `e`, to be closed; NULL = there is none, or (`*damaged`) none
 * that can be read. */
struct ms_elf *ms_elf_mini(struct ms_elf *e, bool *damaged);
