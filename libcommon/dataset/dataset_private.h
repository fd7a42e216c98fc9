/* SPDX-License-Identifier: MIT
 * What the files of this room share.
 */
#pragma once

#include "dataset.h"

#include "libcommon/base/arena.h"

/* Partitions of other versions have other columns, and are not read. */
#define DATASET_PREFIX "v1-"
enum { DATASET_ID = 32, DATASET_NAME = sizeof DATASET_PREFIX + DATASET_ID };

/* A column: its name here, and where in a snapshot it comes from. */
struct dataset_column {
	const char *name, *sql;
};
/* A file of a partition. In its query ?1 is the run's id, ?2 its keys as JSON, ?3 the key time or
 * null, ?4 whether the run is complete. */
struct dataset_file {
	const char *name; /* without .csv.zst; as a table, too */
	const struct dataset_column *columns;
	size_t n;
	const char *from; /* the rest of the query */
};
enum { DATASET_RUN, DATASET_SITE, DATASET_SITE_STAT, DATASET_FILES, DATASET_COLUMNS_MAX = 40 };
extern const struct dataset_file dataset_files[DATASET_FILES];
/* Which column of the file has that name. */
size_t dataset_column(const struct dataset_file *f, const char *name);
/* The columns with commas between them: their names, or what they come from. */
char *dataset_column_list(const struct dataset_file *f, bool sql, struct ms_arena *a);

/* The keys without time, as a JSON object in `a`; the same keys give the same bytes. */
char *dataset_keys_json(const struct ms_cli_list *keys, struct ms_arena *a);

struct dataset_text {
	char *v;
	size_t n, cap;
};
void dataset_put(struct dataset_text *t, const char *s, size_t n);

/* A row's fields are texts in place: `quoted` tells a text from a number, NULL is null. */
struct dataset_field {
	const char *text;
	bool quoted;
};
/* Takes the next row of `columns` fields from *at, which ends in a 0 byte, and changes it. 1, 0 at
 * the end, -1: damaged. */
int dataset_row(char **at, char *end, struct dataset_field *fields, size_t columns);
