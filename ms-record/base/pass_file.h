/* SPDX-License-Identifier: MIT
 * A message with an open file, to whom it is to have it too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends the `n` bytes over the connection `to`, and the file `fd` with them unless that is -1.
 * False = not all of it was taken. Raises no signal. */
bool pass_file(int to, const void *bytes, size_t n, int fd);
/* Takes such a message of at most `n` bytes, and the file that came with it: *fd, -1 = none.
 * `flags` and result as of recvmsg(2). */
ssize_t pass_file_take(int from, void *bytes, size_t n, int flags, int *fd);
