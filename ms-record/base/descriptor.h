/* SPDX-License-Identifier: MIT
 * Descriptors that may be there or not, and those of processes.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The number N of "fd:N", or -1. */
int descriptor_named(const char *text);
/* Closes it, if it is one: -1 is none. errno stays as it is. */
void descriptor_close(int fd);
/* Has signals that are to end us come by a descriptor, and `more` (0 = no other), and blocks them;
 * SIGPIPE and SIGXFSZ, too: a pipe that its reader closed, or a limit of file sizes, is an error of
 * one file, not our end. *before: what was blocked. -1 with errno set. */
int descriptor_signals(int more, sigset_t *before);
/* Does the other end of a socket belong to our user, or to root? *pid: its process. */
bool descriptor_trusted(int fd, pid_t *pid);
/* Our user's name, or number; until the next call. */
const char *descriptor_user(void);
/* The folder /proc/PID. -1 with errno set. */
int process_folder(pid_t pid);
/* Reads the target of the link `name` in a folder /proc/PID; false = it cannot be read, and `path`
 * is "". */
bool process_link(int folder, const char *name, char *path, size_t room);
