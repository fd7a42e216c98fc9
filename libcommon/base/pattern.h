/* SPDX-License-Identifier: MIT
 * Regular expressions from users, which cost little whatever they are.
 */
#pragma once

#include <regex.h>

#define MS_PATTERN_WHY 128

/* Compiles the extended regular expression `text`, without places of matches; `flags` are
 * regcomp's, REG_ICASE for instance. Refused are back-references, more than 1,000 bytes, {n} above
 * 255, repetitions nested more than three deep, and what is longer than 1,000 characters once its
 * repetitions are written out: these can take for ever, or all memory. NULL, or why not, in `why`
 * or static; free with regfree(). */
const char *ms_pattern_compile(regex_t *re, const char *text, int flags, char why[MS_PATTERN_WHY]);
