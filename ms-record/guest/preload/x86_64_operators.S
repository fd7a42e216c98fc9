/* SPDX-License-Identifier: MIT
 * The entries of C++'s operators new and delete: each jumps to where mg_cxx_target says, the provider or what calls it and records (cxx.c).
 * A jump and not a call: the operator of libstdc++ or libc++ calls malloc, which records it, and must see its own caller.
 */
	.text
	.macro operator name index what
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
	jmp *mg_cxx_target+8*\index(%rip)
	.cfi_endproc
	.size \name, .-\name
	.type wrapper_\index, @function
wrapper_\index:
	.cfi_startproc
	endbr64
	mov $\index, %ecx
	jmp mg_cxx_\what
	.cfi_endproc
	.size wrapper_\index, .-wrapper_\index
	.section .data.rel.local, "aw", @progbits
	.quad mg_cxx_plain_\what
	.section .data.rel.ro.local.wrapper, "aw", @progbits
	.quad wrapper_\index
	.section .data.rel.ro.local.name, "aw", @progbits
	.quad name_\index
	.section .rodata.str1.1, "aMS", @progbits, 1
name_\index:
	.string "\name"
	.text
	.endm

	.macro table name section
	.section \section, "aw", @progbits
	.balign 16
	.globl \name
	.hidden \name
	.type \name, @object
	.size \name, 160
\name:
	.endm
	table mg_cxx_target .data.rel.local
	table mg_cxx_wrapper .data.rel.ro.local.wrapper
	table mg_cxx_name .data.rel.ro.local.name
	.text

	operator _Znwm 0 new
	operator _Znam 1 new
	operator _ZnwmRKSt9nothrow_t 2 new
	operator _ZnamRKSt9nothrow_t 3 new
	operator _ZnwmSt11align_val_t 4 new
	operator _ZnamSt11align_val_t 5 new
	operator _ZnwmSt11align_val_tRKSt9nothrow_t 6 new
	operator _ZnamSt11align_val_tRKSt9nothrow_t 7 new
	operator _ZdlPv 8 delete
	operator _ZdaPv 9 delete
	operator _ZdlPvm 10 delete
	operator _ZdaPvm 11 delete
	operator _ZdlPvRKSt9nothrow_t 12 delete
	operator _ZdaPvRKSt9nothrow_t 13 delete
	operator _ZdlPvSt11align_val_t 14 delete
	operator _ZdaPvSt11align_val_t 15 delete
	operator _ZdlPvmSt11align_val_t 16 delete
	operator _ZdaPvmSt11align_val_t 17 delete
	operator _ZdlPvSt11align_val_tRKSt9nothrow_t 18 delete
	operator _ZdaPvSt11align_val_tRKSt9nothrow_t 19 delete

	.section .note.GNU-stack, "", @progbits
