/* SPDX-License-Identifier: MIT
 * The data that every writer of a report needs: the model, the style of names, and the options.
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
	const char *source_root; /* root folder of the repository at build time; NULL = the
				    program's working directory */
};

/* Checks a template: it must contain {file}, begin with http:// or https://, and have no braces
 * except those of {file} and {line}. Returns 0, or -1 with `err` set. */
int links_check(const char *code_url, struct ms_err *err);

/* Returns the path of a frame's file in the repository, "src/cache.cpp", in the arena; NULL = it is
 * outside, or not known. */
const char *links_file(struct model *m, const struct links *l, const struct frame *f);
/* Returns a path as a URI reference: characters that are not allowed become %XX. */
const char *links_uri(struct model *m, const char *path);
/* Returns the URL of the page that shows a frame, or NULL. */
const char *links_page(struct model *m, const struct links *l, const struct frame *f);

/* ---- the page ---- */

/* Stands for the default number of rows, which depends on the view and the format. */
#define LIMIT_DEFAULT (SIZE_MAX - 1)

struct page {
	struct model *m;
	struct style style;
	const char *input;          /* as typed, for suggested commands; NULL = standard input */
	const struct site *site;    /* site of --site, or NULL */
	const struct table *answer; /* result of --sql, or NULL */
	const char *source;         /* --annotate: path of the file in the frames, or NULL */
	const struct run *run;      /* the run of several processes that this process is part of,
				       or NULL */
	struct links links;
	const struct budgets *budgets; /* budgets of --fail-on */
	bool partial;                  /* budgets are decided even on incomplete figures */
	bool four_types;               /* --pprof: only the sample types of Go's profiles */
	bool no_source;                /* --html: omit lines of source files */
	bool markdown;                 /* --md: parts are written as Markdown, not as text */
	bool gzip;                     /* the output's file name asks for compression */
	uint64_t long_form_bytes;      /* --json: size of all sites' call stacks in the long form */
};
