/* SPDX-License-Identifier: MIT
 * The registers of aarch64 for scan_keep_stacks.c: for each one of libunwind, its index + 1 among
 * the words of a stopped thread, and among those of struct mg_end_frame; 0 = not there.
 */
#pragma once

#include <stddef.h>
#include <sys/user.h>

#define SCAN_AT(name) (offsetof(struct user_regs_struct, name) / 8 + 1)
#define SCAN_X(n) [UNW_AARCH64_X##n] = n + 1
/* clang-format off */
#define SCAN_STOPPED_REGISTERS {                                                                   \
	SCAN_X(0), SCAN_X(1), SCAN_X(2), SCAN_X(3), SCAN_X(4), SCAN_X(5), SCAN_X(6), SCAN_X(7),    \
	SCAN_X(8), SCAN_X(9), SCAN_X(10), SCAN_X(11), SCAN_X(12), SCAN_X(13), SCAN_X(14),          \
	SCAN_X(15), SCAN_X(16), SCAN_X(17), SCAN_X(18), SCAN_X(19), SCAN_X(20), SCAN_X(21),        \
	SCAN_X(22), SCAN_X(23), SCAN_X(24), SCAN_X(25), SCAN_X(26), SCAN_X(27), SCAN_X(28),        \
	SCAN_X(29), SCAN_X(30), [UNW_AARCH64_SP] = SCAN_AT(sp), [UNW_AARCH64_PC] = SCAN_AT(pc)}
#define SCAN_END_REGISTERS {                                                                       \
	[UNW_AARCH64_X19] = 1, [UNW_AARCH64_X20] = 2, [UNW_AARCH64_X21] = 3,                       \
	[UNW_AARCH64_X22] = 4, [UNW_AARCH64_X23] = 5, [UNW_AARCH64_X24] = 6,                       \
	[UNW_AARCH64_X25] = 7, [UNW_AARCH64_X26] = 8, [UNW_AARCH64_X27] = 9,                       \
	[UNW_AARCH64_X28] = 10, [UNW_AARCH64_X29] = MG_KEPT + 1}
/* clang-format on */
