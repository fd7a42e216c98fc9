/* SPDX-License-Identifier: MIT
 * Files that are read where they are mapped.
 */
#pragma once

#include <stddef.h>

/* `size` bytes of a file; what is written there stays here. MAP_FAILED with errno set. */
void *ms_mapped_file(int fd, size_t size);
void ms_mapped_file_free(void *map, size_t size);

/* A file that is cut short while it is mapped is a file with zeros in it from then on, and not our
 * end by SIGBUS. For tools, at their beginning: a library leaves signals to its program. */
void ms_mapped_files_survive(void);
