/* SPDX-License-Identifier: MIT
 * Which further programs and forked children are recorded.
 */
#include "follow.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static bool is_named(const struct follow *f, const char *exe, const char *name)
{
	char pattern[256];
	for (const char *p = f->names; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");
		snprintf(pattern, sizeof pattern, "%.*s", (int)n, p);
		if (!fnmatch(pattern, basename(exe), 0) || !fnmatch(pattern, name, 0))
			return true;
		p += n;
	}
	return false;
}

bool follow_wants(const struct follow *f, enum follow_which how, const char *exe, const char *name)
{
	if (f->which == FOLLOW_NAMED)
		return is_named(f, exe, name);
	return f->which == FOLLOW_DEFAULT || f->which == FOLLOW_ALL || f->which == how;
}
