/* SPDX-License-Identifier: MIT
 * Labels of allocations (ms_label_push of memscope.h), as one text: "tenant=42, report".
 */
#pragma once

#include <stdbool.h>

/* Separates the labels of an allocation. */
#define MS_LABEL_SEPARATOR ", "

/* Tells whether a pattern as of fnmatch(3) matches one of an allocation's labels, or all of them as one
 * text. `labels` may be NULL: none. */
bool ms_labels_match(const char *pattern, const char *labels);
