/* SPDX-License-Identifier: MIT
 * Decodes UTF-8, one character at a time.
 */
#include "utf8.h"

#include <string.h>
#include <wchar.h>

size_t ms_utf8_next(const char *s, size_t n, uint32_t *c)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t len = u[0] < 0x80   ? 1
		     : u[0] < 0xc2 ? 0
		     : u[0] < 0xe0 ? 2
		     : u[0] < 0xf0 ? 3
		     : u[0] < 0xf5 ? 4
				   : 0;
	if (!len || len > n)
		return 0;
	uint32_t v = len == 1 ? u[0] : u[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (u[i] & 0x3f);
	}
	if ((len == 3 && v < 0x800) || (len == 4 && v < 0x10000) || v > 0x10ffff ||
	    (v >= 0xd800 && v < 0xe000))
		return 0;
	*c = v;
	return len;
}

size_t ms_utf8_step(const char *s, size_t n, uint32_t *c, int *width)
{
	*c = '?';
	size_t len = ms_utf8_next(s, n, c);
	*width = *c < 0x80 ? 1 : wcwidth((wchar_t)*c);
	*width = *width < 0 ? 1 : *width;
	return len ? len : 1;
}

size_t ms_utf8_columns(const char *s)
{
	size_t columns = 0, n = strlen(s);
	uint32_t c;
	int width;
	for (size_t i = 0; i < n; columns += (size_t)width)
		i += ms_utf8_step(s + i, n - i, &c, &width);
	return columns;
}
