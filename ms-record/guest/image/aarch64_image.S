/* SPDX-License-Identifier: MIT
 * Defines the code that slots of hooked functions jump to.
 *
 * A compiler that sees both ends of a call keeps values in registers that the function does not
 * change (-fipa-ra). So the function finds every register but x16, x17 and x30 as its caller left
 * it, and the caller every register as the function left it; sp is all that differs in between.
 * Vector registers are never touched: nothing that is called from here uses them.
 */
#include "ms-record/guest/aarch64_macros.h"
	.text

	/* Defines an entry with a hook before and after the function. */
	.globl mg_entry_alloc
	.hidden mg_entry_alloc
	.type mg_entry_alloc, %function
	.globl mg_entry_back
	.hidden mg_entry_back
	.p2align 5
mg_entry_alloc:
	save
	adr x16, mg_entry_back
	stur x16, [x29, #-30*8]
	arguments
	bl mg_image_before
	load_before
	ldur x17, [x29, #-29*8]
	ldr x29, [x29]
	blr x17
mg_entry_back:
	add x29, sp, #BELOW
	store_after
	arguments
	bl mg_image_after
	load_after
	leave
	ret
	.size mg_entry_alloc, .-mg_entry_alloc

	/* Defines an entry with a hook before the function only; the function returns directly
	 * to its caller. */
	.macro entry_before name, hook
	.globl \name
	.hidden \name
	.type \name, %function
	.p2align 5
\name:
	save
	arguments
	bl \hook
	load_before
	ldur x17, [x29, #-29*8]
	leave
	br x17
	.size \name, .-\name
	.endm

	entry_before mg_entry_free, mg_image_free
	entry_before mg_entry_linker, mg_image_linker

	.section .note.GNU-stack, "", %progbits
