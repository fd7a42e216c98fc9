/* SPDX-License-Identifier: MIT
 * Entry points of the preload library that the compiler cannot write.
 */
#include <sys/syscall.h>
	.text

	/* Saves the registers that a function keeps for its caller, and calls mg_end_hold with its frame. */
	.globl mg_end_enter
	.hidden mg_end_enter
	.type mg_end_enter, @function
mg_end_enter:
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
	call mg_end_hold
	mov -8(%rbp), %rbx
	mov -16(%rbp), %r12
	mov -24(%rbp), %r13
	mov -32(%rbp), %r14
	mov -40(%rbp), %r15
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size mg_end_enter, .-mg_end_enter

	/* Does the same for quick_exit, whose handlers do not get the status. */
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

	/* Goes on to the next provider of one of the calls of exec.c with all registers as they are. `raw`: the first parameter is a system call's number. */
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

	/* Returns twice to its caller, so the real one is jumped to. */
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

	/* All but nine are the real one's (the first word of mg_real), with the stack as it is: some return twice, or on another one. */
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

	/* Some have any number of parameters: all go on to the real one as they are. */
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
