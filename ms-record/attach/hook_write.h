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
#include "ms-record/ptrace/hijack.h"
#include "patch.h"

struct ms_err;

#define HOOK_SLOTS (MG_NEAR_BYTES / MG_SLOT_BYTES) /* of a page */

struct hook_write {
	const struct hijack *h;
	uint64_t enter;      /* where the slot goes */
	uint64_t slot, hook; /* addresses for both */
	uint32_t kind;       /* enum mg_hook_kind */
	struct mg_custom custom;
};

/* What stands at the entry of a hook in that process; PATCH_OTHERS also if it cannot be read. */
enum patch_state hook_state(const struct hijack *h, const struct mg_hook *hook);
/* The first bytes of a function of `size` bytes (0 = not known), as far as they are looked at. How
 * many, 0 = they cannot be read. */
size_t hook_code(const struct hijack *h, uint64_t entry, uint64_t size,
		 uint8_t code[PATCH_BODY_MOST]);
/* The hook is in *h, too. 0, or -1 with `err` set to half a sentence: it cannot be, and nothing
 * that anybody executes was changed. */
int hook_write(const struct hook_write *w, const struct hook_place *place, struct mg_hook *h,
	       struct ms_err *err);

#endif
