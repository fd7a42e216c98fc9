/* SPDX-License-Identifier: MIT
 * The processor that this ms-record is built for, and records programs of.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* NAME.h defines
 *
 *   CPU_NAME      as messages say it
 *   CPU_MACHINE   e_machine of its programs
 *   CPU_LINKER    how the name of glibc's dynamic linker begins, up to a '.'
 *
 * and cpu_counter: the counter that stamps of the guest are of; cpu_match8: a bit for each of eight
 * words, at a multiple of 16 bytes, whose bits in `mask` are `key`; cpu_syscall: a system call, by
 * whoever shares another thread's memory and variables. -errno if it failed. */
static inline uint64_t cpu_counter(void);
static inline unsigned cpu_match8(const uint32_t *words, uint32_t mask, uint32_t key);
static inline long cpu_syscall(long number, const uint64_t args[6]);
/* Does it run at one rate on all cores, asleep or not, and the kernel go by it? */
bool cpu_counter_usable(void);

#include MS_CPU_H
