/* SPDX-License-Identifier: MIT
 * Macros for the assembly code that hooked functions jump to: they load or store many registers at
 * once.
 */
/* clang-format off */
	/* `load` loads registers from consecutive words of the stack, `store` stores registers
	 * there; the first word is at `from`(%rsp). */
	.macro load from regs:vararg
	.set word, \from
	.irp reg, \regs
	mov word(%rsp), %\reg
	.set word, word + 8
	.endr
	.endm
	.macro store from regs:vararg
	.set word, \from
	.irp reg, \regs
	mov %\reg, word(%rsp)
	.set word, word + 8
	.endr
	.endm
	.macro push_all cfi=0
	.irp reg, rbx, r12, r13, r14, r15, rdi, rsi, rdx, rcx, r8, r9, r10, r11, rax
	push %\reg
	.if \cfi
	.cfi_adjust_cfa_offset 8
	.endif
	.endr
	.endm
