/* SPDX-License-Identifier: MIT
 * Files that are read through a mapping.
 */
#pragma once

#include <stddef.h>

/* Maps `size` bytes of a file privately: writes do not reach the file. MAP_FAILED with errno
 * set. */
void *ms_mapped_file(int fd, size_t size);
void ms_mapped_file_free(void *map, size_t size);

/* Makes mapped files survive truncation: the missing part reads as zeros and does not raise SIGBUS.
 * To be called by tools at start; libraries leave signals to their program. */
void ms_mapped_files_survive(void);
