/* SPDX-License-Identifier: MIT
 * Descriptors that may be there or not, and those of processes.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Closes it, if it is one: -1 is none. errno stays as it is. */
void descriptor_close(int fd);
/* Does the other end of a socket belong to our user, or to root? *pid: its process. */
bool descriptor_trusted(int fd, pid_t *pid);
/* Our user's name, or number; until the next call. */
const char *descriptor_user(void);
/* The folder /proc/PID. -1 with errno set. */
int process_folder(pid_t pid);
/* Path of what the process runs; `folder` as above. "unknown" when that cannot be told. */
#define PROCESS_EXE 4097u
void process_exe(int folder, char path[PROCESS_EXE]);
/* The same by its number. */
void process_exe_of(pid_t pid, char path[PROCESS_EXE]);
