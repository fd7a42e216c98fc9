/* SPDX-License-Identifier: MIT
 * Filling tables: an INSERT whose values are put one after the other, row by row.
 */
#ifndef MS_SNAPSHOT_INSERT_H
#define MS_SNAPSHOT_INSERT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "snapshot_bulk.h"

struct ms_err;

struct ms_insert {
	sqlite3_stmt *stmt; /* NULL after a failure: all calls do nothing then */
	int column;
	bool many; /* rows are collected in `rows`; else the statement takes each as it comes */
	struct ms_bulk rows;
	sqlite3 *db;
	struct ms_err *err;
};

/* INSERT INTO `table` (`columns`): names with commas between. Rows are not in the table before the
 * insert is closed. `db` is of ms_snapshot_new. */
void ms_insert_open(struct ms_insert *in, sqlite3 *db, const char *table, const char *columns,
		    struct ms_err *err);
/* 0, or -1 when anything failed since open (`err` is set). */
int ms_insert_close(struct ms_insert *in);

void ms_put(struct ms_insert *in, uint64_t v); /* what is over INT64_MAX becomes that */
void ms_put_address(struct ms_insert *in,
		    uint64_t v); /* the same 64 bits, as SQLite's signed integer */
void ms_put_if(struct ms_insert *in, bool known, uint64_t v); /* null when not known */
void ms_put_real(struct ms_insert *in, double v);
void ms_put_null(struct ms_insert *in);
void ms_put_text(struct ms_insert *in,
		 const char *s); /* NULL gives null; bytes that are no UTF-8 become U+FFFD */
/* All values are put: inserts the row. */
void ms_put_row(struct ms_insert *in);

/* `s` as UTF-8 in malloc'ed memory, or NULL when it is good as it is. */
char *ms_utf8_repair(const char *s);

#endif
