/* SPDX-License-Identifier: MIT
 * Defines the code that slots of functions hooked by --hook jump to.
 *
 * A slot has pushed rbp and has left in it the address of {this code, displaced, hook}. Below the
 * frame {rbp, return address}:
 *
 * -1 rbx -2 r12 -3 r13 -4 r14 -5 r15 the caller's, for stack copies -6 rdi -7 rsi -8 rdx -9 rcx -10
 * r8 -11 r9 the arguments, later the values after the function -12 r10 -13 r11 -14 rax -15 flags the
 * same -16 displaced -17 hook -18 (alignment) -34 .. -19 a copy of the words above the frame, where
 * arguments may be -35 the function's return address: mg_entry_custom_back
 *
 * As in x86_64_image.S every register but rsp is as its caller left it when the function begins,
 * and as the function left it when it returns; flags too. Vector registers are never touched. If
 * mg_custom_before returns 0, the entry jumps to the function with the stack as it was, and does
 * not see it return.
 *
 * The unwind table is for exceptions that pass through: the frame is simple, and its personality
 * function notes the exception (custom.c).
 */
#include "x86_64_macros.h"
	.text
	.set FRAME, 144	/* offset of the frame from rsp before the arguments are copied */
	.set ARGS, 16	/* words of stack arguments that are copied */

	.macro restore
	pushq 24(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	load 32, rax, r11, r10, r9, r8, rcx, rdx, rsi, rdi
	.endm

	.globl mg_entry_custom
	.hidden mg_entry_custom
	.type mg_entry_custom, @function
	.p2align 5
mg_entry_custom:
	.cfi_startproc
	.cfi_personality 0x1b, mg_custom_personality
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	endbr64
	push_all cfi=1
	pushfq
	.cfi_adjust_cfa_offset 8
	lea -24(%rsp), %rsp
	.cfi_adjust_cfa_offset 24
	cld
	mov 8(%rbp), %rax
	mov %rax, 16(%rsp)
	mov 16(%rbp), %rsi
	mov %rsi, 8(%rsp)
	lea FRAME(%rsp), %rdi
	call mg_custom_before
	test %eax, %eax
	jz pass
	restore
	.rept ARGS
	pushq FRAME+16+8*(ARGS-1)(%rsp)
	.cfi_adjust_cfa_offset 8
	.endr
	mov FRAME+8*ARGS(%rsp), %rbp
	call *16+8*ARGS(%rsp)
	.globl mg_entry_custom_back
	.hidden mg_entry_custom_back
mg_entry_custom_back:
	lea 8*ARGS(%rsp), %rsp
	.cfi_adjust_cfa_offset -8*ARGS
	mov %rax, 32(%rsp)
	pushfq
	.cfi_adjust_cfa_offset 8
	popq 24(%rsp)
	.cfi_adjust_cfa_offset -8
	store 40, r11, r10, r9, r8, rcx, rdx, rsi, rdi
	cld
	lea FRAME(%rsp), %rdi
	mov 8(%rsp), %rsi
	call mg_custom_after
	restore
	lea FRAME(%rsp), %rsp
	.cfi_def_cfa_offset 16
	pop %rbp
	.cfi_restore %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_def_cfa_offset 16+FRAME
	.cfi_offset %rbp, -16
	/* Reads the function's address from the red zone, which
	 * signal handlers do not change. */
pass:
	mov 16(%rsp), %rax
	mov %rax, FRAME-8(%rsp)
	restore
	lea FRAME(%rsp), %rsp
	.cfi_def_cfa_offset 16
	pop %rbp
	.cfi_restore %rbp
	.cfi_def_cfa_offset 8
	jmp *-16(%rsp)
	.cfi_endproc
	.size mg_entry_custom, .-mg_entry_custom

	.section .note.GNU-stack, "", @progbits
