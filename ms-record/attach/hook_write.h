/* SPDX-License-Identifier: MIT
 * Hooks written into a process, at a moment when nobody executes the functions: for each a slot,
 * its struct mg_hook, and the jump at its entry.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook_find.h"
#include "ms-record/ptrace/hijack.h"
#include "patch.h"

#define HOOK_LIMIT_REACHED "the limit on hooks is reached"

struct ms_err;

struct hook_work {
	struct hijack h; /* its memory only */
	struct attach_memory memory;
	struct attach_maps maps;
	struct hook_modules modules; /* in which functions are looked for */
	uint64_t enter, hooks_at;    /* where slots go; where hooks[] stands, 0 = nowhere */
	struct mg_hook hooks[MG_HOOKS_MAX];
	uint32_t count;
	uint64_t spare; /* a page that no hook was placed in yet; 0 = none */
	/* A new page for slots near that module's code; 0 = it cannot be had. */
	uint64_t (*new_page)(struct hook_work *w, const struct attach_module *m);
	/* Does who could execute the functions still wait? */
	bool (*waits)(struct hook_work *w);
};

/* Memory and maps of the process with that folder of /proc. 0, or -1; it is to be closed in either
 * case. */
int hook_work_open(struct hook_work *w, int proc);
void hook_work_close(struct hook_work *w);
/* Can all of the module's code be reached from the page that holds `slot`? */
bool hook_reaches(uint64_t slot, const struct attach_module *m);
/* Makes it hook `i`, at most `count`. 0, or -1 with `err` set to half a sentence: it cannot be, and
 * nothing that anybody executes was changed. */
int hook_write(struct hook_work *w, uint32_t i, uint32_t kind, const struct mg_custom *custom,
	       const struct hook_place *place, struct ms_err *err);

/* Returns what the entry of a hook holds in that process; PATCH_OTHERS also if it cannot be
 * read. */
enum patch_state hook_state(const struct hijack *h, const struct mg_hook *hook);
/* The first bytes of a function of `size` bytes (0 = not known), as far as they are looked at. How
 * many, 0 = they cannot be read. */
size_t hook_code(const struct hijack *h, uint64_t entry, uint64_t size,
		 uint8_t code[PATCH_BODY_MOST]);
