/* SPDX-License-Identifier: MIT
 * Optional file descriptors, and descriptors for processes.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Returns the number N of "fd:N", or -1 if `text` has another form. */
int descriptor_named(const char *text);
/* Closes `fd` unless it is -1. Keeps errno. */
void descriptor_close(int fd);
/* Blocks the signals that end ms-record, and signal `more` (0 = none), and returns a signalfd for
 * them. Also blocks SIGPIPE and SIGXFSZ, so that a closed pipe or a file size limit is an error of
 * one file and does not end ms-record. *before: the previous mask. Returns -1 with errno set. */
int descriptor_signals(int more, sigset_t *before);
/* Tells whether the process at the other end of a socket runs as our user or as root. *pid receives
 * its pid. */
bool descriptor_trusted(int fd, pid_t *pid);
/* Returns our user's name, or number if it has none; valid until the next call. */
const char *descriptor_user(void);
/* Opens the folder /proc/PID. Returns a descriptor, or -1 with errno set. */
int process_folder(pid_t pid);
/* Reads the target of the link `name` in a folder /proc/PID. Returns false if it cannot be read;
 * `path` is then "". */
bool process_link(int folder, const char *name, char *path, size_t room);
