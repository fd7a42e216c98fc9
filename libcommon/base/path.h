/* SPDX-License-Identifier: MIT
 * Paths as text.
 */
#pragma once

#include <string.h>

/* Returns the part behind the last slash, in `path` itself; NULL of NULL. */
static inline const char *ms_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}
