/* SPDX-License-Identifier: MIT
 * Defines the code that slots of functions hooked by --hook jump to.
 *
 * Every register but x16, x17, x29 and x30 is as its caller left it when the function begins, and
 * as the function left it when it returns; flags too. x29 leads to our frame, so that the chain of
 * frames tells whether the function still runs (mg_has_left), and is the caller's again
 * afterwards. Vector registers are never touched. Below what
 * aarch64_macros.h says is a copy of the words above the frame, where arguments may be. If
 * mg_custom_before returns 0, the entry jumps to the function with the stack as it was, and does
 * not see it return.
 *
 * The unwind table is for exceptions that pass through: the frame is simple, and its personality
 * function notes the exception (custom.c).
 */
#include "aarch64_macros.h"
	.text
	.set ARGS, 16*8	/* bytes of stack arguments that are copied */

	/* Copies four words of the arguments on the stack. */
	.macro copy from
	ldp x0, x1, [x29, #FRAME+\from]
	ldp x2, x3, [x29, #FRAME+\from+16]
	stp x0, x1, [sp, #\from]
	stp x2, x3, [sp, #\from+16]
	.endm
	.macro load_flags
	ldr x16, [x29, #3*8]
	msr nzcv, x16
	.endm

	.globl mg_entry_custom
	.hidden mg_entry_custom
	.type mg_entry_custom, %function
	.globl mg_entry_custom_back
	.hidden mg_entry_custom_back
	.p2align 5
mg_entry_custom:
	.cfi_startproc
	.cfi_personality 0x1b, mg_custom_personality
	save cfi=1
	mrs x16, nzcv
	str x16, [x29, #3*8]
	adr x16, mg_entry_custom_back
	stur x16, [x29, #-30*8]
	arguments
	bl mg_custom_before
	cbz w0, pass
	sub sp, sp, #ARGS
	copy 0
	copy 32
	copy 64
	copy 96
	load_before
	load_flags
	ldur x17, [x29, #-29*8]
	blr x17
mg_entry_custom_back:
	store_after
	mrs x16, nzcv
	str x16, [x29, #3*8]
	arguments
	bl mg_custom_after
	load_after
	load_flags
	leave
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_def_cfa x29, FRAME
	.cfi_offset x29, -FRAME
	.cfi_offset x30, 8-FRAME
pass:
	load_before
	load_flags
	ldur x17, [x29, #-29*8]
	leave
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	br x17
	.cfi_endproc
	.size mg_entry_custom, .-mg_entry_custom

	.section .note.GNU-stack, "", %progbits
