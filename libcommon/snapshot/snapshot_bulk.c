/* SPDX-License-Identifier: MIT
 * Rows in memory as a table that SQLite can select from.
 *
 * ms_rows has as many columns as any table that is filled, and a hidden last one: the rows to be
 * read, given as a pointer, so that no text of SQL can name any.
 */
#include "snapshot_bulk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pointer_type[] = "ms_bulk";

void ms_bulk_clear(struct ms_bulk *b)
{
	b->values.n = 0;
	ms_arena_free(&b->text);
}

void ms_bulk_free(struct ms_bulk *b)
{
	free(b->values.v);
	ms_arena_free(&b->text);
}

/* ---- the table ---- */

struct cursor {
	sqlite3_vtab_cursor base;
	const struct ms_bulk *bulk;
	size_t at; /* its first value of the row */
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **why)
{
	char sql[MS_BULK_COLUMNS * 4 + 64], *end = sql + sprintf(sql, "CREATE TABLE x(");
	(void)aux, (void)argc, (void)argv, (void)why;
	for (unsigned i = 0; i < MS_BULK_COLUMNS; i++)
		end += sprintf(end, "c%u,", i);
	strcpy(end, "rows HIDDEN)");
	sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	int rc = sqlite3_declare_vtab(db, sql);
	*out = rc == SQLITE_OK ? sqlite3_malloc(sizeof **out) : NULL;
	if (rc == SQLITE_OK && !*out)
		return SQLITE_NOMEM;
	if (*out)
		**out = (sqlite3_vtab){0};
	return rc;
}

static int disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		if (!c->usable || c->iColumn != (int)MS_BULK_COLUMNS ||
		    c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->estimatedCost = 1;
		return SQLITE_OK;
	}
	return SQLITE_CONSTRAINT;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct cursor *c = sqlite3_malloc(sizeof *c);
	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){0};
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	sqlite3_free(base);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	(void)number, (void)text;
	c->bulk = argc == 1 ? sqlite3_value_pointer(argv[0], pointer_type) : NULL;
	c->at = 0;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	c->at += c->bulk->columns;
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (const struct cursor *)base;
	return !c->bulk || c->at + c->bulk->columns > c->bulk->values.n;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	const struct cursor *c = (const struct cursor *)base;
	if (i < 0 || (size_t)i >= c->bulk->columns)
		return SQLITE_OK;
	const struct ms_value *v = &c->bulk->values.v[c->at + (size_t)i];
	if (v->type == MS_VALUE_NUMBER)
		sqlite3_result_int64(out, v->number);
	else if (v->type == MS_VALUE_REAL)
		sqlite3_result_double(out, v->real);
	else if (v->type == MS_VALUE_TEXT)
		sqlite3_result_text(out, v->text, -1, SQLITE_STATIC);
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct cursor *c = (const struct cursor *)base;
	*out = (sqlite3_int64)c->at;
	return SQLITE_OK;
}

int ms_bulk_register(sqlite3 *db)
{
	static const sqlite3_module module = {
		.xConnect = connect,
		.xBestIndex = best_index,
		.xDisconnect = disconnect,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = at_end,
		.xColumn = column,
		.xRowid = row_id,
	};
	return sqlite3_create_module(db, "ms_rows", &module, NULL);
}

int ms_bulk_bind(sqlite3_stmt *stmt, int parameter, struct ms_bulk *b)
{
	return sqlite3_bind_pointer(stmt, parameter, b, pointer_type, NULL);
}
