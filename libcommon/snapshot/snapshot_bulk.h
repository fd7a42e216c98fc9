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

#define MS_BULK_COLUMNS 80u /* at most */

struct ms_bulk_value {
	union {
		int64_t number;
		double real;
		size_t text; /* offset in ms_bulk.text */
	};
	uint32_t length; /* of the text */
	enum { MS_BULK_NULL, MS_BULK_NUMBER, MS_BULK_REAL, MS_BULK_TEXT } type;
};

/* Rows one after the other. */
struct ms_bulk {
	size_t columns; /* of a row */
	struct {
		struct ms_bulk_value *v;
		size_t n, cap;
	} values;
	struct {
		char *v;
		size_t n, cap;
	} text;
};

/* Lets statements of `db` read bulks: `FROM ms_rows(?1)` with columns c0, c1... Once for each
 * database. SQLite's result. */
int ms_bulk_register(sqlite3 *db);
/* `b` is what parameter `parameter` of the statement names; it is borrowed. SQLite's result. */
int ms_bulk_bind(sqlite3_stmt *stmt, int parameter, struct ms_bulk *b);
/* Appends a value; text is copied. */
void ms_bulk_put(struct ms_bulk *b, struct ms_bulk_value v);
void ms_bulk_put_text(struct ms_bulk *b, const char *s, size_t length);
/* Has it become so large that it should be inserted? */
static inline bool ms_bulk_is_full(const struct ms_bulk *b)
{
	return b->values.n >= 4096 || b->text.n >= (64 << 10);
}
void ms_bulk_clear(struct ms_bulk *b);
void ms_bulk_free(struct ms_bulk *b);

#endif
