/* SPDX-License-Identifier: MIT
 * Handles paths as text.
 */
#pragma once

#include <string.h>

/* Returns the part of `path` after the last slash; NULL for NULL. */
static inline const char *ms_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}
