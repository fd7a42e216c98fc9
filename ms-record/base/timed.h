/* SPDX-License-Identifier: MIT
 * The memory of another process, read by somebody who may come to wait for it.
 *
 * A page may be one that is delivered by whoever the program chose: a thread of its own
 * (userfaultfd), which may be stopped, by us perhaps, or a file system in user space or beyond a
 * network. Who reads it sleeps in the kernel until it is there. Therefore a process of its own
 * reads, which has our memory and descriptors and is killed when it does not come back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TIMED_READ_NS UINT64_C(500000000) /* after so long a piece is not waited for any more */
#define TIMED_PIECE ((size_t)1 << 20)     /* bytes that are read at once at most */

/* Reads all `bytes` of the process of which `pid` is a thread; where that is not permitted by
 * number, from `mem`, its /proc/PID/mem, unless that is -1. False, with errno set; ETIMEDOUT: the
 * reader came to wait, and so would the next one: for some seconds reads of that process by this
 * thread fail at once. What belongs to the calling thread for that is freed when it ends. */
bool timed_read(pid_t pid, int mem, uint64_t address, void *to, size_t bytes);
/* Would reads of this process by this thread fail at once for that reason? */
bool timed_waits(pid_t pid);
/* Frees what belongs to the calling thread now. */
void timed_end(void);
