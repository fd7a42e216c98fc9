/* SPDX-License-Identifier: MIT
 * Finds the program that a process runs.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define PROCESS_EXE 4097u
/* Stores the path of the program that a process runs; `folder`: its /proc/PID. If the dynamic
 * linker was started as a command ("ld.so ./app"), it is the path of the program, not of the
 * linker. "unknown" if it cannot be read. */
void process_exe(int folder, char path[PROCESS_EXE]);
/* Stores the path as process_exe does, for the process `pid`. */
void process_exe_of(pid_t pid, char path[PROCESS_EXE]);
/* Returns how many bytes of `args`, which end with a NUL, are the dynamic linker's name and
 * options. Only for a process whose program was started through the linker ("ld.so ./app"). */
size_t process_linker_args(const char *args, size_t n);
