# SPDX-License-Identifier: MIT
# aarch64: what the guest's files are compiled with besides. Atomic operations are loops: the other form calls libgcc.
GUEST_CPU_CFLAGS := -mgeneral-regs-only -mno-outline-atomics
GUEST_CPU_ASFLAGS :=
