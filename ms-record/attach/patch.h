/* SPDX-License-Identifier: MIT
 * Replaces a function's entry by a jump: which of its first instructions are displaced, and how
 * they are rewritten to do the same elsewhere.
 *
 *   entry:  [ jump to slot ......... ]  rest of the function  <------+
 *                |                                                   |
 *   slot:   [ jump into the image | words ]      [ displaced | jump to entry + n ]
 *
 * Nothing here accesses a process: bytes in, bytes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct ms_err;

#define PATCH_BODY_MOST 4096u /* bytes of a function that are examined */
#define PATCH_INSTRUCTIONS 8u

extern const uint8_t patch_wait[MG_JUMP_FIRST]; /* a jump to itself */

struct patch {
	/* patch_plan sets entry, slot, bytes, original and patched; the caller sets the rest. */
	struct mg_hook hook;
	uint8_t displaced[MG_SLOT_BYTES - MG_SLOT_DISPLACED];
	uint32_t displaced_bytes;
	/* position of each displaced instruction in bytes: old, from the entry; new, from the hook
	 * slot */
	struct {
		uint8_t from, to;
	} moved[PATCH_INSTRUCTIONS];
	uint32_t moved_count;
	bool jumps_back; /* used by patch_plan only: the function jumps into its displaced bytes */
};

/* ---- NAME_patch.c: the processor's part ---- */

/* Plans the replacement of the first bytes of the function at `entry` by a jump to `slot`. `code`:
 * its first `n` bytes; `body`: its size in bytes, 0 = not known. Returns 0, or -1 with `err` set to
 * the reason, as the end of a sentence. */
int patch_plan(struct patch *p, uint64_t entry, const uint8_t *code, size_t n, size_t body,
	       uint64_t slot, struct ms_err *err);
/* Writes the bytes of the hook slot to `out`: code that passes `hook`, the address of the hook's
 * data, to the guest's routine at address `enter`. */
void patch_slot(const struct patch *p, uint64_t enter, uint64_t hook, uint8_t out[MG_SLOT_BYTES]);
/* Tells whether threads may run while the entry is replaced: a jump to itself may stand there, and no
 * thread is ever inside the jump (attach_rewrite.c). */
bool patch_may_wait(const struct mg_hook *h);
/* Returns the target of the jump at `entry`; 0 = no jump. */
uint64_t patch_target(uint64_t entry, const uint8_t code[MG_DISPLACED_MAX]);
/* Returns the target of a function of `n` bytes that consists of a single jump; 0 = any other
 * function. */
uint64_t patch_leads(uint64_t entry, const uint8_t *code, size_t n);
/* Calls `f` with each constant address that the code at `address` calls or jumps to. For a call or
 * jump through a pointer, `slot` is true and `to` is the pointer's address. `to_jump`: stops at the
 * first unconditional jump. Returns false if the code cannot be decoded. */
typedef void patch_branch(void *arg, uint64_t to, bool slot);
bool patch_branches(const uint8_t *code, size_t n, uint64_t address, bool to_jump, patch_branch *f,
		    void *arg);

/* Returns a bit set of the first four arguments that the code reads (bit 0 = first). Calls `f` at
 * each call or jump to another function; `holds` is the bit set of arguments that are still
 * unchanged there. Calls through pointers are not followed. */
typedef void patch_passes(void *arg, uint64_t to, unsigned holds);
unsigned patch_arguments(const uint8_t *code, size_t n, uint64_t address, patch_passes *f,
			 void *arg);

/* ---- patch.c ---- */

/* Lists the states of a hook's entry: changed by other code; with its original bytes; with our
 * jump; or with a jump to itself, at which threads wait, because rewriting was interrupted. */
enum patch_state { PATCH_OTHERS, PATCH_ORIGINAL, PATCH_JUMPS, PATCH_WAITS };
enum patch_state patch_state(const struct mg_hook *h, const uint8_t *now);
/* Returns the new address of the instruction at `ip` after the jump is written; `ip` if it was not
 * displaced. */
uint64_t patch_moved(const struct patch *p, uint64_t ip);
/* Returns where a thread at `ip` continues once a hook's original instructions are back: the slot, if
 * it has executed a part of our jump; else `ip`. */
uint64_t patch_left(const struct mg_hook *h, uint64_t ip);
