/* SPDX-License-Identifier: MIT
 * Starts a helper thread beside the main thread.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that runs f(arg) with all signals blocked but SIGBUS. Its stack is small
 * (`stack_bytes`), since a limit of address space counts the usual 8 MiB in full. 0, or an error
 * number: the caller then does the work itself. */
int ms_thread_start(pthread_t *thread, size_t stack_bytes, void *(*f)(void *), void *arg);
