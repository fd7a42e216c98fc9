/* SPDX-License-Identifier: MIT
 * --cohorts: what was allocated in each part of a run, and what of that is still live later.
 */
#pragma once

#include "table.h"

/* Numbers the divisions of a run, by the spelling of the argument of --cohorts. */
enum cohort_kind { COHORT_TIME, COHORT_MARK, COHORT_LABEL, COHORT_KINDS };
extern const char *const cohort_kinds[COHORT_KINDS];

/* Makes the triangle for people: a row per part (at most COHORT_SHOWN; for labels at most `limit`), a
 * column per end of a part. `site`: of one site only, NULL = of all. */
#define COHORT_SHOWN 10u
struct table cohorts_table(struct model *m, enum cohort_kind kind, const struct site *site,
			   size_t limit);
/* Makes the table for machines: a row per part and end, as in the snapshot. */
struct table cohorts_rows(struct model *m, enum cohort_kind kind, const struct site *site,
			  size_t limit);

/* Holds the triangle of one process: rows are cohorts, columns are ends. */
struct cohorts {
	enum cohort_kind by;
	const char *kind;        /* its name, of cohort_kinds */
	long long process, site; /* rows; site 0 = of all */
	uint64_t pid;
	struct cohort {
		uint64_t part;    /* numbers several parts that are one row together */
		const char *name; /* of the first mark, or the label, not cleaned; NULL = none */
		uint64_t from_ns, to_ns, allocated;
		uint64_t *live; /* by end; UNKNOWN = that is before the cohort */
	} * rows;
	size_t n;
	struct cohort_end {
		uint64_t part, ns;
	} * ends;
	size_t end_count;
};
/* Reads the triangle of a site's process, or of that with the highest peak, with at most `most` ends;
 * except by label, at most as many rows. */
struct cohorts cohorts_read(struct model *m, enum cohort_kind kind, const struct site *site,
			    size_t most);
