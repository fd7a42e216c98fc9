/* SPDX-License-Identifier: MIT
 * Two libraries whose function `plug` has the same code addresses and frames of different size (ROOM).
 */
	.text
	.globl plug
	.type plug, @function
plug:
	.cfi_startproc
	lea -ROOM(%rsp), %rsp
	.cfi_adjust_cfa_offset ROOM
	call *%rdi
	lea ROOM(%rsp), %rsp
	.cfi_adjust_cfa_offset -ROOM
	ret
	.cfi_endproc
	.size plug, .-plug
	.section .note.GNU-stack, "", @progbits
