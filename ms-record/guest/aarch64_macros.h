/* SPDX-License-Identifier: MIT
 * Macros for the assembly code that hooked functions jump to, and the layout of its frame.
 *
 * A slot has left in x17 the address of {this code, displaced, hook}; x16 and x17 are free. The
 * frame that a hook gets is {x29, return address, caller's sp, flags}; below it, in words:
 *
 *   -1 .. -10  x19 .. x28: the caller's, for stack copies
 *  -11 .. -18  x0 .. x7: arguments; x3 .. x7 are later as the function left them
 *        -19   x8
 *        -20   x0 as the function left it
 *  -21 .. -28  x9 .. x15, x18
 *        -29   displaced: the function's code, which is called
 *        -30   where the function returns to
 *        -31   hook
 *  -32, -33    x1, x2 as the function left them
 *        -34   (alignment)
 */
/* clang-format off */
	.set BELOW, 34*8	/* bytes below the frame */
	.set FRAME, 4*8

	/* Makes the frame, stores all registers below it, and sets x29 to the frame. */
	.macro save cfi=0
	stp x29, x30, [sp, #-FRAME]!
	.if \cfi
	.cfi_def_cfa_offset FRAME
	.cfi_offset x29, -FRAME
	.cfi_offset x30, 8-FRAME
	.endif
	add x16, sp, #FRAME
	str x16, [sp, #16]
	mov x29, sp
	.if \cfi
	.cfi_def_cfa x29, FRAME
	.endif
	sub sp, sp, #BELOW
	stp x20, x19, [x29, #-2*8]
	stp x22, x21, [x29, #-4*8]
	stp x24, x23, [x29, #-6*8]
	stp x26, x25, [x29, #-8*8]
	stp x28, x27, [x29, #-10*8]
	stp x1, x0, [x29, #-12*8]
	stp x3, x2, [x29, #-14*8]
	stp x5, x4, [x29, #-16*8]
	stp x7, x6, [x29, #-18*8]
	stur x8, [x29, #-19*8]
	stp x10, x9, [x29, #-22*8]
	stp x12, x11, [x29, #-24*8]
	stp x14, x13, [x29, #-26*8]
	stp x18, x15, [x29, #-28*8]
	ldp x16, x17, [x17, #8]
	stur x16, [x29, #-29*8]
	stur x17, [x29, #-31*8]
	.endm

	/* Loads the argument registers of a hook: the frame and the hook. */
	.macro arguments
	mov x0, x29
	ldur x1, [x29, #-31*8]
	.endm

	/* Loads the registers that have one place only. */
	.macro load_rest
	ldp x3, x2, [x29, #-14*8]
	ldp x5, x4, [x29, #-16*8]
	ldp x7, x6, [x29, #-18*8]
	ldur x8, [x29, #-19*8]
	ldp x10, x9, [x29, #-22*8]
	ldp x12, x11, [x29, #-24*8]
	ldp x14, x13, [x29, #-26*8]
	ldp x18, x15, [x29, #-28*8]
	.endm
	/* Loads the registers as the function was called with. */
	.macro load_before
	ldp x1, x0, [x29, #-12*8]
	load_rest
	.endm
	/* Stores the registers as the function left them, except those that the guest's code keeps. */
	.macro store_after
	stur x0, [x29, #-20*8]
	stp x2, x1, [x29, #-33*8]
	stp x4, x3, [x29, #-15*8]
	stp x6, x5, [x29, #-17*8]
	stp x8, x7, [x29, #-19*8]
	stp x10, x9, [x29, #-22*8]
	stp x12, x11, [x29, #-24*8]
	stp x14, x13, [x29, #-26*8]
	stp x18, x15, [x29, #-28*8]
	.endm
	.macro load_after
	load_rest
	ldur x0, [x29, #-20*8]
	ldp x2, x1, [x29, #-33*8]
	.endm
	/* Takes the frame away; x16 and x17 stay. */
	.macro leave
	mov sp, x29
	ldp x29, x30, [sp], #FRAME
	.endm
