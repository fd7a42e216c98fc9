/* SPDX-License-Identifier: MIT
 * UTF-8, one character at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decodes one character at `s` (`n` bytes, at least 1) into *c. Returns its length, or 0 when it is
 * not valid: overlong, a surrogate, beyond U+10FFFF, or cut. */
size_t ms_utf8_next(const char *s, size_t n, uint32_t *c);
