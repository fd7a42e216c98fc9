/* SPDX-License-Identifier: MIT
 * A view as a table of typed cells, which each format writes in its own way.
 */
#pragma once

#include "say.h"

#include "ms-report/model/lists.h"

struct style;

enum cell_kind {
	CELL_TEXT,     /* text `s`, not cleaned: each format escapes it */
	CELL_FUNCTION, /* text `s`, not cleaned; shortened in formats for people */
	CELL_PATH,     /* text `s`, not cleaned; cut at its start if it is too long */
	CELL_SIZE,     /* n bytes */
	CELL_COUNT,    /* n, a number */
	CELL_ID,       /* number `n`, without thousands separators */
	CELL_TIME,     /* n ns */
	CELL_VALUE,    /* text `s`: a number, written as it is */
	CELL_BAR,      /* bar of `n` thousandths of the longest bar; only in text */
};

struct column {
	const char *title; /* for people; NULL = not shown to people */
	const char *name;  /* for machines; NULL = not in their formats */
	enum cell_kind kind;
	bool sum;      /* rows add up to the total */
	bool optional; /* left out if lines are too narrow */
	/* Offsets + 1 of uint64_t members. `of`: the figure in the struct given to table_take;
	 * `all`: its total in struct model, for table_finish. 0 = set in another way, or not
	 * known. */
	size_t of, all;
	const char *sql; /* SQL expression; NULL = the column `name`, or NULL without a name */
};
#define COLUMN_OF(type, member) .of = offsetof(struct type, member) + 1
#define COLUMN_ALL(member) .all = offsetof(struct model, member) + 1

static inline bool column_is_number(const struct column *c)
{
	return c->kind >= CELL_SIZE;
}

struct cell {
	uint64_t n;                /* UNKNOWN = not known */
	const char *s;             /* NULL = none */
	const struct ms_spread *e; /* spread of an estimate; NULL = none */
	const uint64_t *limits;    /* low, high: interval of an estimate without a spread; NULL =
				      none */
};

enum row_kind { ROW_ITEM, ROW_MORE, ROW_HIDDEN, ROW_OTHER, ROW_TOTAL };

struct row {
	enum row_kind kind;
	size_t order; /* number in order of creation */
	struct cell *cells;
};

struct table {
	const char *title; /* NULL = none */
	const char *empty; /* text to show if there are no rows */
	const struct column *columns;
	size_t column_count;
	struct row *rows;
	size_t n, cap;
	size_t more; /* number of rows folded into the ROW_MORE row */
	bool at;     /* live figures are those at --at, not at the end */
};

/* Initializes a table with these columns and no rows; further arguments are initializers of other
 * members. */
#define TABLE_OF(cols, ...)                                                                        \
	{                                                                                          \
		.columns = (cols), .column_count = sizeof(cols) / sizeof *(cols), __VA_ARGS__      \
	}

/* Adds a row with all cells zero; valid until the next row is added. */
struct row *table_row(struct model *m, struct table *t);
/* Sets the cells whose columns have an offset `of` from the struct `what`; adds to the cells of
 * columns with `sum`. */
void table_take(const struct table *t, struct cell *cells, const void *what);
/* Adds the rows of a query for the columns. `from`: the rest of the query, "FROM ...", a format of
 * sqlite3_mprintf. */
void table_query(struct model *m, struct table *t, const char *from, ...);
/* Lists the kinds of total row: none, the model's total, or the sum of the rows. */
enum table_total { TOTAL_NONE, TOTAL_OF_RUN, TOTAL_OF_ROWS };
/* Sorts by a column in descending order (-1: not at all), keeps `limit` rows and folds the others
 * into one, "3 more WHAT". Then adds a row for the part of the total that is in no row, if there is
 * any, and the total row. */
void table_finish(struct model *m, struct table *t, int64_t column, size_t limit, const char *what,
		  enum table_total total);
/* Changes the title of a column; NULL = not shown to people. */
void table_retitle(struct model *m, struct table *t, size_t column, const char *title);
/* Returns `title`; if filters hide sites, with a note that these figures are of all sites, since
 * figures by thread, process or time cannot be filtered. */
const char *table_unfiltered(struct model *m, const char *title);

/* Adds the spreads of estimates to a row's cells, matched to columns by name. */
void est_cells(struct model *m, const struct table *t, struct cell *cells,
	       const struct estimates *e);
/* Adds a spread to a cell's spread. */
void est_cell_add(struct model *m, struct cell *to, const struct ms_spread *e);
/* Returns a number cell as text for people. */
const char *cell_number(struct model *m, const struct column *c, const struct cell *x,
			enum row_kind kind);
/* Stores the limits of a cell's interval in *low and *high. Returns false if the cell's value is
 * exact, or not known. */
bool est_cell_limits(const struct cell *x, uint64_t *low, uint64_t *high);
/* Tells whether any cell of a column has an interval. */
bool est_column(const struct table *t, size_t column);

/* Returns a range of sizes, both ends inclusive: "64 B", "1.0 KiB to 2.0 KiB". */
const char *table_size_range(struct model *m, uint64_t low, uint64_t high);
/* Sets the CELL_BAR cells of column `bar` from the figures of column `value`. */
void table_bars(struct table *t, size_t value, size_t bar);

/* Make the tables of views, in the model's arena: at most `limit` rows, and one ROW_MORE with the
 * sums of the others. METRIC_COUNT = each view's own order. */
struct table table_summary(struct model *m);
struct table table_threads(struct model *m, bool labels, enum metric metric, size_t limit);
struct table table_timeline(struct model *m, size_t limit);
struct table table_sizes(struct model *m, enum metric metric, size_t limit);
struct table table_suppressions(struct model *m, size_t limit);
struct table table_modules(struct model *m, size_t limit);
struct table table_processes(struct model *m, enum metric metric, size_t limit);
struct table table_programs(struct model *m, size_t limit);

enum group_key {
	BY_FUNCTION,
	BY_FILE,
	BY_MODULE,
	BY_LANGUAGE,
	BY_STACK,
	BY_THREAD,
	BY_LABEL,
	BY_PROCESS,
	BY_PROGRAM, /* processes with the same executable name */
	BY_SIZE,
	BY_COUNT
};
extern const char *const group_names[BY_COUNT]; /* spelling in --by */
/* Makes a table of sites grouped by their user frame (BY_FUNCTION, BY_FILE, BY_MODULE,
 * BY_LANGUAGE), or of single sites (BY_STACK), in descending order of `metric`. */
struct table table_groups(struct model *m, enum group_key key, enum metric metric, size_t limit);

/* ---- grouped_table.c: lists of groups of sites (grouped.h) ---- */

/* Makes a table, without a title, of a list of groups: its rows, the other sites, what is hidden,
 * and the total. */
struct table grouped_table(struct model *m, const struct list *l);
/* Returns the text of the row for sites whose first figure is 0: "3 sites without a failure". */
const char *words_none(struct model *m, const struct list *l);
/* Lists the name of each kind of group: "function". */
extern const char *const grouped_words[GROUPED_COUNT];
/* Return the name of a group, and the file name of a group that is a function ("" = none),
 * cleaned. */
const char *grouped_label(struct model *m, const struct list *l, const struct site *row,
			  const struct style *st);
const char *grouped_place(struct model *m, const struct list *l, const struct site *row,
			  const struct style *st);
/* Holds a command: a label, "Sites"; the text up to the input, "ms-filter --where EXPR"; and the
 * text behind it, " | ms-report --peak" or "". */
struct grouped_command {
	const char *label, *before, *after;
};
/* Returns the command that shows the sites of the first group, or if no filter can select them, its
 * largest site: "ms-report --site 3". */
struct grouped_command grouped_sites(struct model *m, const struct list *l);
/* Returns the command that shows all groups, or all growing sites. */
struct grouped_command grouped_all(struct model *m, const struct list *l);

/* ---- site_tables.c: tables on one site; no rows = not in the database ---- */

/* Numbers columns of site_sizes. */
enum {
	SITE_SIZE_LOW = 1,
	SITE_SIZE_HIGH,
	SITE_SIZE_CALLS,
	SITE_SIZE_BYTES = 6,
	SITE_SIZE_PEAK_BLOCKS = 9,
	SITE_SIZE_BLOCKS = 11
};
/* Makes the table of a site's blocks by size. */
struct table site_sizes(struct model *m, const struct site *s);
/* Numbers columns of site_lifetimes. */
enum { SITE_LIFETIME_LOW = 2, SITE_LIFETIME_HIGH, SITE_LIFETIME_FREES };
/* Makes the table of a site's freed blocks by lifetime, in time or (`counted`) in allocations. */
struct table site_lifetimes(struct model *m, const struct site *s, bool counted);
/* Numbers the columns of site_threads. */
enum { SITE_THREAD_TID, SITE_THREAD_NAME, SITE_THREAD_CALLS, SITE_THREAD_BYTES, SITE_THREAD_LIVE };
/* Makes the table of a site's threads, or of its labels (in place of names), most allocations first. */
struct table site_threads(struct model *m, const struct site *s, bool labels);
/* Numbers the columns of site_frees. */
enum { SITE_FREE_NODE, SITE_FREE_FREES, SITE_FREE_BYTES };
/* Makes the table of stacks that freed the site's blocks, most frees first. SITE_FREE_NODE is the
 * node that a stack is named after. */
struct table site_frees(struct model *m, const struct site *s);

/* Makes the table of what the site's unfreed blocks have in common and freed ones have not; and phrases
 * of it: "of 4,096 B: all, and none of those freed". */
struct table site_unfreed(struct model *m, const struct site *s);
struct words unfreed_words(struct model *m, const struct site *s, bool ascii);

/* ---- heap_table.c ---- */

/* Makes a table of heaps, most live bytes first. */
struct table table_heaps(struct model *m, size_t limit);
/* Returns the heaps in one line; NULL = there is only one. */
const char *heaps_line(struct model *m);

/* Returns the functions that should be hooked but were in no process: "'a', 'b'"; NULL = none. */
const char *heaps_missing(struct model *m);
/* Returns the functions that probably allocated blocks but were not hooked; NULL = none. */
const char *heaps_unhooked(struct model *m);

/* ---- resident_tables.c: --resident ---- */

/* Fills `out` with tables of resident memory: by purpose, sites by pinned and by never touched
 * bytes, files, advice, moments. Returns how many, at most RESIDENT_TABLES; resident_names has
 * their names for machines. */
#define RESIDENT_TABLES 6
size_t resident_tables(struct model *m, size_t limit, struct table out[RESIDENT_TABLES]);
extern const char *const resident_names[RESIDENT_TABLES];
/* Tells whether resident memory was measured at any moment. */
bool resident_known(struct model *m);
/* Returns the largest part of resident memory and what to do about it, or why it is not known. */
const char *resident_answer(struct model *m);

/* ---- sql.c: --sql, a query by the user ---- */

/* Runs one SELECT on the tables and views of ms-snapshot(5). It cannot change anything or access
 * other files; time, memory and rows are limited. Returns 0, or -1 with `err` set. */
int sql_ask(struct model *m, const char *query, struct table *answer, struct ms_err *err);
/* Returns the first `limit` rows of an answer. */
struct table sql_table(struct model *m, const struct table *answer, size_t limit);

/* ---- growth.c ---- */

/* Makes a table of the whole heap of each process, then of growing sites, fastest first, then of
 * sites that fill up or rose in a step. `reach`: size in bytes; the table shows when each growing
 * site will have reached it. 0 = none. */
struct table table_growth(struct model *m, uint64_t reach, size_t limit);

/* Returns a phrase for each of the fastest growing sites; none if no site grows. */
struct words growth_words(struct model *m, const struct style *st);
/* Return how a site of a growth list grows: "+3.1 MiB a minute, confidence 0.99", or in a run too
 * short for a trend, "10,308 allocated from 2 ms to 198 ms, none freed by then"; and the title of
 * that list. */
const char *growth_remark(struct model *m, const struct site *s);
const char *growth_title(struct model *m, enum metric metric);
/* Returns the first lines of a report on a process that was observed while it ran: how its heap
 * develops, then the growing sites. None = not known. */
struct words growth_verdict(struct model *m, const struct style *st);

/* ---- proc_tables.c ---- */

/* Makes a table of samples in at most `limit` time spans: the maximum of each span. */
struct table proc_timeline(struct model *m, size_t limit);
/* Makes a table of regions at the report's moment, in descending order of resident size (or of
 * size, if that is not known); after ms-diff, of the changed regions of two snapshots. */
struct table proc_regions(struct model *m, size_t limit);
/* Makes a table of regions by purpose. */
struct table proc_kinds(struct model *m);
/* Makes a table of processes by memory. */
struct table proc_processes(struct model *m, size_t limit);
/* Makes a table of processes that could not be read. */
struct table proc_skipped(struct model *m, size_t limit);
/* Makes the tables of the first screen; returns how many, at most PROC_TABLES. */
#define PROC_TABLES 4
size_t proc_first(struct model *m, size_t limit, struct table out[PROC_TABLES]);
