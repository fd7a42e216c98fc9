/* SPDX-License-Identifier: MIT
 * One hook written into a process, at a moment when nobody executes the function: its slot, its
 * struct mg_hook, and the jump at its entry.
 */
#ifndef HOOK_WRITE_H
#define HOOK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook_find.h"

struct ms_err;

#define HOOK_SLOTS (MG_NEAR_BYTES / MG_SLOT_BYTES) /* of a page */

struct hook_write {
	int mem;             /* /proc/PID/mem */
	uint64_t enter;      /* where the slot goes */
	uint64_t slot, hook; /* addresses for both */
	uint32_t kind;       /* enum mg_hook_kind */
	struct mg_custom custom;
};

bool hook_peek(int mem, uint64_t address, void *to, size_t bytes);
bool hook_poke(int mem, uint64_t address, const void *from, size_t bytes);
/* The hook is in *h, too. 0, or -1 with `err` set to half a sentence: it cannot be, and nothing
 * that anybody executes was changed. */
int hook_write(const struct hook_write *w, const struct hook_place *place, struct mg_hook *h,
	       struct ms_err *err);

#endif
