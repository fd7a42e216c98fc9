/* SPDX-License-Identifier: MIT
 * The processor for which this ms-record is built, and whose programs it records.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* The header MS_CPU_H defines the functions declared here, and
 *
 *   CPU_NAME          the processor's name for messages
 *   CPU_MACHINE       the ELF e_machine of its programs
 *   CPU_LINKER        the name of glibc's dynamic linker up to the first '.'
 *   CPU_VECTOR_NOTE   type of the note of a core dump that has the vector registers
 *   CPU_FORGETS_CALL  whether the registers of a stopped thread lack the interrupted system call
 *
 * cpu_counter returns the counter used for time stamps in the guest. cpu_match8 compares eight
 * words, aligned to 16 bytes, and returns a bit set: bit i is set if the bits of word i in `mask`
 * equal `key`. cpu_syscall makes a system call in a process that shares memory and thread-local
 * variables with another thread; it returns -errno on failure. */
static inline uint64_t cpu_counter(void);
static inline unsigned cpu_match8(const uint32_t *words, uint32_t mask, uint32_t key);
static inline long cpu_syscall(long number, const uint64_t args[6]);
/* Tells whether the counter runs at the same constant rate on all cores, even in sleep states, and
 * the kernel uses it. */
bool cpu_counter_usable(void);

#include MS_CPU_H
