/* SPDX-License-Identifier: MIT
 * A library that is loaded when it is needed first, and never closed: what it uses may not like that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Puts the functions of those `n` names into `functions`, pointers one behind the other. False: the
 * library is not there, or lacks one of them; then nothing is put there. */
bool ms_library_load(const char *file, const char *const *names, size_t n, void *functions);
