/* SPDX-License-Identifier: MIT
 * Replaces the names in a snapshot, column by column.
 *
 * Deleted content is overwritten as it goes (secure_delete) and the pages are written anew at the
 * end, so the image holds no remains. tests/cli/anonymize.sh has every text column of the schema in
 * a list of its own, so that none is forgotten.
 */
#include "anonymize.h"
#include "libcommon/base/err.h"
#include "snapshot_private.h"

/* In this order, which is that of the first numbers. */
static const struct {
	const char *table, *column;
	enum ms_name kind;
	enum {
		PLAIN,
		LIST, /* in JSON; of a command the first word is a program */
		KEY   /* first to what no name is, as a new name may be an old one of another row */
	} is;
	enum ms_name others; /* of a list, but for its first */
	const char *where;   /* NULL = all rows */
} columns[] = {
	{"process", "exe", .kind = MS_NAME_MODULE},
	{"process", "host", .kind = MS_NAME_HOST},
	{"process", "kernel", .kind = MS_NAME_KERNEL},
	{"process", "cwd", .kind = MS_NAME_PATH},
	{"process", "allocator", .kind = MS_NAME_ALLOCATOR},
	{"process", "trace", .kind = MS_NAME_PATH},
	{"process", "cut", .kind = MS_NAME_REMARK},
	{"process", "comm", .kind = MS_NAME_THREAD},
	{"snapshot", "label", .kind = MS_NAME_POINT},
	{"module", "path", .kind = MS_NAME_MODULE},
	{"frame", "function", .kind = MS_NAME_FUNCTION},
	{"frame", "file", .kind = MS_NAME_FILE},
	{"thread", "name", .kind = MS_NAME_THREAD},
	{"mark", "name", .kind = MS_NAME_MARK},
	{"scan", "label", .kind = MS_NAME_POINT},
	{"resident", "label", .kind = MS_NAME_POINT},
	{"resident_file", "file", .kind = MS_NAME_MODULE},
	{"region", "path", .kind = MS_NAME_MODULE},
	{"skipped", "name", .kind = MS_NAME_THREAD},
	{"hidden", "filter", .kind = MS_NAME_REMARK},
	{"suppression", "rule", .kind = MS_NAME_REMARK},
	{"diff_run", "name", .kind = MS_NAME_PATH},
	{"diff_run", "point", .kind = MS_NAME_POINT},
	{"diff_run", "exe", .kind = MS_NAME_MODULE},
	{"diff_hidden", "filter", .kind = MS_NAME_REMARK},
	{"site_diff", "evidence", .kind = MS_NAME_REMARK},
	{"meta", "value", .kind = MS_NAME_REMARK, .where = "key = 'unreadable'"},
	{"diff", "value", .kind = MS_NAME_PATH, .where = "key IN ('old', 'new')"},
	{"diff", "value", .kind = MS_NAME_POINT, .where = "key IN ('old_point', 'new_point')"},
	{"diff", "value", .kind = MS_NAME_REMARK,
	 .where = "key IN ('per', 'history', 'old_nameless', 'new_nameless')"},
	{"process", "command", .kind = MS_NAME_MODULE, .is = LIST, .others = MS_NAME_ARGUMENT},
	{"process", "hooks_missing", .kind = MS_NAME_FUNCTION, .is = LIST,
	 .others = MS_NAME_FUNCTION},
	{"process", "allocators_missed", .kind = MS_NAME_FUNCTION, .is = LIST,
	 .others = MS_NAME_FUNCTION},
	{"diff_run", "command", .kind = MS_NAME_MODULE, .is = LIST, .others = MS_NAME_ARGUMENT},
	{"diff_run", "filters", .kind = MS_NAME_REMARK, .is = LIST, .others = MS_NAME_REMARK},
	{"meta", "value", .kind = MS_NAME_REMARK, .is = LIST, .others = MS_NAME_REMARK,
	 .where = "key = 'filters'"},
	{"region_diff", "process", .kind = MS_NAME_MODULE, .is = KEY},
	{"region_diff", "path", .kind = MS_NAME_MODULE, .is = KEY},
	{"suppression", "file", .kind = MS_NAME_PATH, .is = KEY},
	{"heap", "name", .kind = MS_NAME_ALLOCATOR, .is = KEY},
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
	for (size_t i = 0; i < sizeof columns / sizeof *columns && rc == 0; i++)
		rc = replace_column(db, i, err);
	/* a key tells a name to who guesses it */
	rc = rc || ms_sql_exec(db, "UPDATE module SET build_id = NULL", err) ||
	     ms_sql_exec(db, "UPDATE site SET key = NULL WHERE key IS NOT NULL", err) ||
	     ms_sql_execf(db, err,
			  "UPDATE frame SET note = 'heap ' || anonymous(%d, substr(note, "
			  "6)) WHERE note LIKE 'heap %%'",
			  MS_NAME_ALLOCATOR) ||
	     ms_sql_exec(db, "VACUUM", err);
	sqlite3_create_function(db, "anonymous", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	ms_anonymizer_free(own);
	return rc ? -1 : 0;
}
