/* SPDX-License-Identifier: MIT
 * A library that is loaded on first use and never closed: its dependencies may not survive that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Stores the addresses of the `n` functions with these names in `functions`, an array of pointers.
 * False = the library or one of the functions is missing, and nothing is stored. */
bool ms_library_load(const char *file, const char *const *names, size_t n, void *functions);
