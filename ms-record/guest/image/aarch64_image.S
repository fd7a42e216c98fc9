/* SPDX-License-Identifier: MIT
 * Names the code that slots of hooked functions jump to. No running process is hooked on aarch64
 * (CPU_ATTACHES), so it is a trap.
 */
	.text
	.irp name, mg_entry_alloc, mg_entry_back, mg_entry_free, mg_entry_linker
	.globl \name
	.hidden \name
	.type \name, %function
\name:
	.endr
	brk #0

	.section .note.GNU-stack, "", %progbits
