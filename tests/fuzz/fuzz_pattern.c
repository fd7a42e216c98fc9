/* SPDX-License-Identifier: MIT
 * Fuzzes regular expressions of users: whatever is taken is compiled and matched in no time. The
 * first line is the expression, the rest a text.
 */
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char text[2048], why[MS_PATTERN_WHY];
	regex_t re;
	if (n >= sizeof text)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	char *line = strchr(text, '\n');
	if (line)
		*line++ = '\0';
	if (ms_pattern_compile(&re, text, 0, why))
		return 0;
	regexec(&re, line ? line : "load", 0, NULL, 0);
	regfree(&re);
	return 0;
}
