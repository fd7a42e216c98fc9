/* SPDX-License-Identifier: MIT
 * Rows kept in memory until one statement inserts them all, which costs a third of a statement a
 * row.
 */
#ifndef MS_SNAPSHOT_BULK_H
#define MS_SNAPSHOT_BULK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

#define MS_BULK_COLUMNS 100u /* at most */

/* What one column of a row is to hold. */
struct ms_value {
	const char *column;
	enum { MS_VALUE_NULL, MS_VALUE_NUMBER, MS_VALUE_REAL, MS_VALUE_TEXT } type;
	union {
		int64_t number;
		double real;
		const char *text;
	};
};

/* Rows one after the other. */
struct ms_bulk {
	size_t columns;                   /* of a row */
	MS_ARRAY(struct ms_value) values; /* their texts are in `text` */
	struct ms_arena text;
};

/* Lets statements of `db` read bulks: `FROM ms_rows(?1)` with columns c0, c1... Once for each
 * database. SQLite's result. */
int ms_bulk_register(sqlite3 *db);
/* `b` is what parameter `parameter` of the statement names; it is borrowed. SQLite's result. */
int ms_bulk_bind(sqlite3_stmt *stmt, int parameter, struct ms_bulk *b);
void ms_bulk_clear(struct ms_bulk *b);
void ms_bulk_free(struct ms_bulk *b);

#endif
