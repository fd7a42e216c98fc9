/* SPDX-License-Identifier: MIT
 * Declares what the guest needs from the processor. All code for one processor is in the files
 * named after it. NAME.h defines the inline functions declared here and the places where the
 * entries save registers, NAME_code.c reads instructions, NAME_vectors.c saves vector registers,
 * NAME_*.S are the entries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define MG_LIKELY(x) __builtin_expect(!!(x), 1)
#define MG_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MG_INLINE static inline __attribute__((always_inline))

/* Reads the processor's time counter, which time stamps are taken from. */
MG_INLINE uint64_t mg_counter(void);
/* Delays the next read of the counter until all earlier loads are done. */
MG_INLINE void mg_order_counter(void);
/* Eases one iteration of a busy-wait loop. */
MG_INLINE void mg_relax(void);
/* Returns the address of this thread's control block. */
MG_INLINE uint64_t mg_thread_pointer(void);
/* Makes a system call. Returns the kernel's result; -4095 to -1 are errors. */
MG_INLINE long mg_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			  uint64_t f);
/* Subtracts `by` from a word that only this thread writes, and tells whether it is 0 or less
 * now. A signal handler that does the same in between is counted completely or not at all. */
MG_INLINE bool mg_count_down(int64_t *left, uint64_t by);
/* Atomically replaces the two words at `at` (16-byte aligned) by `new` if they equal `old`.
 * Returns false if they do not. */
MG_INLINE bool mg_swap_pair(void *at, const uint64_t old[2], const uint64_t new[2]);
/* Returns `b` if `bit` is set in `flags`, else `a`; without a branch. */
MG_INLINE uint64_t mg_choose(uint64_t a, uint64_t b, uint64_t flags, uint64_t bit);

/* Returns the index, below MG_KEPT, of the callee-saved register with DWARF number `dwarf`; -1 =
 * bp, or not such a register. */
MG_INLINE int mg_kept_of(uint64_t dwarf);

/* Tells whether a rule can say that the return address is saved at the CFA + `at`, or not `saved`.
 * *bp: where bp is saved, if it is, else set to what the rule has in its place. */
MG_INLINE bool mg_pack_return(bool saved, int64_t at, bool bp_saved, int64_t *bp);
/* Returns the bits of a saved return address that are its address: a processor may sign them. */
MG_INLINE uint64_t mg_code_bits(uint64_t word);

/* Macros tell where a function has saved what: MG_RETURN_SLOT the address of its return address, by
 * a rule (rules.h) and the CFA, which itself stands for a register, MG_OWN_RETURN_SLOT by a rule of
 * a thread's own table, and MG_OWN_BP_SLOT the address of bp, by such a rule and the former.
 *
 * The frame that entries hand to hooks: the caller's bp, the return address, and whatever
 * MG_FRAME_SP needs to find the caller's sp. In a function in C, MG_FRAME makes it. */

/* Tells whether the chain of frame pointers from the frame of a hook leads past `outer`, the frame of
 * a hooked function that was called earlier: then that function was left, by longjmp. False if it is
 * not known. */
MG_INLINE bool mg_has_left(const uint64_t *frame, const uint64_t *outer);

struct mg_unwind_info;

/* Tells whether `ip` is in a signal return trampoline of a C library that has no CFI for it. The
 * module may have holes between its segments, and `ip` may be any word of a stack. */
bool mg_is_sigreturn(const struct mg_unwind_info *info, uint64_t ip);
/* Tells whether a call instruction ends at `ip`; true also if the bytes there are outside [low,
 * high). */
bool mg_is_called(uint64_t ip, uint64_t low, uint64_t high);
/* Tells whether a direct call of `entry` ends at `ip`. The bytes in front of `ip` have to be
 * readable. */
bool mg_is_call_of(uint64_t ip, uint64_t entry);
/* Returns the unwinding rule for return address `ip` in a listed mapping without unwinding
 * information, if the code there goes straight to a return, else MG_RULE_CODE_END. Returns
 * MG_RULE_NO_CODE if no call ends at `ip`. */
uint64_t mg_code_rule(uint64_t ip, const struct mg_range *r);
/* Derives the unwinding rule of an instruction without unwinding information from the module's
 * code before or after it: MG_RULE_FLOW_SP, MG_RULE_FLOW_BP or MG_RULE_NONE. `exact`: the
 * instruction was interrupted; otherwise it follows a call. Reads only the module's code. */
uint64_t mg_flow_rule(const struct mg_unwind_info *info, uint64_t at, bool exact);

/* Saves and restores the vector registers, in which the caller of a hooked function may keep
 * values (-fipa-ra). The guest's own code does not change them, but the dynamic linker does.
 * mg_vectors_init: to be called once, before the others. */
void mg_vectors_init(void);
void mg_vectors_save(void *area);
void mg_vectors_restore(const void *area);

#include MS_CPU_H
