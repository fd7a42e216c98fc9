/* SPDX-License-Identifier: MIT
 * Defines for x86-64 what layout.h needs of entries and registers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers the registers of a stack copy (MG_COPY), as they were inside the guest: unwinding
 * starts there, and the guest's frames are dropped. */
enum mg_copy_reg {
	MG_REG_IP,
	MG_REG_SP,
	MG_REG_BP,
	MG_REG_RBX,
	MG_REG_R12,
	MG_REG_R13,
	MG_REG_R14,
	MG_REG_R15,
	MG_COPY_REGS
};

/* Number of bits of the addresses that a program has, without extensions of the processor. */
#define MG_ADDRESS_BITS 47u
#define MG_ADDRESS_END (UINT64_C(1) << MG_ADDRESS_BITS)
/* Number of bits that tell addresses of code apart, and these bits of `ip`, with MG_EXACT_IP in its
 * place. */
#define MG_CODE_BITS MG_ADDRESS_BITS
#define MG_CODE_KEY(ip) (ip)

/* Distance in bytes from a return address to the CFA above it; 0 = a function's rule tells it. */
#define MG_RETURN_BELOW 8u

/* 1 = a tick of the counter may be longer than an event; see mg_stamp */
#define MG_TICKS_LONG 0

/* number of callee-saved registers other than bp */
#define MG_KEPT 5u

/* Offsets in bytes from a thread pointer at which the C libraries store the thread's tid. */
#define MG_TID_GLIBC 720u
#define MG_TID_MUSL 48u
/* Offset in bytes from a thread pointer at which musl stores the start of the thread's stack;
 * the value there is 0 if the program provided the stack's memory. */
#define MG_STACK_MUSL 72u
/* Offsets in bytes from a thread pointer in glibc's thread control block of the first and last
 * words in which the stack's bounds are searched. MG_IS_BLOCK tells whether `tp` points to such a
 * block, in which is its own address. */
#define MG_BLOCK_LOW 704
#define MG_BLOCK_HIGH 2304
#define MG_TP_IS_THERE 1 /* the thread pointer is in the words 0 and 2 that it points to */
#define MG_IS_BLOCK(tp) (*(const volatile uint64_t *)((tp) + 16) == (tp))

/* The jump at the entry of a hooked function. */
#define MG_JUMP_BYTES 5u /* size in bytes */
/* size in bytes of a jump to itself, written while the entry is being patched */
#define MG_JUMP_FIRST 2u
#define MG_JUMP_REACH (UINT64_C(0x7f) << 24) /* a little less than 2 GiB */
#define MG_JUMP_REACH_NAME "2 GiB"
/* maximum size of the instructions that begin in the first 5 bytes */
#define MG_DISPLACED_MAX 20u
#define MG_SLOT_BYTES 128u

/* Describes the head of a hook's slot, which precedes the displaced instructions. */
struct mg_slot_head {
	uint8_t code[16];
	uint64_t enter;     /* address of the guest image's code that the hook slot jumps to */
	uint64_t displaced; /* address of the displaced instructions */
	uint64_t hook;      /* address of the manifest's mg_hook */
};
#define MG_SLOT_DISPLACED 40u /* offset, in a hook slot, of its displaced instructions */

#define MG_CALL_MOST 7u /* maximum size of a call instruction */
/* Tells whether a call instruction ends at `after`; MG_CALL_MOST bytes before it have to be
 * readable. */
static inline bool mg_is_call(const uint8_t *after)
{
	bool is = after[-5] == 0xe8;
	for (unsigned n = 2; n <= MG_CALL_MOST && !is; n++)
		is = after[-(int)n] == 0xff && (after[1 - (int)n] & 0x38) == 0x10;
	return is;
}
