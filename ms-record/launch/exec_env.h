/* SPDX-License-Identifier: MIT
 * The environment of a process that is at the beginning of a program: our library and socket are
 * put into it, or taken out.
 */
#pragma once

#include <sys/types.h>

struct ms_err;

/* Adds the library `guest` to LD_PRELOAD of the process, and sets the name of ms-record's `socket`;
 * without `socket` removes the library. The process is traced by the calling thread, and stopped
 * before its program's first instruction. Returns 0, or -1 with `err` set: nothing is changed. */
int exec_env_change(pid_t pid, const char *guest, const char *socket, struct ms_err *err);
