/* SPDX-License-Identifier: MIT
 * The entry of a function replaced by a jump: which of its first instructions are displaced, and
 * how they are written where they do the same.
 *
 *   entry:  [ jump to slot ......... ]  rest of the function  <------+
 *                |                                                   |
 *   slot:   [ jump into the image | words ]      [ displaced | jump to entry + n ]
 *
 * Nothing here touches a process: bytes in, bytes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct ms_err;

#define PATCH_BODY_MOST 4096u /* of a function that are looked at */
#define PATCH_INSTRUCTIONS 8u

extern const uint8_t patch_wait[MG_JUMP_FIRST]; /* the jump to itself */

struct patch {
	/* Planned are its entry, slot, bytes, and what these are; the rest is the caller's. */
	struct mg_hook hook;
	uint8_t displaced[MG_SLOT_BYTES - MG_SLOT_DISPLACED];
	uint32_t displaced_bytes;
	/* offset of each displaced instruction: in bytes from the entry, where it was, and from the
	 * slot, where it is now */
	struct {
		uint8_t from, to;
	} moved[PATCH_INSTRUCTIONS];
	uint32_t moved_count;
	bool jumps_back; /* for the planning */
};

/* ---- NAME_patch.c: the processor's part ---- */

/* Plans the jump from a function at `entry`, of which `code` has the first `n` bytes, to `slot`;
 * `body`: how long it is, 0 = not known. 0; or -1 with `err` saying as half a sentence why it
 * cannot be. */
int patch_plan(struct patch *p, uint64_t entry, const uint8_t *code, size_t n, size_t body,
	       uint64_t slot, struct ms_err *err);
/* The bytes of its slot, which enters the image at `enter` for `hook`, both addresses. */
void patch_slot(const struct patch *p, uint64_t enter, uint64_t hook, uint8_t out[MG_SLOT_BYTES]);
/* Returns the target of the jump at `entry`; 0 = there is none. */
uint64_t patch_target(uint64_t entry, const uint8_t code[MG_JUMP_BYTES]);
/* Returns where the function of these `n` bytes leads that is nothing but a jump; 0 = it is more. */
uint64_t patch_leads(uint64_t entry, const uint8_t *code, size_t n);
/* Calls f with each address that the code at `address` calls or jumps to, as far as that stands in
 * it, or, with `slot`, where in memory it is read; `to_jump`: up to the first jump that is always
 * taken. False: it cannot be decoded. */
typedef void patch_branch(void *arg, uint64_t to, bool slot);
bool patch_branches(const uint8_t *code, size_t n, uint64_t address, bool to_jump, patch_branch *f,
		    void *arg);

/* Returns a bit, from the lowest on, for each of the first four arguments that the function with
 * that code reads. Calls `f` where it calls or jumps to another one while `holds` of them are as they
 * were. What is read through pointers to functions is not known. */
typedef void patch_passes(void *arg, uint64_t to, unsigned holds);
unsigned patch_arguments(const uint8_t *code, size_t n, uint64_t address, patch_passes *f,
			 void *arg);

/* ---- patch.c ---- */

/* Lists what the entry of a hook may hold. PATCH_WAITS: a jump to itself, at which threads wait,
 * because rewriting it was broken off. */
enum patch_state { PATCH_OTHERS, PATCH_ORIGINAL, PATCH_JUMPS, PATCH_WAITS };
enum patch_state patch_state(const struct mg_hook *h, const uint8_t *now);
/* A thread is at `ip` when the jump is written: where it goes on. */
uint64_t patch_moved(const struct patch *p, uint64_t ip);
