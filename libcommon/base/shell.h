/* SPDX-License-Identifier: MIT
 * Quotes words of command lines for display, so that they can be copied into a shell.
 */
#pragma once

struct ms_arena;

/* Returns `s` as one word for a shell: quoted, in memory of `a`, if it needs quotes; else `s`
 * itself. */
const char *ms_shell_word(struct ms_arena *a, const char *s);
