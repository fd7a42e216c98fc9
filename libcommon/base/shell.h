/* SPDX-License-Identifier: MIT
 * Quotes words of command lines for display, so that they can be copied into a shell.
 */
#pragma once

struct ms_arena;

/* Returns `s` as a shell would read it: quoted, in memory of `a`, if necessary; else `s`. */
const char *ms_shell_word(struct ms_arena *a, const char *s);
