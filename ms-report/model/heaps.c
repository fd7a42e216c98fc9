/* SPDX-License-Identifier: MIT
 * Heaps of the program's own beside malloc's, asked of the database.
 */
#include "heaps.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"

/* The heap of a site stands above its outermost frame. What is unused of backing memory is known at
 * the end only. */
static const char sql[] =
	"WITH RECURSIVE up(site, stack) AS (SELECT id, stack FROM site"
	"  WHERE EXISTS(SELECT 1 FROM frame WHERE note LIKE 'heap %') UNION ALL"
	"  SELECT up.site, k.parent FROM up JOIN stack k ON k.id = up.stack"
	"  WHERE k.parent IS NOT NULL),"
	" root AS (SELECT up.site, substr(f.note, 6) AS heap FROM up"
	"  JOIN stack k ON k.id = up.stack AND k.parent IS NULL JOIN frame f ON f.id = k.frame"
	"  WHERE f.note LIKE 'heap %'),"
	" stat AS (SELECT c.site, t.label, c.live_bytes, c.live_blocks FROM site_stat c"
	"  JOIN snapshot t ON t.id = c.snapshot),"
	" each AS (SELECT coalesce(root.heap, 'malloc') AS heap, root.heap IS NULL AS plain,"
	"  total(e.live_bytes) AS live, total(e.live_blocks) AS blocks,"
	"  iif((SELECT count(*) FROM snapshot WHERE label = 'peak'),"
	"  CAST(total(p.live_bytes) AS INTEGER), NULL) AS peak,"
	"  sum(s.allocated_bytes) AS allocated, sum(s.allocations) AS allocations,"
	"  sum(s.frees) AS frees FROM site s LEFT JOIN root ON root.site = s.id"
	"  LEFT JOIN stat e ON e.site = s.id AND e.label = ?1"
	"  LEFT JOIN stat p ON p.site = s.id AND p.label = 'peak' GROUP BY root.heap),"
	" behind AS (SELECT name, sum(backing_bytes) AS bytes FROM heap GROUP BY name)"
	" SELECT heap, CAST(live AS INTEGER), CAST(blocks AS INTEGER), peak, allocated,"
	"  allocations, frees, b.bytes, iif(b.bytes > 0 AND ?1 = 'end',"
	"  max(b.bytes - CAST(live AS INTEGER), 0), NULL)"
	" FROM each LEFT JOIN behind b ON b.name = heap AND NOT plain ORDER BY live DESC, heap";

size_t heaps_read(struct model *m, struct heap **out)
{
	MS_ARRAY(struct heap) a = {0};
	sqlite3_stmt *st = ms_sql_prepare(m->db, sql, NULL);
	if (st)
		sqlite3_bind_text(st, 1, m->at_label, -1, SQLITE_STATIC);
	while (st && a.n < m->sites.n && sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		*MS_PUSH(&a) = (struct heap){.name = ms_arena_strdup(&m->arena, name ? name : ""),
					     .live = figure_in(st, 1),
					     .blocks = figure_in(st, 2),
					     .peak = figure_in(st, 3),
					     .allocated = figure_in(st, 4),
					     .allocations = figure_in(st, 5),
					     .frees = figure_in(st, 6),
					     .backing = figure_in(st, 7),
					     .unused = figure_in(st, 8)};
	}
	sqlite3_finalize(st);
	*out = ms_arena_alloc(&m->arena, (a.n + 1) * sizeof **out);
	if (a.n)
		memcpy(*out, a.v, a.n * sizeof **out);
	free(a.v);
	return a.n;
}

size_t heaps_hooks_missing(struct model *m, const char **out, size_t most)
{
	size_t n = 0;
	sqlite3_stmt *st = ms_sql_prepare(
		m->db,
		"SELECT j.value FROM process p, json_each(p.hooks_missing) j GROUP BY j.value"
		" HAVING count(DISTINCT p.id) = (SELECT count(hooks_missing) FROM process)"
		" ORDER BY j.value",
		NULL);
	while (st && n < most && sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		out[n++] = ms_arena_strdup(&m->arena, name ? name : "");
	}
	sqlite3_finalize(st);
	return n;
}
