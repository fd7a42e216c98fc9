/* SPDX-License-Identifier: MIT
 * Quotes words of command lines for display.
 */
#include "shell.h"

#include <string.h>

#include "arena.h"

const char *ms_shell_word(struct ms_arena *a, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:+-,%@=^";
	if (s[0] && s[strspn(s, plain)] == '\0')
		return s;
	char *out = ms_arena_alloc(a, strlen(s) * 4 + 3), *o = out;
	*o++ = '\'';
	for (; *s; s++) {
		if (*s == '\'')
			o = stpcpy(o, "'\\'");
		*o++ = *s;
	}
	*o = '\'';
	return out;
}
