/* SPDX-License-Identifier: MIT
 * Tells frames of the language's runtime or an allocator from those of the user's own code.
 */
#pragma once

#include <stdbool.h>

/* Tells whether a frame belongs to a language runtime or a known allocator. `module` is a path,
 * `function` demangled, `file` a source file; each may be NULL. A site is named after the first
 * frame for which this is false. */
bool ms_is_runtime(const char *module, const char *function, const char *file);
/* Returns the name of an allocator function as in source code, such as "malloc" or "operator new";
 * `function` may be mangled. Returns NULL if it is not one; NULL for NULL. Static. */
const char *ms_entry_point(const char *function);
