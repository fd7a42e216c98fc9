/* SPDX-License-Identifier: MIT
 * Defines for aarch64 what layout.h needs of entries and registers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers the registers of a stack copy (MG_COPY), as they were inside the guest: unwinding
 * starts there, and the guest's frames are dropped. */
enum mg_copy_reg {
	MG_REG_IP,
	MG_REG_SP,
	MG_REG_BP,   /* x29 */
	MG_REG_LINK, /* x30 */
	MG_REG_X19,
	MG_COPY_REGS = MG_REG_X19 + 10
};

/* Number of bits of the addresses that a program has, without extensions of the processor. */
#define MG_ADDRESS_BITS 48u
#define MG_ADDRESS_END (UINT64_C(1) << MG_ADDRESS_BITS)
/* Number of bits that tell addresses of code apart, and these bits of `ip`, with MG_EXACT_IP in its
 * place. Instructions have 4 bytes. */
#define MG_CODE_BITS (MG_ADDRESS_BITS - 2)
#define MG_CODE_KEY(ip) (((ip) & (MG_ADDRESS_END - 1)) >> 2 | ((ip)&UINT64_C(1) << 63))

/* Distance in bytes from a return address to the CFA above it; 0 = a function's rule tells it. */
#define MG_RETURN_BELOW 0u

/* 1 = a tick of the counter may be longer than an event; see mg_stamp */
#define MG_TICKS_LONG 1
/* The counter counts 1 to 52 ns. Stamps are its count times 2 to this power, so that more events than
 * a tick can hold fit between two of them. */
#define MG_COUNTER_SHIFT 4

/* number of callee-saved registers other than bp */
#define MG_KEPT 10u

/* Offsets in bytes from a thread pointer, which the thread's block is below, at which the C
 * libraries store the thread's tid. */
#define MG_TID_GLIBC (-1648)
#define MG_TID_MUSL (-168)
/* Offset in bytes from a thread pointer at which musl stores the start of the thread's stack;
 * the value there is 0 if the program provided the stack's memory. */
#define MG_STACK_MUSL ((uint64_t)-128)
/* Offsets in bytes from a thread pointer in glibc's thread control block of the first and last
 * words in which the stack's bounds are searched. MG_IS_BLOCK tells whether `tp` can point to such a
 * block: nothing in it says so here. */
#define MG_BLOCK_LOW (-1664)
#define MG_BLOCK_HIGH 0
#define MG_TP_IS_THERE 0
#define MG_IS_BLOCK(tp) true

/* The jump at the entry of a hooked function. */
#define MG_JUMP_BYTES 4u /* size in bytes: one instruction, so that no other one is inside it */
#define MG_JUMP_FIRST 4u
#define MG_JUMP_REACH (UINT64_C(0x7f) << 20) /* a little less than 128 MiB */
#define MG_JUMP_REACH_NAME "128 MiB"
#define MG_DISPLACED_MAX 8u /* maximum size of the instructions that the jump replaces */
#define MG_SLOT_BYTES 128u

/* Describes the head of a hook's slot, which precedes the displaced instructions. */
struct mg_slot_head {
	uint8_t code[16];
	uint64_t enter;     /* address of the guest image's code that the hook slot jumps to */
	uint64_t displaced; /* address of the displaced instructions */
	uint64_t hook;      /* address of the manifest's mg_hook */
};
#define MG_SLOT_DISPLACED 40u /* offset, in a hook slot, of its displaced instructions */

#define MG_CALL_MOST 4u /* maximum size of a call instruction */
/* Tells whether a call instruction ends at `after`: bl, blr or one of the forms of blr that
 * authenticate a pointer; MG_CALL_MOST bytes before it have to be readable. */
static inline bool mg_is_call(const uint8_t *after)
{
	uint32_t code = after[-4] | (uint32_t)after[-3] << 8 | (uint32_t)after[-2] << 16 |
			(uint32_t)after[-1] << 24;
	return code >> 26 == 0x25 || (code & 0xfefff000) == 0xd63f0000;
}
