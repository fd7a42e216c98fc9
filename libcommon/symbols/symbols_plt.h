/* SPDX-License-Identifier: MIT
 * Names of a program's linkage table: the few instructions through which it calls "malloc" of
 * another module are "malloc@plt". Part of the symbol module.
 */
#pragma once

#include <stdint.h>

struct ms_elf;
struct ms_plt;

/* Reads the table of entries in `e` (which must outlive it) that jump to functions. Never NULL;
 * without entries where the file has none or its machine is not known. */
struct ms_plt *ms_plt_new(struct ms_elf *e);
void ms_plt_free(struct ms_plt *p);

/* Returns the symbol that the entry at `address` jumps to, as the file has it, and what is to be
 * added to it ("*ABS*" and an address, where it has no name); NULL: there is no entry. */
const char *ms_plt_find(const struct ms_plt *p, uint64_t address, uint64_t *addend);
/* The symbol that the call instruction which ends at `address` calls, through the table or, in
 * a file that is linked to no other, directly; NULL: there is none, or it is not to be seen. */
const char *ms_plt_called(const struct ms_plt *p, uint64_t address);
