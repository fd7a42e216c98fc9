# SPDX-License-Identifier: MIT
# x86-64: what the guest's files are compiled with besides.
GUEST_CPU_CFLAGS := -fcf-protection -mgeneral-regs-only -mcx16
GUEST_CPU_ASFLAGS := -fcf-protection
