/* SPDX-License-Identifier: MIT
 * x86-64: the entry points of the preload library that cannot be written in C.
 */
	.macro entry
	endbr64
	.endm

	.macro enter_body next
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	push $0
	mov %rsi, %rdx
	mov %rdi, %rsi
	mov %rbp, %rdi
	call \next
	mov -8(%rbp), %rbx
	mov -16(%rbp), %r12
	mov -24(%rbp), %r13
	mov -32(%rbp), %r14
	mov -40(%rbp), %r15
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.endm

	.macro quick_body
	xor %esi, %esi
	jmp mg_end_enter
	.endm

	.macro exec_body which, raw=0
	.irp register, rdi, rsi, rdx, rcx, r8, r9, rax
	push %\register
	.cfi_adjust_cfa_offset 8
	.endr
	.if !\raw
	mov %rsi, %rdx
	mov %rdi, %rsi
	.endif
	mov $\which, %edi
	call mg_exec_next
	mov %rax, %r11
	.irp register, rax, r9, r8, rcx, rdx, rsi, rdi
	pop %\register
	.cfi_adjust_cfa_offset -8
	.endr
	jmp *%r11
	.endm

	.macro vfork_body
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call mg_end_vfork
	add $8, %rsp
	.cfi_def_cfa_offset 8
	jmp *%rax
	.endm

	.macro on_syscall number, to, near
	cmp $\number, %rdi
	je \to
	.endm
	.macro syscall_rest
	jmp *mg_real(%rip)
	.endm
#include "preload.inc"
