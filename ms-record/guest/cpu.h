/* SPDX-License-Identifier: MIT
 * What the guest asks of the processor: all that it knows of one is in the files named after it.
 * NAME.h defines what is inline here and says where the entries put registers, NAME_code.c reads
 * instructions, NAME_vectors.c keeps vector registers, NAME_*.S are the entries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define MG_LIKELY(x) __builtin_expect(!!(x), 1)
#define MG_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MG_INLINE static inline __attribute__((always_inline))

/* The counter that stamps are taken from. */
MG_INLINE uint64_t mg_counter(void);
/* Has it read only when all that was read from memory before is there. */
MG_INLINE void mg_order_counter(void);
/* A turn of a loop that waits. */
MG_INLINE void mg_relax(void);
/* Address of this thread's control block. */
MG_INLINE uint64_t mg_thread_pointer(void);
/* The kernel's result: -4095 to -1 are errors. */
MG_INLINE long mg_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			  uint64_t f);
/* Subtracts from a word that only this thread writes; is it 0 or less now? A signal handler that
 * does the same in between is counted whole or not at all. */
MG_INLINE bool mg_count_down(int64_t *left, uint64_t by);
/* Two words at a multiple of 16 become `new` at once if they are `old`. */
MG_INLINE bool mg_swap_pair(void *at, const uint64_t old[2], const uint64_t new[2]);
/* `b` where that bit is set in `flags`, else `a`; without a branch. */
MG_INLINE uint64_t mg_choose(uint64_t a, uint64_t b, uint64_t flags, uint64_t bit);

/* Which of the registers that a function keeps for its caller is the one of that number in DWARF's
 * count: from 0 below MG_KEPT; -1 = none of these, or bp. */
MG_INLINE int mg_kept_of(uint64_t dwarf);

struct mg_unwind_info;

/* Is that the return from a signal handler of a C library without CFI for it? A module has holes
 * between its segments, and `ip` may be any word of a stack. */
bool mg_is_sigreturn(const struct mg_unwind_info *info, uint64_t ip);
/* Tells whether there is a call in front of `ip`. If it cannot be seen, outside of [low, high), the
 * answer is yes. */
bool mg_is_called(uint64_t ip, uint64_t low, uint64_t high);
/* Tells whether a call of `entry` by its address is in front of `ip`; reads there in any case. */
bool mg_is_call_of(uint64_t ip, uint64_t entry);
/* Returns the rule of a call's return address in listed code that has no unwinding information, if
 * the code there goes straight to a return, else MG_RULE_CODE_END. No call: MG_RULE_NO_CODE. */
uint64_t mg_code_rule(uint64_t ip, const struct mg_range *r);
/* The rule of an instruction of a module that has no unwinding information for it, by what is
 * executed from there, or before: MG_RULE_FLOW_SP, MG_RULE_FLOW_BP or MG_RULE_NONE. `exact`: it was
 * interrupted; otherwise it is behind a call. Read is the module's code and nothing else. */
uint64_t mg_flow_rule(const struct mg_unwind_info *info, uint64_t at, bool exact);

/* Vector registers, which the caller of a hooked function may keep values in (-fipa-ra). Nothing
 * of ours touches them, but the dynamic linker does. Init: once, before the others. */
void mg_vectors_init(void);
void mg_vectors_save(void *area);
void mg_vectors_restore(const void *area);

#include MS_CPU_H
