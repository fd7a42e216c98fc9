/* SPDX-License-Identifier: MIT
 * The registers of aarch64 for remote.c: for each one of libunwind, its index in the copy + 1,
 * and the frame pointer.
 */
#pragma once

/* clang-format off */
#define REMOTE_REGISTERS {                                                                         \
	[UNW_AARCH64_PC] = MG_REG_IP + 1, [UNW_AARCH64_SP] = MG_REG_SP + 1,                        \
	[UNW_AARCH64_X29] = MG_REG_BP + 1, [UNW_AARCH64_X30] = MG_REG_LINK + 1,                    \
	[UNW_AARCH64_X19] = MG_REG_X19 + 1, [UNW_AARCH64_X20] = MG_REG_X19 + 2,                    \
	[UNW_AARCH64_X21] = MG_REG_X19 + 3, [UNW_AARCH64_X22] = MG_REG_X19 + 4,                    \
	[UNW_AARCH64_X23] = MG_REG_X19 + 5, [UNW_AARCH64_X24] = MG_REG_X19 + 6,                    \
	[UNW_AARCH64_X25] = MG_REG_X19 + 7, [UNW_AARCH64_X26] = MG_REG_X19 + 8,                    \
	[UNW_AARCH64_X27] = MG_REG_X19 + 9, [UNW_AARCH64_X28] = MG_REG_X19 + 10}
/* clang-format on */
#define REMOTE_BP UNW_AARCH64_X29
