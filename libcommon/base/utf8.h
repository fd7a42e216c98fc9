/* SPDX-License-Identifier: MIT
 * Decodes UTF-8, one character at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decodes one character at `s` (`n` bytes, at least 1) into *c. Returns its length, or 0 if it is
 * invalid: overlong, a surrogate, beyond U+10FFFF, or truncated. */
size_t ms_utf8_next(const char *s, size_t n, uint32_t *c);

/* Measures the character or invalid byte at `s`. Returns its length in bytes, at least 1; *width =
 * its columns on a terminal, 1 if the locale does not know it. */
size_t ms_utf8_step(const char *s, size_t n, uint32_t *c, int *width);

/* Returns the columns that a text takes on a terminal. */
size_t ms_utf8_columns(const char *s);
