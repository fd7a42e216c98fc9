/* SPDX-License-Identifier: MIT
 * Rows of matched spots as changes of figures.
 */
#ifndef DIFF_CHANGES_H
#define DIFF_CHANGES_H

#include "match.h"
#include "noise.h"
#include "open.h"

enum kind { KIND_NEW, KIND_GONE, KIND_GROWN, KIND_SHRUNK, KIND_UNCHANGED, KIND_UNMATCHED };
extern const char *const kind_names[];

struct change {
	const struct row *row;
	enum kind kind;
	int64_t figures[2][FIGURES], delta[FIGURES]; /* of the runs that are shown */
	struct interval ranges[2][FIGURES];          /* over all runs of a side */
	struct interval sampled[2][FIGURES], delta_sampled[FIGURES];
	uint32_t significant; /* bit per figure */
	size_t sites[2];      /* of the runs that are shown */
	uint32_t site[2];     /* index of the one with most live bytes, or NONE */
	bool ever[2];         /* some run of that side has it */
};

/* Did live or peak bytes change by more than noise? */
static inline bool change_counts(const struct change *c)
{
	return (c->significant & (1u << LIVE_BYTES | 1u << PEAK_BYTES)) != 0;
}
/* And did one of them grow so? */
bool change_is_growth(const struct change *c);

struct total_change {
	int64_t values[2], delta;
	struct interval ranges[2], delta_sampled;
	bool significant;
};

struct changes {
	struct ms_arena arena;
	struct change *v; /* those that one of the runs shown has */
	size_t n;
	struct total_change totals[TOTALS];
};

/* `least`: bytes below which nothing is significant. */
void changes_make(struct changes *c, const struct matching *m, const struct opened *runs,
		  int64_t least);
/* Is there growth of live or peak bytes beyond noise, of a site or in all? */
bool changes_grew(const struct changes *c);
/* How many of which nobody can tell whether they changed. */
size_t changes_unmatched(const struct changes *c);
void changes_free(struct changes *c);

#endif
