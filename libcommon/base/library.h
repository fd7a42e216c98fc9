/* SPDX-License-Identifier: MIT
 * A library that is loaded on first use and never closed: its dependencies may not survive that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Stores the addresses of the `n` functions with these names in `functions`, an array of pointers.
 * Returns false, with nothing stored, if the library or one of the functions is missing. */
bool ms_library_load(const char *file, const char *const *names, size_t n, void *functions);
