/* SPDX-License-Identifier: MIT
 * A thread that works for the one that everything else runs in.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Begins f(arg) in a thread that takes no signals and has a stack of `stack_bytes`: what a program
 * may map can be limited, and the usual 8 MiB count in full. 0, or an error number: do it yourself
 * then. */
int ms_thread_start(pthread_t *thread, size_t stack_bytes, void *(*f)(void *), void *arg);
