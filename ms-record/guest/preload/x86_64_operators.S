/* SPDX-License-Identifier: MIT
 * x86-64: the entries of C++'s operators new and delete.
 */
	.macro entry
	endbr64
	.endm
	.macro jump_to_target
	jmp *mg_cxx_target+8*index(%rip)
	.endm
	.macro jump_to_wrapper what
	mov $index, %ecx
	jmp mg_cxx_\what
	.endm
#include "operators.inc"
