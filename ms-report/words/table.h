/* SPDX-License-Identifier: MIT
 * A view as a table of typed cells, which each format writes in its own way.
 */
#pragma once

#include "say.h"

#include "ms-report/model/lists.h"

struct style;

enum cell_kind {
	CELL_TEXT,     /* s, raw: formats make it harmless */
	CELL_FUNCTION, /* s, raw: shortened for people */
	CELL_PATH,     /* s, raw: cut at its start where room is short */
	CELL_SIZE,     /* n bytes */
	CELL_COUNT,    /* n */
	CELL_ID,       /* n, without commas */
	CELL_TIME,     /* n ns */
	CELL_VALUE,    /* s, a number as it is to be written */
	CELL_BAR,      /* n thousandths of the longest bar: drawn in text, left out elsewhere */
};

struct column {
	const char *title; /* for people; NULL = only for machines */
	const char *name;  /* for machines; NULL = only for people */
	enum cell_kind kind;
	bool sum;      /* rows add up to the total */
	bool optional; /* left out where the line is narrow */
	/* Offsets + 1 of a uint64_t each: where table_take finds the figure in what a row is of,
	 * and table_finish the whole of it in the model; 0 = it is set otherwise, or not known. */
	size_t of, all;
	const char *sql; /* what table_query asks for; NULL = its name, or nothing if it has none */
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
	const struct ms_spread *e; /* of an estimate; NULL = exact */
	const uint64_t *limits;    /* its interval, where it is known without a spread */
};

enum row_kind { ROW_ITEM, ROW_MORE, ROW_HIDDEN, ROW_OTHER, ROW_TOTAL };

struct row {
	enum row_kind kind;
	size_t order; /* in which it was made */
	struct cell *cells;
};

struct table {
	const char *title; /* NULL = none */
	const char *empty; /* what to say when there are no rows */
	const struct column *columns;
	size_t column_count;
	struct row *rows;
	size_t n, cap;
	size_t more; /* rows that one of them stands for */
	bool at;     /* live figures are those of --at, not of the end */
};

/* A table without rows of these columns; what follows are further members. */
#define TABLE_OF(cols, ...)                                                                        \
	{                                                                                          \
		.columns = (cols), .column_count = sizeof(cols) / sizeof *(cols), __VA_ARGS__      \
	}

/* One more row, its cells zeroed; valid until the next one. */
struct row *table_row(struct model *m, struct table *t);
/* Fills in the cells whose columns are members of the struct `what`; those that are summed up are
 * added to what is there. */
void table_take(const struct table *t, struct cell *cells, const void *what);
/* The rows of a query, column by column: `from` is what follows the columns, "FROM ...", and is a
 * format as sqlite3_mprintf has it. */
void table_query(struct model *m, struct table *t, const char *from, ...);
/* Sorts by a column, largest first (-1: not at all), keeps `limit` rows and folds the others into
 * one that says how many more there are, of which one is a `what`; then adds what is missing to the total (hidden
 * by filters, or in no row), if anything, and the total: none, that of the model, or just the sum
 * of the rows. */
enum table_total { TOTAL_NONE, TOTAL_OF_RUN, TOTAL_OF_ROWS };
void table_finish(struct model *m, struct table *t, int64_t column, size_t limit, const char *what,
		  enum table_total total);
/* Gives a column another title: NULL = only for machines. */
void table_retitle(struct model *m, struct table *t, size_t column, const char *title);
/* `title`, and that filters do not reach these figures if there were any: they take sites away, and
 * what was counted by thread, process or time stays whole. */
const char *table_unfiltered(struct model *m, const char *title);

/* Gives the cells of a row whose columns are estimated figures, by their names, their spreads; adds
 * to those that have one already. */
void est_cells(struct model *m, const struct table *t, struct cell *cells,
	       const struct estimates *e);
/* Adds a spread to that of a cell. */
void est_cell_add(struct model *m, struct cell *to, const struct ms_spread *e);
/* A cell of a number for people. */
const char *cell_number(struct model *m, const struct column *c, const struct cell *x,
			enum row_kind kind);
/* Its interval; false: it is exact, or not known. */
bool est_cell_limits(const struct cell *x, uint64_t *low, uint64_t *high);
/* Has any cell of a column an interval? */
bool est_column(const struct table *t, size_t column);

/* A range of sizes, both ends in it: "64 B", "1.0 KiB to 2.0 KiB". */
const char *table_size_range(struct model *m, uint64_t low, uint64_t high);
/* Sets the cells of column `bar`, a CELL_BAR, from those of column `value`. */
void table_bars(struct table *t, size_t value, size_t bar);

/* The views. `limit` rows at most, the rest in one ROW_MORE with its sums; all live in the model's
 * arena. METRIC_COUNT = each in its own order. */
struct table table_summary(struct model *m);
struct table table_threads(struct model *m, enum metric metric, size_t limit);
struct table table_timeline(struct model *m, size_t limit);
struct table table_sizes(struct model *m, enum metric metric, size_t limit);
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
	BY_PROCESS,
	BY_PROGRAM, /* processes of one executable's name */
	BY_SIZE,
	BY_COUNT
};
extern const char *const group_names[BY_COUNT]; /* the spelling of --by */
/* Sites grouped by what their user frame says (BY_FUNCTION, BY_FILE, BY_MODULE, BY_LANGUAGE), or each for itself
 * (BY_STACK), largest `metric` first. */
struct table table_groups(struct model *m, enum group_key key, enum metric metric, size_t limit);

/* ---- grouped_table.c: lists of groups of sites (grouped.h) ---- */

/* Makes a table of such a list: its rows, the other sites, what is hidden, and the total; no title. */
struct table grouped_table(struct model *m, const struct list *l);
/* Returns "3 sites without a failure": what the row of those says that the list is not of. */
const char *words_none(struct model *m, const struct list *l);
/* Names each kind of group: "function". */
extern const char *const grouped_words[GROUPED_COUNT];
/* Return the name of a group, and of a function the name of its file, "" = none; cleaned. */
const char *grouped_label(struct model *m, const struct list *l, const struct site *row,
			  const struct style *st);
const char *grouped_place(struct model *m, const struct list *l, const struct site *row,
			  const struct style *st);
/* A command: what it shows, "Sites"; up to its input, "ms-filter --where EXPR"; and what follows that,
 * " | ms-report --peak", or "". */
struct grouped_command {
	const char *label, *before, *after;
};
/* Returns the command that shows the sites of the first group, or, where none does, the largest of
 * them: "ms-report --site 3". */
struct grouped_command grouped_sites(struct model *m, const struct list *l);
/* Returns the command that shows all groups, or all that grow. */
struct grouped_command grouped_all(struct model *m, const struct list *l);

/* ---- site_tables.c: of one site; no rows where the database does not say ---- */

/* Blocks by size, and freed ones by what lay between allocation and free: time or, `counted`,
 * allocations. */
enum {
	SITE_SIZE_LOW = 1,
	SITE_SIZE_HIGH,
	SITE_SIZE_CALLS,
	SITE_SIZE_BYTES = 6,
	SITE_SIZE_PEAK_BLOCKS = 9,
	SITE_SIZE_BLOCKS = 11
};
struct table site_sizes(struct model *m, const struct site *s);
enum { SITE_LIFETIME_LOW = 2, SITE_LIFETIME_HIGH, SITE_LIFETIME_FREES };
struct table site_lifetimes(struct model *m, const struct site *s, bool counted);
/* Threads, most allocations first. */
enum { SITE_THREAD_TID, SITE_THREAD_NAME, SITE_THREAD_CALLS, SITE_THREAD_BYTES, SITE_THREAD_LIVE };
struct table site_threads(struct model *m, const struct site *s);
/* Stacks that freed its blocks, most frees first, each by the node that it is named after. */
enum { SITE_FREE_NODE, SITE_FREE_FREES, SITE_FREE_BYTES };
struct table site_frees(struct model *m, const struct site *s);

/* ---- heap_table.c ---- */

/* One row a heap, that with the most live bytes first. */
struct table table_heaps(struct model *m, size_t limit);
/* Says the heaps in a line, or NULL: there is but one. */
const char *heaps_line(struct model *m);

/* Functions that were to be hooked and that no process had: 'a', 'b'; or NULL. */
const char *heaps_missing(struct model *m);
/* Functions that are likely to have given out blocks and were not hooked; or NULL. */
const char *heaps_unhooked(struct model *m);

/* ---- resident_tables.c: --resident ---- */

/* Fills `out` with tables of resident memory: what it is for, sites by what they pin and by what
 * was never touched, files, advice, moments, at most RESIDENT_TABLES; returns how many.
 * resident_names: their names for machines. */
#define RESIDENT_TABLES 6
size_t resident_tables(struct model *m, size_t limit, struct table out[RESIDENT_TABLES]);
extern const char *const resident_names[RESIDENT_TABLES];
/* Tells whether resident memory is known of any moment. */
bool resident_known(struct model *m);
/* The largest part of it and what to do, or why nothing is known. */
const char *resident_answer(struct model *m);

/* ---- sql.c: --sql, somebody's question to the snapshot ---- */

/* Asks one SELECT of the tables and views of ms-snapshot(5). Nothing can be changed, no other file
 * reached; time, memory and rows are limited. 0, or -1 with `err` set. */
int sql_ask(struct model *m, const char *query, struct table *answer, struct ms_err *err);
/* Its first `limit` rows. */
struct table sql_table(struct model *m, const struct table *answer, size_t limit);

/* ---- growth.c ---- */

/* The whole heap of each process, then growing sites, fastest first, then those that fill or went
 * up in a step. `reach`: a size in bytes; how long each growing one takes until it has that is
 * told; 0 = none. */
struct table table_growth(struct model *m, uint64_t reach, size_t limit);

/* The fastest growing sites in a phrase each; none where none grows. */
struct words growth_words(struct model *m, const struct style *st);
/* How a site grows, of a list of those that do: "+3.1 MiB a minute, confidence 0.99"; of a run too short
 * for that, what it kept: "10,308 allocated from 2 ms to 198 ms, none freed by then". And what the
 * title of that list says of it. */
const char *growth_remark(struct model *m, const struct site *s);
const char *growth_title(struct model *m, enum metric metric);
/* With what a report of a process that was looked at while it ran begins: what its heap does, then
 * those sites. None where the snapshot does not know. */
struct words growth_verdict(struct model *m, const struct style *st);

/* ---- proc_tables.c ---- */

/* Samples over time, in `limit` spans at most: the largest of each span. */
struct table proc_timeline(struct model *m, size_t limit);
/* Regions at the moment, most resident first (or the largest, where that is not known); of ms-diff
 * what changed between two snapshots of them. */
struct table proc_regions(struct model *m, size_t limit);
/* Makes the table of regions by what they are for. */
struct table proc_kinds(struct model *m);
/* Makes the table of processes by what they hold. */
struct table proc_processes(struct model *m, size_t limit);
/* Makes the table of processes that could not be read. */
struct table proc_skipped(struct model *m, size_t limit);
/* The tables of the first screen, at most PROC_TABLES; how many. */
#define PROC_TABLES 4
size_t proc_first(struct model *m, size_t limit, struct table out[PROC_TABLES]);
