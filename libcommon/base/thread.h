/* SPDX-License-Identifier: MIT
 * Starts a helper thread beside the main thread.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that runs f(arg) with all signals except SIGBUS blocked. Its stack is small
 * (`stack_bytes`), since the usual 8 MiB count in full against a limit of address space
 * (RLIMIT_AS). Returns 0, or an error number: the caller then does the work itself. */
int ms_thread_start(pthread_t *thread, size_t stack_bytes, void *(*f)(void *), void *arg);
