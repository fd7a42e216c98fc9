/* SPDX-License-Identifier: MIT
 * aarch64: the entry points of the preload library that cannot be written in C.
 */
	.macro entry
	.endm

	/* The registers are saved below the frame: bp, return address, its caller's sp. */
	.macro enter_body next
	stp x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	add x9, sp, #32
	str x9, [sp, #16]
	mov x29, sp
	.cfi_def_cfa_register x29
	stp x20, x19, [sp, #-16]!
	stp x22, x21, [sp, #-16]!
	stp x24, x23, [sp, #-16]!
	stp x26, x25, [sp, #-16]!
	stp x28, x27, [sp, #-16]!
	mov x2, x1
	mov x1, x0
	mov x0, x29
	bl \next
	ldp x28, x27, [sp], #16
	ldp x26, x25, [sp], #16
	ldp x24, x23, [sp], #16
	ldp x22, x21, [sp], #16
	ldp x20, x19, [sp], #16
	.cfi_def_cfa_register sp
	ldp x29, x30, [sp], #32
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.endm

	.macro quick_body
	mov x1, #0
	b mg_end_enter
	.endm

	/* Saves and restores all registers that may hold arguments, and the return address. */
	.macro keep
	stp x29, x30, [sp, #-96]!
	.cfi_def_cfa_offset 96
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	.endm
	.macro give_back
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp x29, x30, [sp], #96
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	.endm

	.macro exec_body which, raw=0
	.cfi_remember_state
	keep
	.if !\raw
	mov x2, x1
	mov x1, x0
	.endif
	mov w0, #\which
	bl mg_exec_next
	mov x16, x0
	give_back
	br x16
	.cfi_restore_state
	.endm

	.macro vfork_body
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	bl mg_end_vfork
	ldp x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	mov x16, x0
	br x16
	.endm

	.macro on_syscall number, to, near
	cmp x0, #\number
	b.eq \near
	.endm
	.macro syscall_rest
	adrp x16, mg_real
	ldr x16, [x16, :lo12:mg_real]
	br x16
3:
	b mg_rare_syscall
4:
	b mg_map_syscall
	.endm
#include "preload.inc"
