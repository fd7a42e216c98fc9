/* SPDX-License-Identifier: MIT
 * Parses a row of a file: fields separated by commas, texts in double quotes (doubled inside), and
 * \N for null.
 */
#include "dataset_private.h"

#include <string.h>

/* Unquotes the text that begins at `s`, in place. A text with a 0 byte or without an end is
 * damaged. Returns the position after the text, or NULL. */
static char *unquote(char *s, char *end)
{
	char *to = s++;
	for (; s < end && *s; *to++ = *s++)
		if (*s == '"' && *++s != '"') {
			*to = '\0';
			return s;
		}
	return NULL;
}

/* Skips a number or null. Returns the position after it, or NULL. */
static char *skip_number(char *s, struct dataset_field *f)
{
	if (s[0] == '\\' && s[1] == 'N') {
		f->text = NULL;
		return s + 2;
	}
	size_t n = strspn(s, "0123456789+-.e");
	return n ? s + n : NULL;
}

int dataset_row(char **at, char *end, struct dataset_field *fields, size_t columns)
{
	char *s = *at;
	if (s == end)
		return 0;
	for (size_t i = 0; i < columns; i++) {
		fields[i] = (struct dataset_field){s, *s == '"'};
		s = *s == '"' ? unquote(s, end) : skip_number(s, &fields[i]);
		if (!s || s >= end || *s != (i + 1 < columns ? ',' : '\n'))
			return -1;
		*s++ = '\0';
	}
	*at = s;
	return 1;
}
