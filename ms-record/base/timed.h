/* SPDX-License-Identifier: MIT
 * Reads the memory of another process with a time limit.
 *
 * A page may be supplied by any source that the program has chosen: one of its threads
 * (userfaultfd), which may be stopped, perhaps by us, or a file system in user space or on a
 * network. A process that reads such a page sleeps in the kernel until the page arrives.
 * Therefore a separate process reads it, which shares our memory and descriptors and is killed
 * if it does not return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TIMED_READ_NS UINT64_C(500000000) /* longest wait for one piece */
#define TIMED_PIECE ((size_t)1 << 20)     /* most bytes read at once */

/* Reads `bytes` bytes from the memory of the process to which thread `pid` belongs; if reading by
 * pid is not permitted, from `mem` (its /proc/PID/mem), unless `mem` is -1. Returns false with
 * errno set if not all can be read. ETIMEDOUT: the read took too long. For some seconds, further
 * reads of that process by the calling thread then fail at once, because they would time out, too.
 * Resources of the calling thread are freed when it ends. */
bool timed_read(pid_t pid, int mem, uint64_t address, void *to, size_t bytes);
/* Tells whether reads of this process by the calling thread fail at once, because an earlier read
 * timed out. */
bool timed_waits(pid_t pid);
/* Frees the calling thread's resources now. */
void timed_end(void);
