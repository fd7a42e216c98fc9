/* SPDX-License-Identifier: MIT
 * Frames written by hand, for what compilers do not show.
 *
 * guest_stale(which, callback): 0: one -> p -> a -> callback, 1: one -> p -> b -> callback, 2: two -> p -> b -> callback.
 * p stands at the same place each time, but when two calls it its frame begins 16 bytes lower, and the place where one's return
 * address was is left as it was. a and b save rbp in different slots, and b leaves a's as it was. So after 0 and 1, stack 2 differs from
 * stack 1 in nothing but the return address below p and b's saved rbp: who still verifies a's slot sees no difference.
 */
	.text
	.globl guest_stale
	.type guest_stale, @function
guest_stale:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov %rsi, %rbx
	lea a(%rip), %rdx
	lea b(%rip), %rax
	lea one(%rip), %r8
	lea two(%rip), %r9
	test %edi, %edi
	cmovnz %rax, %rdx
	cmp $2, %edi
	cmove %r9, %r8
	call *%r8
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size guest_stale, .-guest_stale

	.macro caller name room size
	.type \name, @function
\name:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	sub $\room, %rsp
	mov $\size, %esi
	call p
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size \name, .-\name
	.endm
	caller one 32 64
	caller two 48 48

	.type p, @function
p:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	sub %rsi, %rsp
	call *%rdx
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size p, .-p

	.type a, @function
a:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	xor %ebp, %ebp
	call *%rbx
	pop %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size a, .-a

	.type b, @function
b:
	.cfi_startproc
	sub $16, %rsp
	.cfi_def_cfa_offset 24
	push %rbp
	.cfi_def_cfa_offset 32
	.cfi_offset %rbp, -32
	xor %ebp, %ebp
	call *%rbx
	pop %rbp
	.cfi_def_cfa_offset 24
	add $16, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size b, .-b

/* guest_complex(callback): the CFA is taken from rbx, a rule that the guest leaves to ms-record. */
	.globl guest_complex
	.type guest_complex, @function
guest_complex:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov %rsp, %rbx
	.cfi_def_cfa_register %rbx
	sub $64, %rsp
	and $-64, %rsp
	call *%rdi
	mov %rbx, %rsp
	.cfi_def_cfa_register %rsp
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size guest_complex, .-guest_complex
	.section .note.GNU-stack, "", @progbits
