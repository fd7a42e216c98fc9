/* SPDX-License-Identifier: MIT
 * Writes metrics as text.
 */
#include "metrics.h"

#include <stdint.h>
#include <string.h>

#include "utf8.h"

void ms_metrics_value(FILE *f, const char *s)
{
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		uint32_t c;
		n = ms_utf8_next(s, left, &c);
		if (!n || c < ' ' || c == 0x7f)
			fputs(c == '\n' && n ? "\\n" : "?", f);
		else if (c == '"' || c == '\\')
			fprintf(f, "\\%c", (char)c);
		else
			fwrite(s, 1, n, f);
		n += !n;
	}
}

void ms_metrics_family(FILE *f, bool open, const char *name, const char *type, const char *unit,
		       const char *help)
{
	const char *end = !open && strcmp(type, "counter") == 0 ? "_total" : "";
	fprintf(f, "# TYPE memscope_%s%s %s\n", name, end, type);
	if (unit && open)
		fprintf(f, "# UNIT memscope_%s %s\n", name, unit);
	fprintf(f, "# HELP memscope_%s%s %s\n", name, end, help);
}
