/* SPDX-License-Identifier: MIT
 * The environment of a process that is at the beginning of a program: our library and socket are
 * put into it, or taken out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ms_err;

/* The process is traced by the calling thread, and stands where nothing of the program has run.
 * With `guest` that library is to be preloaded, and finds `socket`; without, `away` is no longer.
 * 0, or -1 with `err` set: it is as it was. */
int exec_env_preload(pid_t pid, const char *guest, const char *socket, struct ms_err *err);
int exec_env_remove(pid_t pid, const char *away, struct ms_err *err);
