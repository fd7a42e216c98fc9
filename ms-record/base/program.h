/* SPDX-License-Identifier: MIT
 * Which program a process runs.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define PROCESS_EXE 4097u
/* Path of what the process with that folder /proc/PID runs; of one that the dynamic linker was
 * started for ("ld.so ./app") the program's, not the linker's. "unknown" when that cannot be told.
 */
void process_exe(int folder, char path[PROCESS_EXE]);
/* Fills in the path as process_exe does, for the process with that number. */
void process_exe_of(pid_t pid, char path[PROCESS_EXE]);
/* Returns how many bytes of the arguments, which end with a NUL, are the linker's, of a process that
 * runs another program than the link `exe` says. */
size_t process_linker_args(const char *args, size_t n);
