/* SPDX-License-Identifier: MIT
 * Defines the entry points of the preload library that cannot be written in C.
 */
#include <sys/syscall.h>
	.text

	/* Defines a function that saves the callee-saved registers in its stack frame, and passes
	 * that and its own two arguments to `next`. */
	.macro ENTER name, next
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
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
	.cfi_endproc
	.size \name, .-\name
	.endm
	.hidden mg_end_enter
	ENTER mg_end_enter, mg_end_hold
	ENTER memscope_v1_retention, mg_retention

	/* Calls mg_end_enter for quick_exit, which does not pass the status to its handlers. */
	.globl mg_end_enter_quick
	.hidden mg_end_enter_quick
	.type mg_end_enter_quick, @function
mg_end_enter_quick:
	.cfi_startproc
	endbr64
	xor %esi, %esi
	jmp mg_end_enter
	.cfi_endproc
	.size mg_end_enter_quick, .-mg_end_enter_quick

	/* Jumps to the next provider of one of the calls in exec.c, with all registers
	 * unchanged. `raw`: the first argument is a system call number. */
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

	/* Jumps to the real vfork instead of calling it, because vfork returns twice to its
	 * caller. */
	.globl vfork
	.type vfork, @function
vfork:
	.cfi_startproc
	endbr64
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call mg_end_vfork
	add $8, %rsp
	.cfi_def_cfa_offset 8
	jmp *%rax
	.cfi_endproc
	.size vfork, .-vfork

	/* Handles nine system calls itself, and jumps to the real syscall (the first word of
	 * mg_real) for all others, with the stack unchanged: some return twice, or on another
	 * stack. */
	.globl syscall
	.type syscall, @function
syscall:
	.cfi_startproc
	endbr64
	cmp $SYS_execve, %rdi
	je 1f
	cmp $SYS_execveat, %rdi
	je 2f
	cmp $SYS_prctl, %rdi
	je mg_rare_syscall
	cmp $SYS_seccomp, %rdi
	je mg_rare_syscall
	cmp $SYS_madvise, %rdi
	je mg_rare_syscall
	cmp $SYS_mlockall, %rdi
	je mg_rare_syscall
	cmp $SYS_mmap, %rdi
	je mg_map_syscall
	cmp $SYS_munmap, %rdi
	je mg_map_syscall
	cmp $SYS_mremap, %rdi
	je mg_map_syscall
	jmp *mg_real(%rip)
1:
	exec_body 11, 1
2:
	exec_body 12, 1
	.cfi_endproc
	.size syscall, .-syscall

	/* Defines an entry that passes all registers and the stack on unchanged, because some of
	 * the calls are variadic. */
	.macro EXEC name, which
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
	exec_body \which
	.cfi_endproc
	.size \name, .-\name
	.endm
	EXEC execve, 0
	EXEC execv, 1
	EXEC execvp, 2
	EXEC execvpe, 3
	EXEC execl, 4
	EXEC execle, 5
	EXEC execlp, 6
	EXEC posix_spawn, 7
	EXEC posix_spawnp, 8
	EXEC fexecve, 9
	EXEC execveat, 10

	.section .note.GNU-stack, "", @progbits
