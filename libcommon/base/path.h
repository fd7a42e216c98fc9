/* SPDX-License-Identifier: MIT
 * Handles paths as text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the part of `path` after the last slash; NULL for NULL. */
static inline const char *ms_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

/* Returns a path relative to `folder` (`n` bytes) if it is below that, else the whole path. NULL for
 * NULL. */
static inline const char *ms_path_below(const char *path, const char *folder, size_t n)
{
	while (n && folder[n - 1] == '/')
		n--;
	bool below = path && n && strncmp(path, folder, n) == 0 && path[n] == '/' && path[n + 1];
	return below ? path + n + 1 : path;
}
