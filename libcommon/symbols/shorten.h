/* SPDX-License-Identifier: MIT
 * Demangled names, short enough for a screen.
 */
#pragma once

struct ms_arena;

/* A demangled C++ or Rust name without parameters, return type and long template arguments. Other
 * names come back as they are. */
const char *ms_name_short(struct ms_arena *a, const char *function);
