/* SPDX-License-Identifier: MIT
 * Replaces the names in a snapshot, column by column.
 *
 * Deleted content is overwritten as it goes (secure_delete) and the pages are written anew at the
 * end, so the image holds no remains. tests/cli/anonymize.sh has every text column of the schema in
 * a list of its own, so that none is forgotten.
 */
#include "snapshot_anonymize.h"

#include "anonymize.h"
#include "libcommon/base/err.h"
#include "snapshot_private.h"

/* In this order, which is that of the first numbers. */
static const struct {
	const char *table, *column;
	enum ms_name kind;
	const char *where; /* NULL = all rows */
} columns[] = {
	{"process", "exe", MS_NAME_MODULE, NULL},
	{"process", "host", MS_NAME_HOST, NULL},
	{"process", "kernel", MS_NAME_KERNEL, NULL},
	{"process", "cwd", MS_NAME_PATH, NULL},
	{"process", "allocator", MS_NAME_ALLOCATOR, NULL},
	{"process", "trace", MS_NAME_PATH, NULL},
	{"process", "cut", MS_NAME_REMARK, NULL},
	{"process", "comm", MS_NAME_THREAD, NULL},
	{"snapshot", "label", MS_NAME_POINT, NULL},
	{"module", "path", MS_NAME_MODULE, NULL},
	{"frame", "function", MS_NAME_FUNCTION, NULL},
	{"frame", "file", MS_NAME_FILE, NULL},
	{"thread", "name", MS_NAME_THREAD, NULL},
	{"mark", "name", MS_NAME_MARK, NULL},
	{"scan", "label", MS_NAME_POINT, NULL},
	{"region", "path", MS_NAME_MODULE, NULL},
	{"skipped", "name", MS_NAME_THREAD, NULL},
	{"hidden", "filter", MS_NAME_REMARK, NULL},
	{"suppression", "rule", MS_NAME_REMARK, NULL},
	{"diff_run", "name", MS_NAME_PATH, NULL},
	{"diff_run", "point", MS_NAME_POINT, NULL},
	{"diff_run", "exe", MS_NAME_MODULE, NULL},
	{"diff_hidden", "filter", MS_NAME_REMARK, NULL},
	{"site_diff", "evidence", MS_NAME_REMARK, NULL},
	{"meta", "value", MS_NAME_REMARK, "key = 'unreadable'"},
	{"diff", "value", MS_NAME_PATH, "key IN ('old', 'new')"},
	{"diff", "value", MS_NAME_POINT, "key IN ('old_point', 'new_point')"},
	{"diff", "value", MS_NAME_REMARK, "key IN ('per', 'old_nameless', 'new_nameless')"},
};

/* Lists in JSON; of a command the first word is a program. */
static const struct {
	const char *table, *column;
	enum ms_name first, others;
	const char *where;
} lists[] = {
	{"process", "command", MS_NAME_MODULE, MS_NAME_ARGUMENT, NULL},
	{"process", "hooks_missing", MS_NAME_FUNCTION, MS_NAME_FUNCTION, NULL},
	{"diff_run", "command", MS_NAME_MODULE, MS_NAME_ARGUMENT, NULL},
	{"diff_run", "filters", MS_NAME_REMARK, MS_NAME_REMARK, NULL},
	{"meta", "value", MS_NAME_REMARK, MS_NAME_REMARK, "key = 'filters'"},
};

/* Columns of keys: first to what no name is, as a new name may be an old one of another row. */
static const struct {
	const char *table, *column;
	enum ms_name kind;
} keys[] = {
	{"region_diff", "process", MS_NAME_MODULE},
	{"region_diff", "path", MS_NAME_MODULE},
	{"suppression", "file", MS_NAME_PATH},
	{"heap", "name", MS_NAME_ALLOCATOR},
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

static int replace_columns(sqlite3 *db, struct ms_err *err)
{
	int rc = 0;
	for (size_t i = 0; i < sizeof columns / sizeof *columns && rc == 0; i++)
		rc = ms_sql_execf(db, err,
				  "UPDATE \"%w\" SET \"%w\" = anonymous(%d, \"%w\") WHERE "
				  "\"%w\" IS NOT NULL AND %s",
				  columns[i].table, columns[i].column, columns[i].kind,
				  columns[i].column, columns[i].column,
				  columns[i].where ? columns[i].where : "1");
	return rc;
}

static int replace_lists(sqlite3 *db, struct ms_err *err)
{
	int rc = 0;
	for (size_t i = 0; i < sizeof lists / sizeof *lists && rc == 0; i++)
		rc = ms_sql_execf(
			db, err,
			"UPDATE \"%w\" SET \"%w\" = iif(json_valid(\"%w\"), (SELECT "
			"json_group_array(anonymous(iif(j.key = 0, %d, %d), j.value)) "
			"FROM json_each(\"%w\".\"%w\") j), NULL) WHERE \"%w\" IS NOT NULL "
			"AND %s",
			lists[i].table, lists[i].column, lists[i].column, lists[i].first,
			lists[i].others, lists[i].table, lists[i].column, lists[i].column,
			lists[i].where ? lists[i].where : "1");
	return rc;
}

static int replace_keys(sqlite3 *db, struct ms_err *err)
{
	int rc = 0;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && rc == 0; i++) {
		const char *t = keys[i].table, *c = keys[i].column;
		rc = ms_sql_execf(db, err, "UPDATE \"%w\" SET \"%w\" = char(1) || \"%w\"", t, c, c);
		if (rc == 0)
			rc = ms_sql_execf(db, err,
					  "UPDATE \"%w\" SET \"%w\" = anonymous(%d, "
					  "substr(\"%w\", 2))",
					  t, c, keys[i].kind, c);
	}
	return rc;
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
	int rc = replace_columns(db, err) || replace_lists(db, err) || replace_keys(db, err) ||
		 ms_sql_exec(db, "UPDATE module SET build_id = NULL", err) ||
		 ms_sql_execf(db, err,
			      "UPDATE frame SET note = 'heap ' || anonymous(%d, substr(note, "
			      "6)) WHERE note LIKE 'heap %%'",
			      MS_NAME_ALLOCATOR) ||
		 ms_sql_exec(db, "VACUUM", err);
	sqlite3_create_function(db, "anonymous", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	ms_anonymizer_free(own);
	return rc ? -1 : 0;
}
