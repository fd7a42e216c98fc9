/* SPDX-License-Identifier: MIT
 * The registers of x86-64 for scan_keep_stacks.c: for each one of libunwind, its index + 1 among
 * the words of a stopped thread, and among those of struct mg_end_frame; 0 = not there.
 */
#pragma once

#include <stddef.h>
#include <sys/user.h>

#define SCAN_AT(name) (offsetof(struct user_regs_struct, name) / 8 + 1)
/* clang-format off */
#define SCAN_STOPPED_REGISTERS {                                                                   \
	[UNW_X86_64_RAX] = SCAN_AT(rax), [UNW_X86_64_RDX] = SCAN_AT(rdx),                          \
	[UNW_X86_64_RCX] = SCAN_AT(rcx), [UNW_X86_64_RBX] = SCAN_AT(rbx),                          \
	[UNW_X86_64_RSI] = SCAN_AT(rsi), [UNW_X86_64_RDI] = SCAN_AT(rdi),                          \
	[UNW_X86_64_RBP] = SCAN_AT(rbp), [UNW_X86_64_RSP] = SCAN_AT(rsp),                          \
	[UNW_X86_64_R8] = SCAN_AT(r8), [UNW_X86_64_R9] = SCAN_AT(r9),                              \
	[UNW_X86_64_R10] = SCAN_AT(r10), [UNW_X86_64_R11] = SCAN_AT(r11),                          \
	[UNW_X86_64_R12] = SCAN_AT(r12), [UNW_X86_64_R13] = SCAN_AT(r13),                          \
	[UNW_X86_64_R14] = SCAN_AT(r14), [UNW_X86_64_R15] = SCAN_AT(r15),                          \
	[UNW_X86_64_RIP] = SCAN_AT(rip)}
#define SCAN_END_REGISTERS {                                                                       \
	[UNW_X86_64_RBX] = 1, [UNW_X86_64_R12] = 2, [UNW_X86_64_R13] = 3,                          \
	[UNW_X86_64_R14] = 4, [UNW_X86_64_R15] = 5, [UNW_X86_64_RBP] = MG_KEPT + 1}
/* clang-format on */
