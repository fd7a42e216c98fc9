/* SPDX-License-Identifier: MIT
 * Compiles regular expressions from users, and refuses those that are costly to match.
 */
#pragma once

#include <regex.h>

#define MS_PATTERN_WHY 128

/* Compiles the extended regular expression `text`, without match positions; `flags` are regcomp's,
 * REG_ICASE for instance. Refuses back-references, more than 1,000 bytes, {n} above 255,
 * repetitions nested more than three deep, and more than 1,000 characters after expansion of
 * repetitions: these can take unlimited time or memory. Returns NULL, or a message (in `why`, or
 * static) that tells why it failed. Free with regfree(). */
const char *ms_pattern_compile(regex_t *re, const char *text, int flags, char why[MS_PATTERN_WHY]);
