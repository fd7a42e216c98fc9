/* SPDX-License-Identifier: MIT
 * Defines the entries of C++'s operators new and delete. Each jumps to the address in
 * mg_cxx_target: the provider, or the wrapper in cxx.c that calls it and records. It jumps instead
 * of calling, because the operators of libstdc++ and libc++ call malloc, whose hook must see the
 * operator's own caller.
 */
	.text
	.macro operator name what
	.globl \name
	.type \name, %function
\name:
	.cfi_startproc
	adrp x16, mg_cxx_target+8*index
	ldr x16, [x16, :lo12:mg_cxx_target+8*index]
	br x16
	.cfi_endproc
	.size \name, .-\name
	.type wrapper_\name, %function
wrapper_\name:
	.cfi_startproc
	mov w3, #index
	b mg_cxx_\what
	.cfi_endproc
	.size wrapper_\name, .-wrapper_\name
	.section .data.rel.local, "aw", %progbits
	.quad mg_cxx_plain_\what
	.section .data.rel.ro.local.wrapper, "aw", %progbits
	.quad wrapper_\name
	.section .data.rel.ro.local.name, "aw", %progbits
	.quad name_\name
	.section .rodata.str1.1, "aMS", %progbits, 1
name_\name:
	.string "\name"
	.text
	.set index, index + 1
	.endm

	.macro table name section
	.section \section, "aw", %progbits
	.balign 16
	.globl \name
	.hidden \name
	.type \name, %object
\name:
	.endm
	table mg_cxx_target .data.rel.local
	table mg_cxx_wrapper .data.rel.ro.local.wrapper
	table mg_cxx_name .data.rel.ro.local.name
	.text

	.set index, 0
#define MS_HOOK_NEW(name) operator name new;
#define MS_HOOK_DELETE(name) operator name delete;
#include "format/functions.def"
	.irp name, mg_cxx_target, mg_cxx_wrapper, mg_cxx_name
	.size \name, 8*index
	.endr

	.section .note.GNU-stack, "", %progbits
