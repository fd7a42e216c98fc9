/* SPDX-License-Identifier: MIT
 * The entries of C++'s operators new and delete: each jumps to where mg_cxx_target says, at first to code that finds that out (cxx.c).
 * A jump and not a call: the operator of libstdc++ or libc++ calls malloc, which records it, and must see its own caller.
 */
	.text
	.macro operator name index
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
	jmp *mg_cxx_target+8*\index(%rip)
	.cfi_endproc
	.size \name, .-\name
	.type first_\index, @function
first_\index:
	.cfi_startproc
	endbr64
	push $\index
	.cfi_adjust_cfa_offset 8
	jmp find
	.cfi_endproc
	.size first_\index, .-first_\index
	.section .data.rel.local, "aw", @progbits
	.quad first_\index
	.text
	.endm

	.section .data.rel.local, "aw", @progbits
	.balign 16
	.globl mg_cxx_target
	.hidden mg_cxx_target
	.type mg_cxx_target, @object
mg_cxx_target:
	.text

/* On the stack: the index, the caller's return address. The arguments are kept. */
	.type find, @function
find:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	push %rdx
	.cfi_adjust_cfa_offset 8
	push %rcx
	.cfi_adjust_cfa_offset 8
	mov 32(%rsp), %rdi
	mov 40(%rsp), %rsi
	call mg_cxx_find
	pop %rcx
	.cfi_adjust_cfa_offset -8
	pop %rdx
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_endproc
	.size find, .-find

	operator _Znwm 0
	operator _Znam 1
	operator _ZnwmRKSt9nothrow_t 2
	operator _ZnamRKSt9nothrow_t 3
	operator _ZnwmSt11align_val_t 4
	operator _ZnamSt11align_val_t 5
	operator _ZnwmSt11align_val_tRKSt9nothrow_t 6
	operator _ZnamSt11align_val_tRKSt9nothrow_t 7
	operator _ZdlPv 8
	operator _ZdaPv 9
	operator _ZdlPvm 10
	operator _ZdaPvm 11
	operator _ZdlPvRKSt9nothrow_t 12
	operator _ZdaPvRKSt9nothrow_t 13
	operator _ZdlPvSt11align_val_t 14
	operator _ZdaPvSt11align_val_t 15
	operator _ZdlPvmSt11align_val_t 16
	operator _ZdaPvmSt11align_val_t 17
	operator _ZdlPvSt11align_val_tRKSt9nothrow_t 18
	operator _ZdaPvSt11align_val_tRKSt9nothrow_t 19

	.section .data.rel.local, "aw", @progbits
	.size mg_cxx_target, 160
	.section .note.GNU-stack, "", @progbits
