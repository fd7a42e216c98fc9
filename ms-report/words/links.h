/* SPDX-License-Identifier: MIT
 * Where source files are in a repository, and where a web page shows them.
 */
#ifndef REPORT_LINKS_H
#define REPORT_LINKS_H

#include "ms-report/model/model.h"

struct ms_err;

struct links {
	const char *code_url;    /* "https://x/blob/REV/{file}#L{line}", or NULL */
	const char *source_root; /* folder of the repository where it was built; NULL = where the
				    program ran */
};

/* A template must have {file}, begin with http:// or https://, and have no other braces than those
 * of {file} and {line}. 0, or -1 with `err` set. */
int links_check(const char *code_url, struct ms_err *err);

/* The file's path in the repository, "src/cache.cpp", in the arena; NULL: it lies outside, or is
 * not known. */
const char *links_file(struct model *m, const struct links *l, const struct frame *f);
/* A path as a URI reference: what is not allowed there as %XX. */
const char *links_uri(struct model *m, const char *path);
/* The page that shows a frame, or NULL. */
const char *links_page(struct model *m, const struct links *l, const struct frame *f);

#endif
