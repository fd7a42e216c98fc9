/* SPDX-License-Identifier: MIT
 * Names of a program's linkage table: the instructions through which it calls another module's
 * "malloc" are named "malloc@plt". Part of the symbol module.
 */
#pragma once

#include <stdint.h>

struct ms_elf;
struct ms_plt;

/* Reads the linkage table entries of `e`, which must outlive the result. Never NULL; has no entries
 * if the file has none or its machine is not known. */
struct ms_plt *ms_plt_new(struct ms_elf *e);
void ms_plt_free(struct ms_plt *p);

/* Returns the symbol that the entry at `address` jumps to, by its name in the file, and the addend
 * 0 ("*ABS*" and an address if it has no name); NULL = there is no entry. */
const char *ms_plt_find(const struct ms_plt *p, uint64_t address, uint64_t *addend);
/* Returns the symbol called by the call instruction that ends at `address`, via the linkage table
 * or, in a static file, directly; NULL = there is no such call, or its target is unknown. */
const char *ms_plt_called(const struct ms_plt *p, uint64_t address);
