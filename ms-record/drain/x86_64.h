/* SPDX-License-Identifier: MIT
 * The registers of x86-64 for remote.c: for each one of libunwind, its index in the copy + 1,
 * and the frame pointer.
 */
#pragma once

/* clang-format off */
#define REMOTE_REGISTERS {                                                                         \
	[UNW_X86_64_RIP] = MG_REG_IP + 1, [UNW_X86_64_RSP] = MG_REG_SP + 1,                        \
	[UNW_X86_64_RBP] = MG_REG_BP + 1, [UNW_X86_64_RBX] = MG_REG_RBX + 1,                       \
	[UNW_X86_64_R12] = MG_REG_R12 + 1, [UNW_X86_64_R13] = MG_REG_R13 + 1,                      \
	[UNW_X86_64_R14] = MG_REG_R14 + 1, [UNW_X86_64_R15] = MG_REG_R15 + 1}
/* clang-format on */
#define REMOTE_BP UNW_X86_64_RBP
