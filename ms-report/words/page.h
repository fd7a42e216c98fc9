/* SPDX-License-Identifier: MIT
 * What every writer of a report needs: the model, how names are shown, and what was asked for.
 */
#pragma once

#include "names.h"

#include "libcommon/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct budgets;
struct run;
struct ms_err;
struct site;
struct table;

/* ---- links.c ---- */

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

/* ---- the page ---- */

/* Rows of a list when no number was asked for: each view and format has its own. */
#define LIMIT_DEFAULT (SIZE_MAX - 1)

struct page {
	struct model *m;
	struct style style;
	const char *input;          /* as typed, for commands to type next; NULL = standard input */
	const struct site *site;    /* of --site, or NULL */
	const struct table *answer; /* of --sql, or NULL */
	const char *source;         /* of --annotate: the file as frames have it, or NULL */
	const struct run *run;      /* of which it is one process of several, or NULL */
	struct links links;
	const struct budgets *budgets; /* of --fail-on */
	bool partial;                  /* they are decided on incomplete figures too */
	bool four_types;               /* of --pprof: no more than Go has */
	bool no_source;                /* --html: without lines of source files */
	bool gzip;                     /* what the output is named after wants it compressed */
	uint64_t long_form_bytes; /* of --json: the call stacks of all sites in the long form */
};
