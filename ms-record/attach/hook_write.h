/* SPDX-License-Identifier: MIT
 * Writes hooks into a process while no thread runs the functions: for each a slot, its struct
 * mg_hook, and the jump at its entry.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook_find.h"
#include "ms-record/ptrace/hijack.h"
#include "patch.h"

#define HOOK_TOO_LATE "ms-record did not respond while the module was loaded"
#define HOOK_LIMIT_REACHED "the limit of 256 hooks is reached" /* MG_HOOKS_MAX */

struct ms_err;

struct hook_work {
	struct hijack h; /* of its descriptors, only `mem` is open */
	struct attach_memory memory;
	struct attach_maps maps;
	struct hook_modules modules; /* modules to search for functions */
	uint64_t enter, hooks_at;    /* address to which hook slots jump; address of hooks[] in the
					process, 0 = none */
	struct mg_hook hooks[MG_HOOKS_MAX];
	uint32_t count;
	uint64_t spare; /* mapped page without a hook yet; 0 = none */
	/* Maps a new page for hook slots near the module's code. Returns its address; 0 =
	 * failed. */
	uint64_t (*new_page)(struct hook_work *w, const struct attach_module *m);
	/* Tells whether the threads that could run the functions still wait until they are
	 * hooked. */
	bool (*waits)(struct hook_work *w);
};

/* Opens the memory of a process and reads its maps. `proc`: folder /proc/PID. Returns 0 or -1; call
 * hook_work_close in either case. */
int hook_work_open(struct hook_work *w, int proc);
void hook_work_close(struct hook_work *w);
/* Tells whether all of the module's code is within jump distance of the page that holds `slot`. */
bool hook_reaches(uint64_t slot, const struct attach_module *m);
/* Writes a hook to index `i` (at most `count`) of the process's hook table, and the jump to it.
 * Returns 0, or -1 with `err` set to the end of a sentence; then no code that threads can execute
 * has changed. */
int hook_write(struct hook_work *w, uint32_t i, uint32_t kind, const struct mg_custom *custom,
	       const struct hook_place *place, struct ms_err *err);

/* Returns the state of a hook's entry in the process; PATCH_OTHERS if the entry cannot be read. */
enum patch_state hook_state(const struct hijack *h, const struct mg_hook *hook);
/* Reads as many of a function's first bytes as hooking needs. `size`: bytes of the function, 0 =
 * not known. Returns the number of bytes read; 0 = not readable. */
size_t hook_code(const struct hijack *h, uint64_t entry, uint64_t size,
		 uint8_t code[PATCH_BODY_MOST]);
