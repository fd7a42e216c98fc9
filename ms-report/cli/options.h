/* SPDX-License-Identifier: MIT
 * The command line of ms-report.
 */
#pragma once

#include "ms-report/ci/budget.h"
#include "ms-report/output/out.h"
#include "ms-report/words/cohorts.h"
#include "ms-report/words/page.h"
#include "ms-report/words/table.h"

#include "libcommon/base/cli.h"
#include "libcommon/names/wrappers.h"

struct ms_err;

enum view {
	VIEW_FIRST, /* the first screen */
	VIEW_SUMMARY,
	VIEW_LEAKS,
	VIEW_PEAK,
	VIEW_ALLOCATED,
	VIEW_TEMPORARY,
	VIEW_FAILED,
	VIEW_MAPPED,
	VIEW_THREADS,
	VIEW_TIMELINE,
	VIEW_GROWTH,
	VIEW_COHORTS,
	VIEW_SIZES,
	VIEW_MODULES,
	VIEW_HEAPS,
	VIEW_SUPPRESSIONS,
	VIEW_REGIONS,
	VIEW_RESIDENT,
	VIEW_TREE,
	VIEW_SITE,
	VIEW_ANNOTATE,
	VIEW_BY,
	VIEW_SQL,
	VIEW_RETAINED,
	VIEW_WHY,
	VIEW_EVENTS,
	VIEW_COUNT
};

enum layout { LAYOUT_AUTO, LAYOUT_COMPACT, LAYOUT_FULL, LAYOUT_MEMC, LAYOUT_GO };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

#define OUTPUTS_MAX 16

struct options {
	struct output outputs[OUTPUTS_MAX]; /* at least one output */
	size_t output_count;
	enum view views[VIEW_COUNT]; /* at least one view */
	size_t view_count;
	struct budgets budgets;
	struct ms_wrappers wrappers;
	struct ms_arena arena;     /* owns texts read from files */
	const char *const *inputs; /* empty = standard input */
	size_t input_count;
	size_t limit;         /* maximum rows of a list; LIMIT_DEFAULT = the default of each
				 view; SIZE_MAX = all */
	const char *at;       /* point in time, NULL = end */
	int64_t site;         /* argument of VIEW_SITE */
	enum group_key by;    /* argument of VIEW_BY */
	const char *sql;      /* argument of VIEW_SQL */
	int64_t scan;         /* argument of VIEW_RETAINED; 0 = the last scan */
	const char *why;      /* argument of VIEW_WHY */
	const char *annotate; /* argument of VIEW_ANNOTATE */
	/* a word to explain instead of reading inputs; NULL = none */
	const char *explain;
	bool list_exports;   /* list the formats of --export instead of reading inputs */
	const char *process; /* which process of the trace's run; NULL = the one with the highest
				peak */
	bool only_first;     /* only the named trace, not its whole run */
	struct links links;
	uint64_t reach;      /* argument of VIEW_GROWTH: bytes, 0 = none */
	enum metric metric;  /* metric given; METRIC_COUNT = none */
	bool tree_up, entry; /* options of VIEW_TREE */
	size_t width;        /* columns, 0 = as the terminal */
	enum color color;
	bool ascii, full_names, no_pager;
	enum layout layout; /* layout of JSON; LAYOUT_GO is for formats with EXPORT_TYPES */
	bool pretty;
	bool anonymize;
	bool no_source; /* HTML page without source lines */
	bool strict;    /* a budget whose pattern matches no site is an error */

	enum cohort_kind cohorts; /* argument of VIEW_COHORTS */

	struct ms_cli cli;
};

/* Fills `opt`; strings are borrowed from argv. Returns 0, or -1 with `err` set: a usage error. The
 * arguments after --help or --version are ignored. */
int options_parse(int argc, char **argv, struct options *opt, struct ms_err *err);

void options_free(struct options *opt);

/* Returns the option that requests a view, without its dashes. */
const char *view_name(enum view v);
