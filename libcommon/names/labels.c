/* SPDX-License-Identifier: MIT
 * Matches labels of allocations with patterns.
 */
#include "labels.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

bool ms_labels_match(const char *pattern, const char *labels)
{
	char one[256];
	if (!labels || fnmatch(pattern, labels, 0) == 0)
		return labels != NULL;
	for (const char *end; (end = strstr(labels, MS_LABEL_SEPARATOR));
	     labels = end + strlen(MS_LABEL_SEPARATOR)) {
		snprintf(one, sizeof one, "%.*s", (int)(end - labels), labels);
		if (fnmatch(pattern, one, 0) == 0)
			return true;
	}
	return fnmatch(pattern, labels, 0) == 0;
}
