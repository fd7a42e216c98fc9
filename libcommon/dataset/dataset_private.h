/* SPDX-License-Identifier: MIT
 * Declarations shared by the files of this room only.
 */
#pragma once

#include "dataset.h"

#include "libcommon/base/arena.h"

/* Prefix of partition names in this version. Partitions of other versions have other columns, and
 * are not read. */
#define DATASET_PREFIX "v1-"
enum { DATASET_ID = 32, DATASET_NAME = sizeof DATASET_PREFIX + DATASET_ID };

/* Describes a column: its name, and the SQL expression for it in a snapshot. */
struct dataset_column {
	const char *name, *sql;
};
/* Describes a file of a partition. Parameters of the query: ?1 is the run's id, ?2 the run's keys
 * as JSON, ?3 the key time or NULL, ?4 whether the run is complete. */
struct dataset_file {
	const char *name; /* without .csv.zst; also the table's name */
	const struct dataset_column *columns;
	size_t n;
	const char *from; /* the query after its column list */
};
enum { DATASET_RUN, DATASET_SITE, DATASET_SITE_STAT, DATASET_FILES, DATASET_COLUMNS_MAX = 40 };
extern const struct dataset_file dataset_files[DATASET_FILES];
/* Returns the index of the column with that name. */
size_t dataset_column(const struct dataset_file *f, const char *name);
/* Returns the columns' names, or with `sql` their expressions, separated by commas. */
char *dataset_column_list(const struct dataset_file *f, bool sql, struct ms_arena *a);

/* Returns the keys except time as a JSON object in `a`; equal keys give equal bytes. */
char *dataset_keys_json(const struct ms_cli_list *keys, struct ms_arena *a);

struct dataset_text {
	char *v;
	size_t n, cap;
};
void dataset_put(struct dataset_text *t, const char *s, size_t n);

/* Holds a field of a row, in place: `quoted` distinguishes a text from a number; NULL is null. */
struct dataset_field {
	const char *text;
	bool quoted;
};
/* Parses the next row of `columns` fields at *at, in place, and moves *at behind it. The text must
 * end in a 0 byte. Returns 1; 0 at the end; -1 if the row is damaged. */
int dataset_row(char **at, char *end, struct dataset_field *fields, size_t columns);
