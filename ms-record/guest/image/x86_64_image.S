/* SPDX-License-Identifier: MIT
 * Defines the code that slots of hooked functions jump to.
 *
 * A slot has pushed rbp and has left in it the address of {this code, displaced, hook}. The frame
 * that a hook gets is {rbp, return address}, as in any function with a frame pointer; below it:
 *
 *   -1 rbx   -2 r12   -3 r13   -4 r14   -5 r15      the caller's, for stack copies
 *   -6 rdi   -7 rsi   -8 rdx                        arguments
 *   -9 rcx  -10 r8   -11 r9   -12 r10  -13 r11  -14 rax
 *  -15 rdi  -16 rsi  -17 rdx                        as the function left them
 *  -18 displaced  -19 hook  -20 (alignment)  -21 the function's return address: mg_entry_back
 *
 * A compiler that sees both ends of a call keeps values in registers that the function does not
 * change (-fipa-ra). So the function finds every register as its caller left it, and the caller
 * every register as the function left it; rsp is all that differs in between. Vector registers are
 * never touched: nothing that is called from here uses them.
 */
#include "ms-record/guest/x86_64_macros.h"
	.text

	.macro save
	push_all
	lea -48(%rsp), %rsp
	mov 8(%rbp), %rax
	mov %rax, 16(%rsp)
	mov 16(%rbp), %rax
	mov %rax, 8(%rsp)
	.endm

	.macro arguments
	lea 160(%rsp), %rdi
	mov 8(%rsp), %rsi
	.endm

	/* Defines an entry with a hook before and after the function. */
	.globl mg_entry_alloc
	.hidden mg_entry_alloc
	.type mg_entry_alloc, @function
	.p2align 5
mg_entry_alloc:
	endbr64
	save
	arguments
	call mg_image_before
	load 48, rax, r11, r10, r9, r8, rcx, rdx, rsi, rdi
	mov 160(%rsp), %rbp
	call *16(%rsp)
	.globl mg_entry_back
	.hidden mg_entry_back
mg_entry_back:
	store 48, rax, r11, r10, r9, r8, rcx
	store 24, rdx, rsi, rdi
	arguments
	call mg_image_after
	load 48, rax, r11, r10, r9, r8, rcx
	load 24, rdx, rsi, rdi
	lea 160(%rsp), %rsp
	pop %rbp
	ret
	.size mg_entry_alloc, .-mg_entry_alloc

	/* Defines an entry with a hook before the function only; the function returns directly
	 * to its caller. Reads the function's address from the red zone, in which a leaf
	 * function may keep data of its own; signal handlers do not change it. */
	.macro entry_before name, hook
	.globl \name
	.hidden \name
	.type \name, @function
	.p2align 5
\name:
	endbr64
	save
	arguments
	call \hook
	mov 16(%rsp), %rax
	mov %rax, 152(%rsp)
	load 48, rax, r11, r10, r9, r8, rcx, rdx, rsi, rdi
	lea 160(%rsp), %rsp
	pop %rbp
	jmp *-16(%rsp)
	.size \name, .-\name
	.endm

	entry_before mg_entry_free, mg_image_free
	entry_before mg_entry_linker, mg_image_linker

	.section .note.GNU-stack, "", @progbits
