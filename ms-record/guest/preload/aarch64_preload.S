/* SPDX-License-Identifier: MIT
 * Defines the entry points of the preload library that cannot be written in C.
 */
#include <sys/syscall.h>
	.text

	/* Defines a function that saves the callee-saved registers below the frame that it makes
	 * (bp, return address, its caller's sp), and passes that and its own two arguments to
	 * `next`. */
	.macro ENTER name, next
	.globl \name
	.type \name, %function
\name:
	.cfi_startproc
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
	.cfi_endproc
	.size \name, .-\name
	.endm
	.hidden mg_end_enter
	ENTER mg_end_enter, mg_end_hold
	ENTER memscope_v1_retention, mg_retention

	/* Calls mg_end_enter for quick_exit, which does not pass the status to its handlers. */
	.globl mg_end_enter_quick
	.hidden mg_end_enter_quick
	.type mg_end_enter_quick, %function
mg_end_enter_quick:
	.cfi_startproc
	mov x1, #0
	b mg_end_enter
	.cfi_endproc
	.size mg_end_enter_quick, .-mg_end_enter_quick

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

	/* Jumps to the next provider of one of the calls in exec.c, with all registers
	 * unchanged. `raw`: the first argument is a system call number. */
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

	/* Jumps to the real vfork instead of calling it, because vfork returns twice to its
	 * caller. */
	.globl vfork
	.type vfork, %function
vfork:
	.cfi_startproc
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
	.cfi_endproc
	.size vfork, .-vfork

	/* Handles nine system calls itself, and jumps to the real syscall (the first word of
	 * mg_real) for all others, with the stack unchanged: some return twice, or on another
	 * stack. */
	.globl syscall
	.type syscall, %function
syscall:
	.cfi_startproc
	cmp x0, #SYS_execve
	b.eq 1f
	cmp x0, #SYS_execveat
	b.eq 2f
	cmp x0, #SYS_prctl
	b.eq 3f
	cmp x0, #SYS_seccomp
	b.eq 3f
	cmp x0, #SYS_madvise
	b.eq 3f
	cmp x0, #SYS_mlockall
	b.eq 3f
	cmp x0, #SYS_mmap
	b.eq 4f
	cmp x0, #SYS_munmap
	b.eq 4f
	cmp x0, #SYS_mremap
	b.eq 4f
	adrp x16, mg_real
	ldr x16, [x16, :lo12:mg_real]
	br x16
3:
	b mg_rare_syscall
4:
	b mg_map_syscall
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
	.type \name, %function
\name:
	.cfi_startproc
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

	.section .note.GNU-stack, "", %progbits
