/* SPDX-License-Identifier: MIT
 * The environment of a process that is at the beginning of a program: our library and socket are
 * put into it, or taken out.
 */
#pragma once

#include <sys/types.h>

struct ms_err;

/* The process is traced by the calling thread, and stands where nothing of the program has run.
 * The library `guest` is to be preloaded, and finds `socket`; without `socket` it is not any more.
 * 0, or -1 with `err` set: it is as it was. */
int exec_env_change(pid_t pid, const char *guest, const char *socket, struct ms_err *err);
