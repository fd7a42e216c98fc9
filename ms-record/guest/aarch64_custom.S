/* SPDX-License-Identifier: MIT
 * Names the code that slots of functions hooked by --hook jump to. No slot is made on aarch64
 * (ms-record/attach/aarch64_patch.c), so it is a trap.
 */
	.text
	.globl mg_entry_custom
	.hidden mg_entry_custom
	.type mg_entry_custom, %function
	.globl mg_entry_custom_back
	.hidden mg_entry_custom_back
mg_entry_custom:
mg_entry_custom_back:
	brk #0
	.size mg_entry_custom, .-mg_entry_custom

	.section .note.GNU-stack, "", %progbits
