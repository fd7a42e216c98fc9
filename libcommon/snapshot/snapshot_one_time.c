/* SPDX-License-Identifier: MIT
 * Names the sites of a snapshot that are known one-time allocations of the runtime.
 *
 * A frame is a sign of one (one_time.h) as long as no frame of the user's own code lies between it
 * and the allocator. Callers have smaller ids, so that one pass over the stacks does.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/symbols/one_time.h"

#include <stdlib.h>

struct signs {
	uint32_t signs;
	bool user; /* this frame, or one of its callers, is or may be the user's own */
};

/* By id, from 1. */
struct table {
	struct signs *v;
	size_t n, cap;
};

static struct signs *entry(struct table *t, int64_t id)
{
	return id > 0 && (uint64_t)id < t->n ? &t->v[id] : NULL;
}

static void add(struct table *t, int64_t id, struct signs s)
{
	while (id > 0 && t->n <= (uint64_t)id)
		*MS_PUSH(t) = (struct signs){0};
	if (id > 0)
		t->v[id] = s;
}

struct naming {
	sqlite3_stmt *put;
	struct table frames, stacks;
	uint32_t inner;
};

static void take_frame(struct naming *n, sqlite3_stmt *q)
{
	bool user = sqlite3_column_int64(q, 3) == 0 || sqlite3_column_type(q, 4) != SQLITE_NULL;
	uint32_t signs = user && sqlite3_column_int64(q, 3) == 0
				 ? 0
				 : ms_one_time_signs((const char *)sqlite3_column_text(q, 1),
						     (const char *)sqlite3_column_text(q, 2));
	add(&n->frames, sqlite3_column_int64(q, 0), (struct signs){signs, user});
}

static void take_stack(struct naming *n, sqlite3_stmt *q)
{
	const struct signs *f = entry(&n->frames, sqlite3_column_int64(q, 2));
	const struct signs *caller = entry(&n->stacks, sqlite3_column_int64(q, 1));
	struct signs s = f ? *f : (struct signs){0, true};
	if (caller && !s.user)
		s.signs |= caller->signs & ~n->inner;
	s.user |= caller && caller->user;
	add(&n->stacks, sqlite3_column_int64(q, 0), s);
}

static void take_site(struct naming *n, sqlite3_stmt *q)
{
	const struct signs *s = entry(&n->stacks, sqlite3_column_int64(q, 1));
	if (!s || !s->signs)
		return;
	struct ms_one_time_site site = {.min_size = (uint64_t)sqlite3_column_int64(q, 2),
					.max_size = (uint64_t)sqlite3_column_int64(q, 3),
					.blocks = (uint64_t)sqlite3_column_int64(q, 4),
					.user = s->user};
	const char *name = ms_one_time(s->signs, &site);
	if (!name)
		return;
	sqlite3_bind_text(n->put, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(n->put, 2, sqlite3_column_int64(q, 0));
	sqlite3_step(n->put);
	sqlite3_reset(n->put);
}

static int each(struct naming *n, sqlite3 *db, const char *sql,
		void (*take)(struct naming *, sqlite3_stmt *), struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, sql, err);
	if (!q)
		return -1;
	int rc;
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		take(n, q);
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
}

int ms_fill_one_time(sqlite3 *db, struct ms_err *err)
{
	struct naming n = {.inner = ms_one_time_inner()};
	n.put = ms_sql_prepare(db, "UPDATE site SET one_time = ?1 WHERE id = ?2", err);
	int rc = !n.put ||
		 each(&n, db,
		      "SELECT f.id, m.path, f.function, f.runtime, f.note FROM frame f"
		      " LEFT JOIN module m ON m.id = f.module",
		      take_frame, err) ||
		 each(&n, db, "SELECT id, parent, frame FROM stack ORDER BY id", take_stack, err) ||
		 each(&n, db,
		      "SELECT s.id, s.stack, s.min_size, s.max_size, coalesce(s.max_live_blocks,"
		      " (SELECT max(live_blocks) FROM site_stat c WHERE c.site = s.id), 0)"
		      " FROM site s WHERE s.stack IS NOT NULL",
		      take_site, err);
	sqlite3_finalize(n.put);
	free(n.frames.v);
	free(n.stacks.v);
	return rc ? -1 : 0;
}
