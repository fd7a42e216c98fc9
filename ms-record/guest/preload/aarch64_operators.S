/* SPDX-License-Identifier: MIT
 * aarch64: the entries of C++'s operators new and delete.
 */
	.macro entry
	.endm
	.macro jump_to_target
	adrp x16, mg_cxx_target+8*index
	ldr x16, [x16, :lo12:mg_cxx_target+8*index]
	br x16
	.endm
	.macro jump_to_wrapper what
	mov w3, #index
	b mg_cxx_\what
	.endm
#include "operators.inc"
