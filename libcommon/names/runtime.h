/* SPDX-License-Identifier: MIT
 * Which frames belong to the language's runtime or an allocator, and which to the user's own code.
 */
#pragma once

#include <stdbool.h>

/* Tells whether it is one of the C, C++ and Rust runtimes and known allocators. `module` is a path,
 * `function` demangled, `file` a source file; each may be NULL. A site is named after the first
 * frame of which this is false. */
bool ms_is_runtime(const char *module, const char *function, const char *file);
/* Returns the name by which callers know a function of the allocator, "malloc", "operator new" and
 * so on; `function` may be mangled. NULL: it is none (of NULL too). Static. */
const char *ms_entry_point(const char *function);
