/* SPDX-License-Identifier: MIT
 * Two libraries whose function `plug` has the same code addresses and frames of different size (ROOM). Where the return address would be by the
 * smaller one's rule, the larger one has the address of a root too, so that a stale rule leads somewhere.
 */
	.text
	.globl plug
	.type plug, @function
plug:
	.cfi_startproc
	lea -ROOM(%rsp), %rsp
	.cfi_adjust_cfa_offset ROOM
	lea root+1(%rip), %rax
	mov %rax, DECOY(%rsp)
	call *%rdi
	lea ROOM(%rsp), %rsp
	.cfi_adjust_cfa_offset -ROOM
	ret
	.cfi_endproc
	.size plug, .-plug
	.type root, @function
root:
	.cfi_startproc
	.cfi_undefined rip
	nop
	nop
	.cfi_endproc
	.size root, .-root
	.section .note.GNU-stack, "", @progbits
