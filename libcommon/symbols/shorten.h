/* SPDX-License-Identifier: MIT
 * Demangled names, short enough for a screen.
 */
#ifndef MS_SHORTEN_H
#define MS_SHORTEN_H

struct ms_arena;

/* A demangled C++ or Rust name without parameters, return type and long template arguments. Other
 * names come back as they are. */
const char *ms_name_short(struct ms_arena *a, const char *function);

#endif
