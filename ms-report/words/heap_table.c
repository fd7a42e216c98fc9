/* SPDX-License-Identifier: MIT
 * The program's custom heaps beside malloc's, as a table and as a line.
 */
#include "table.h"

#include "names.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)
#define LINE_MOST 2u
#define NAMES_MOST 8u

static const struct column columns[] = {
	{"heap", "heap", CELL_TEXT, .sum = false},
	{"live", "live_bytes", CELL_SIZE, .sum = true},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true},
	{"allocations", "allocations", CELL_COUNT, .sum = true, .optional = true},
	{NULL, "frees", CELL_COUNT, .sum = true},
	{"backing", "backing_bytes", CELL_SIZE, .sum = false},
	{"unused", "unused_bytes", CELL_SIZE, .sum = false},
};
enum { NAME, LIVE, BACKING = 7 };

/* Selects the heaps. A site's heap is noted in its outermost frame; how much of the backing memory
 * is unused is known only at the end. */
static const char heaps[] =
	"FROM (WITH RECURSIVE up(site, stack) AS (SELECT id, stack FROM site"
	"  WHERE EXISTS(SELECT 1 FROM frame WHERE note LIKE 'heap %%') UNION ALL"
	"  SELECT up.site, k.parent FROM up JOIN stack k ON k.id = up.stack"
	"  WHERE k.parent IS NOT NULL),"
	" root AS (SELECT up.site, substr(f.note, 6) AS heap FROM up"
	"  JOIN stack k ON k.id = up.stack AND k.parent IS NULL JOIN frame f ON f.id = k.frame"
	"  WHERE f.note LIKE 'heap %%'),"
	" stat AS (SELECT c.site, t.label, c.live_bytes, c.live_blocks FROM site_stat c"
	"  JOIN snapshot t ON t.id = c.snapshot),"
	" each AS (SELECT coalesce(root.heap, 'malloc') AS heap, root.heap IS NULL AS plain,"
	"  CAST(total(e.live_bytes) AS INTEGER) AS live_bytes,"
	"  CAST(total(e.live_blocks) AS INTEGER) AS live_blocks,"
	"  iif((SELECT count(*) FROM snapshot WHERE label = 'peak'),"
	"  CAST(total(p.live_bytes) AS INTEGER), NULL) AS peak_bytes,"
	"  sum(s.allocated_bytes) AS allocated_bytes, sum(s.allocations) AS allocations,"
	"  sum(s.frees) AS frees FROM site s LEFT JOIN root ON root.site = s.id"
	"  LEFT JOIN stat e ON e.site = s.id AND e.label = %Q"
	"  LEFT JOIN stat p ON p.site = s.id AND p.label = 'peak' GROUP BY root.heap),"
	" behind AS (SELECT name, sum(backing_bytes) AS backing_bytes FROM heap GROUP BY name)"
	" SELECT each.*, backing_bytes, iif(backing_bytes > 0 AND %Q = 'end',"
	"  max(backing_bytes - live_bytes, 0), NULL) AS unused_bytes"
	" FROM each LEFT JOIN behind b ON b.name = heap AND NOT plain)"
	" ORDER BY live_bytes DESC, heap";

struct table table_heaps(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(columns, .title = m->est ? "HEAPS (estimated)" : "HEAPS",
				  .empty = "no allocations in this snapshot", .at = true);
	table_query(m, &t, heaps, m->at_label, m->at_label);
	table_finish(m, &t, -1, limit, "heap", TOTAL_NONE);
	return t;
}

static bool has_heaps(const struct model *m)
{
	for (size_t i = 0; i < m->frames.n; i++)
		if (m->frames.v[i].note && strncmp(m->frames.v[i].note, "heap ", 5) == 0)
			return true;
	return false;
}

const char *heaps_line(struct model *m)
{
	/* most programs have no custom heaps, and the query reads every site */
	if (!has_heaps(m))
		return NULL;
	struct table t = table_heaps(m, SIZE_MAX);
	const char *s = "live in ";
	if (t.n < 2)
		return NULL;
	for (size_t i = 0; i < t.n && i < LINE_MOST; i++) {
		const struct cell *c = t.rows[i].cells;
		const char *behind = c[BACKING].n == UNKNOWN || !c[BACKING].n
					     ? ""
					     : SAY(" (backing %s)", say_size(m, c[BACKING].n));
		s = SAY("%s%s%s %s%s", s, i ? ", " : "",
			name_cut(&m->arena, name_clean(&m->arena, c[NAME].s, false), 24, false),
			say_size(m, c[LIVE].n), behind);
	}
	return t.n > LINE_MOST
		       ? SAY("%s, %s more: ms-report --heaps", s, say_count(m, t.n - LINE_MOST))
		       : SAY("%s: ms-report --heaps", s);
}

/* Returns the last " in " of a name such as "zone_alloc in libzone.so"; NULL = none. */
static const char *last_in(const char *name)
{
	const char *last = NULL;
	for (const char *s = name; (s = strstr(s, " in ")); s++)
		last = s;
	return last;
}

/* Returns the first few names that a query selects: "'a', 'b' in 'lib.so'"; NULL = none. */
static const char *names_of(struct model *m, const char *from)
{
	static const struct column names[] = {{.kind = CELL_TEXT, .sql = "j.value"}};
	struct table t = TABLE_OF(names, .title = NULL);
	const char *s = NULL;
	table_query(m, &t, "%s ORDER BY j.value LIMIT %u", from, NAMES_MOST);
	for (size_t i = 0; i < t.n; i++) {
		const char *name = t.rows[i].cells[0].s;
		name = name_cut(&m->arena, name_clean(&m->arena, name ? name : "", false), 60,
				false);
		const char *in = last_in(name);
		name = in ? SAY("'%.*s' in '%s'", (int)(in - name), name, in + 4)
			  : SAY("'%s'", name);
		s = s ? SAY("%s, %s", s, name) : name;
	}
	return s;
}

const char *heaps_missing(struct model *m)
{
	return names_of(m, "FROM process p, json_each(p.hooks_missing) j GROUP BY j.value"
			   " HAVING count(DISTINCT p.id) = (SELECT count(hooks_missing) FROM "
			   "process)");
}

const char *heaps_unhooked(struct model *m)
{
	return names_of(m, "FROM process p, json_each(p.allocators_missed) j GROUP BY j.value");
}
