/* SPDX-License-Identifier: MIT
 * Words of command lines that are shown, so that they can be typed as they stand.
 */
#pragma once

struct ms_arena;

/* `s` as a shell would have to read it: in quotes where it needs them, made in `a`; else `s`. */
const char *ms_shell_word(struct ms_arena *a, const char *s);
