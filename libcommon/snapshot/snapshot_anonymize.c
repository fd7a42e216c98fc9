/* SPDX-License-Identifier: MIT
 * Replaces the names in a snapshot, column by column.
 *
 * Deleted content is overwritten at once (secure_delete) and the pages are rebuilt at the end,
 * so the image has no remains of it. tests/cli/anonymize.sh has its own list of all text columns
 * of the schema, so that none is forgotten.
 */
#include "anonymize.h"
#include "libcommon/base/err.h"
#include "snapshot_columns.h"
#include "snapshot_private.h"

/* Lists the ways to replace a column, in the order in which they are applied. */
enum {
	PLAIN,
	SOME, /* only some rows of a key-value table */
	LIST, /* a JSON list; in a command line, the first word is a program */
	KEY,  /* replaced twice, since a new name may equal another row's old name */
	GONE, /* set to null, since names can be guessed from a key */
	HOWS
};

#define MS_NAME_NULL 0
static const struct {
	const char *table, *column;
	int is;
	enum ms_name kind, others; /* others: kind of all list entries except the first */
	const char *where;         /* NULL = all rows */
} columns[] = {
#define X(table, column, is, kind, others)                                                         \
	{table, column, is, MS_NAME_##kind, MS_NAME_##others, NULL},
	MS_NAMES(X)
#undef X
		{"meta", "value", SOME, MS_NAME_REMARK, MS_NAME_REMARK, "key = 'unreadable'"},
	{"diff", "value", SOME, MS_NAME_PATH, MS_NAME_PATH, "key IN ('old', 'new')"},
	{"diff", "value", SOME, MS_NAME_POINT, MS_NAME_POINT, "key IN ('old_point', 'new_point')"},
	{"diff", "value", SOME, MS_NAME_REMARK, MS_NAME_REMARK,
	 "key IN ('per', 'history', 'old_nameless', 'new_nameless')"},
	{"meta", "value", LIST, MS_NAME_REMARK, MS_NAME_REMARK, "key = 'filters'"},
	{"keeper", "name", SOME, MS_NAME_FUNCTION, MS_NAME_FUNCTION,
	 "kind IN ('variable', 'section', 'thread_local', 'frame')"},
	{"kept_diff", "name", SOME, MS_NAME_FUNCTION, MS_NAME_FUNCTION,
	 "kind IN ('variable', 'section', 'thread_local', 'frame', 'shared')"},
};

static void anonymous(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	const char *text = (const char *)sqlite3_value_text(v[1]);
	if (!text) {
		sqlite3_result_null(c);
		return;
	}
	sqlite3_result_text(c,
			    ms_anonymous(sqlite3_user_data(c),
					 (enum ms_name)sqlite3_value_int(v[0]), text,
					 (size_t)sqlite3_value_bytes(v[1])),
			    -1, SQLITE_TRANSIENT);
}

static int replace_column(sqlite3 *db, size_t i, struct ms_err *err)
{
	const char *table = columns[i].table, *c = columns[i].column;
	const char *where = columns[i].where ? columns[i].where : "1";
	int kind = columns[i].kind;
	if (columns[i].is == LIST)
		return ms_sql_execf(db, err,
				    "UPDATE %s SET %s = iif(json_valid(%s), (SELECT"
				    " json_group_array(anonymous(iif(j.key = 0, %d, %d), j.value))"
				    " FROM json_each(%s.%s) j), NULL) WHERE %s IS NOT NULL AND %s",
				    table, c, c, kind, columns[i].others, table, c, c, where);
	if (columns[i].is == GONE)
		return ms_sql_execf(db, err, "UPDATE %s SET %s = NULL WHERE %s IS NOT NULL", table,
				    c, c);
	if (columns[i].is == KEY)
		return ms_sql_execf(db, err,
				    "UPDATE %s SET %s = char(1) || %s;"
				    "UPDATE %s SET %s = anonymous(%d, substr(%s, 2))",
				    table, c, c, table, c, kind, c);
	return ms_sql_execf(db, err,
			    "UPDATE %s SET %s = anonymous(%d, %s) WHERE %s IS NOT NULL AND %s",
			    table, c, kind, c, c, where);
}

int ms_snapshot_anonymize(sqlite3 *db, struct ms_anonymizer *a, struct ms_err *err)
{
	struct ms_anonymizer *own = a ? NULL : ms_anonymizer_new();
	a = a ? a : own;
	if (sqlite3_create_function(db, "anonymous", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, a,
				    anonymous, NULL, NULL) != SQLITE_OK) {
		ms_anonymizer_free(own);
		return ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	}
	int rc = 0;
	for (int how = 0; how < HOWS; how++)
		for (size_t i = 0; i < sizeof columns / sizeof *columns && rc == 0; i++)
			rc = columns[i].is == how ? replace_column(db, i, err) : 0;
	rc = rc ||
	     ms_sql_execf(db, err,
			  "UPDATE frame SET note = 'heap ' || anonymous(%d, substr(note, "
			  "6)) WHERE note LIKE 'heap %%'",
			  MS_NAME_ALLOCATOR) ||
	     ms_sql_exec(db, "VACUUM", err);
	sqlite3_create_function(db, "anonymous", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	ms_anonymizer_free(own);
	return rc ? -1 : 0;
}
