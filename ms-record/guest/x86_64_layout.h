/* SPDX-License-Identifier: MIT
 * x86-64: what layout.h says of entries and registers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Registers in MG_COPY, as they were inside the guest: unwinding starts there and frames in the
 * guest are dropped. */
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

/* Registers that a function keeps for its caller, beside bp. */
#define MG_KEPT 5u

/* Defines where the C libraries keep a thread's number, in bytes from its thread pointer. */
#define MG_TID_GLIBC 720u
#define MG_TID_MUSL 48u
/* Defines where musl keeps the start of a thread's stack, in bytes from its thread pointer; the
 * value there is 0 if the stack is on memory of the program's own. */
#define MG_STACK_MUSL 72u

/* The jump at the entry of a hooked function. */
#define MG_JUMP_BYTES 5u                     /* of the jump */
#define MG_JUMP_FIRST 2u                     /* of a jump to itself, which is there in between */
#define MG_JUMP_REACH (UINT64_C(0x7f) << 24) /* a little less than 2 GiB */
#define MG_JUMP_REACH_NAME "2 GiB"
#define MG_DISPLACED_MAX 20u /* the longest instruction that begins in the first 5 bytes */
#define MG_SLOT_BYTES 128u

/* In front of a slot's displaced instructions. */
struct mg_slot_head {
	uint8_t code[16];
	uint64_t enter;     /* of the image */
	uint64_t displaced; /* address of the displaced instructions */
	uint64_t hook;      /* of the manifest */
};
#define MG_SLOT_DISPLACED 40u /* offset of those */

#define MG_CALL_MOST 7u /* bytes of a call */
/* Is there one in front of that return address? So many bytes can be read there. */
static inline bool mg_is_call(const uint8_t *after)
{
	bool is = after[-5] == 0xe8;
	for (unsigned n = 2; n <= MG_CALL_MOST && !is; n++)
		is = after[-(int)n] == 0xff && (after[1 - (int)n] & 0x38) == 0x10;
	return is;
}
