/* SPDX-License-Identifier: MIT
 * Shortens types for a screen.
 */
#pragma once

struct ms_arena;

/* Returns a C++ type without the arguments of templates that nobody asks for: "map<string,
 * Session*>", and for the variable of a type of CPython the type's name in Python. Other types are
 * returned as they are. */
const char *ms_type_short(struct ms_arena *a, const char *type);
