/* SPDX-License-Identifier: MIT
 * Tables on one site: its blocks by size and by lifetime, its threads, and where blocks were freed.
 */
#include "table.h"

#include "names.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

/* ---- sizes ---- */

static const struct column size_columns[] = {
	{"size", NULL, CELL_TEXT, .sum = false},
	{NULL, "low", CELL_ID, .sum = false},
	{NULL, "high", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"share", NULL, CELL_TEXT, .sum = false},
	{"", NULL, CELL_BAR, .optional = true},
	{NULL, "allocated_bytes", CELL_SIZE, .sum = false},
	{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true, .optional = true},
	{NULL, "peak_blocks", CELL_COUNT, .sum = false},
	{"at the end", "live_bytes", CELL_SIZE, .sum = true},
	{NULL, "live_blocks", CELL_COUNT, .sum = false},
};

struct table site_sizes(struct model *m, const struct site *s)
{
	struct table t = TABLE_OF(size_columns, .title = NULL);
	table_query(m, &t, "FROM site_size WHERE site = %lld ORDER BY low", (long long)s->id);
	for (size_t i = 0; i < t.n; i++) {
		struct cell *c = t.rows[i].cells;
		c[0].s = table_size_range(m, c[SITE_SIZE_LOW].n, c[SITE_SIZE_HIGH].n);
		c[SITE_SIZE_CALLS + 1].s = say_share(m, c[SITE_SIZE_CALLS].n, s->allocations);
	}
	table_bars(&t, SITE_SIZE_CALLS, SITE_SIZE_CALLS + 2);
	return t;
}

/* ---- lifetimes ---- */

static const struct column lifetime_columns[] = {
	{"freed after", NULL, CELL_TEXT, .sum = false}, {NULL, "unit", CELL_TEXT, .sum = false},
	{NULL, "low", CELL_ID, .sum = false},           {NULL, "high", CELL_ID, .sum = false},
	{"blocks", "frees", CELL_COUNT, .sum = true},   {"share", NULL, CELL_TEXT, .sum = false},
	{"", NULL, CELL_BAR, .optional = true},
};

/* Returns a round time in its largest unit: "10 ms", "1 min". */
static const char *round_time(struct model *m, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{UINT64_C(3600000000000), "h"},
		     {UINT64_C(60000000000), "min"},
		     {UINT64_C(1000000000), "s"},
		     {UINT64_C(1000000), "ms"}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (ns && ns % units[i].ns == 0)
			return SAY("%llu %s", (unsigned long long)(ns / units[i].ns),
				   units[i].name);
	return say_time(m, ns);
}

/* Returns a range of times in ns: "less than 1 ms", "1 ms to 10 ms", "1 h or more". */
static const char *time_range(struct model *m, uint64_t low, uint64_t high)
{
	if (high == UNKNOWN)
		return SAY("%s or more", round_time(m, low));
	return low ? SAY("%s to %s", round_time(m, low), round_time(m, high + 1))
		   : SAY("less than %s", round_time(m, high + 1));
}

/* Returns a range of numbers: "none", "1 to 9", "10,000,000 or more". */
static const char *count_range(struct model *m, uint64_t low, uint64_t high)
{
	if (high == UNKNOWN)
		return SAY("%s or more", say_count(m, low));
	return high ? SAY("%s to %s", say_count(m, low), say_count(m, high)) : "none";
}

struct table site_lifetimes(struct model *m, const struct site *s, bool counted)
{
	struct table t = TABLE_OF(lifetime_columns, .title = NULL);
	table_query(m, &t, "FROM site_lifetime WHERE site = %lld AND unit = %Q ORDER BY low",
		    (long long)s->id, counted ? "allocations" : "ns");
	if (counted)
		table_retitle(m, &t, 0, "allocations in between");
	for (size_t i = 0; i < t.n; i++) {
		struct cell *c = t.rows[i].cells;
		c[0].s = (counted ? count_range : time_range)(m, c[SITE_LIFETIME_LOW].n,
							      c[SITE_LIFETIME_HIGH].n);
		c[SITE_LIFETIME_FREES + 1].s = say_share(m, c[SITE_LIFETIME_FREES].n, s->frees);
	}
	table_bars(&t, SITE_LIFETIME_FREES, SITE_LIFETIME_FREES + 2);
	return t;
}

/* ---- threads ---- */

static const struct column thread_columns[] = {
	{NULL, "tid", CELL_ID, .sum = false},
	{NULL, "name", CELL_TEXT, .sum = false},
	{NULL, "allocations", CELL_COUNT, .sum = false},
	{NULL, "allocated_bytes", CELL_SIZE, .sum = false},
	{NULL, "live_bytes", CELL_SIZE, .sum = false},
	{NULL, "live_blocks", CELL_COUNT, .sum = false},
};

#define PARTS(tid, name, key)                                                                      \
	"FROM (SELECT " tid " AS tid, " name " AS name, sum(x.allocations) AS allocations,"        \
	" sum(x.allocated_bytes) AS allocated_bytes, sum(x.live_bytes) AS live_bytes,"             \
	" sum(x.live_blocks) AS live_blocks, min(x.thread) AS thread FROM site_thread x"           \
	" JOIN thread t ON t.id = x.thread WHERE x.site = %lld GROUP BY " key                      \
	") ORDER BY allocations DESC, thread"

struct table site_threads(struct model *m, const struct site *s, bool labels)
{
	struct table t = TABLE_OF(thread_columns, .title = NULL);
	table_query(m, &t,
		    labels ? PARTS("NULL", "t.label", "t.label HAVING t.label IS NOT NULL")
			   : PARTS("t.tid", "t.name", "coalesce(t.of_thread, t.id)"),
		    (long long)s->id);
	/* the errors of these estimates were not recorded */
	for (size_t i = 0; s->est && i < t.n; i++)
		for (size_t c = SITE_THREAD_CALLS; c < t.column_count; c++)
			t.rows[i].cells[c].n = UNKNOWN;
	return t;
}

/* ---- frees ---- */

static const struct column free_columns[] = {
	{NULL, NULL, CELL_ID, .sql = "stack"},
	{NULL, "frees", CELL_COUNT, .sum = false},
	{NULL, "freed_bytes", CELL_SIZE, .sum = false},
	{NULL, "function", CELL_TEXT, .sql = "NULL"},
	{NULL, "file", CELL_TEXT, .sql = "NULL"},
	{NULL, "line", CELL_ID, .sql = "NULL"},
};

/* Makes the table of stacks that freed the site's blocks, named after a frame as a site is. */
struct table site_frees(struct model *m, const struct site *s)
{
	struct table t = TABLE_OF(free_columns, .title = NULL);
	table_query(m, &t,
		    "FROM free_site WHERE site = %lld ORDER BY frees DESC, freed_bytes DESC, stack",
		    (long long)s->id);
	for (size_t i = 0; i < t.n; i++) {
		struct cell *c = t.rows[i].cells;
		uint32_t node = model_user_node(m, model_node(m, (int64_t)c[SITE_FREE_NODE].n));
		const struct frame *f = model_frame(m, node);
		c[SITE_FREE_NODE].n = node;
		c[SITE_FREE_BYTES + 1].s = f ? f->function : NULL;
		c[SITE_FREE_BYTES + 2].s = f ? f->file : NULL;
		c[SITE_FREE_BYTES + 3].n = f && f->line ? f->line : UNKNOWN;
	}
	return t;
}

/* ---- what sets unfreed blocks apart ---- */

enum {
	UNFREED_KIND,
	UNFREED_NAME,
	UNFREED_LOW,
	UNFREED_HIGH,
	UNFREED,
	OF_UNFREED,
	FREED,
	OF_FREED
};
static const struct column unfreed_columns[] = {
	[UNFREED_KIND] = {NULL, "kind", CELL_TEXT, .sum = false},
	[UNFREED_NAME] = {NULL, "name", CELL_TEXT, .sum = false},
	[UNFREED_LOW] = {NULL, "low", CELL_ID, .sum = false},
	[UNFREED_HIGH] = {NULL, "high", CELL_ID, .sum = false},
	[UNFREED] = {NULL, "unfreed_blocks", CELL_COUNT, .sum = false},
	[OF_UNFREED] = {NULL, "of_unfreed_blocks", CELL_COUNT, .sum = false},
	[FREED] = {NULL, "freed_blocks", CELL_COUNT, .sum = false},
	[OF_FREED] = {NULL, "of_freed_blocks", CELL_COUNT, .sum = false},
};

struct table site_unfreed(struct model *m, const struct site *s)
{
	struct table t = TABLE_OF(unfreed_columns, .title = NULL);
	table_query(m, &t, "FROM site_unfreed WHERE site = %lld ORDER BY fact", (long long)s->id);
	return t;
}

/* Returns a number with its ending: "21st". */
static const char *ordinal(struct model *m, uint64_t n)
{
	unsigned last = (unsigned)(n % 100);
	const char *end = last / 10 == 1   ? "th"
			  : last % 10 == 1 ? "st"
			  : last % 10 == 2 ? "nd"
			  : last % 10 == 3 ? "rd"
					   : "th";
	return SAY("%s%s", say_count(m, n), end);
}

/* Returns what a fact says: "of 4.0 KiB", "every 7th call, from the 3rd on". `among`: facts before it
 * chose the calls. */
static const char *fact(struct model *m, const struct cell *c, bool among, bool ascii)
{
	const char *kind = c[UNFREED_KIND].s ? c[UNFREED_KIND].s : "", *name = c[UNFREED_NAME].s,
		   *calls = among ? "of these calls" : "call";
	uint64_t low = c[UNFREED_LOW].n, high = c[UNFREED_HIGH].n;
	name = name ? name_clean(&m->arena, name, ascii) : "";
	if (strcmp(kind, "thread") == 0)
		return SAY("on thread %s", name);
	if (strcmp(kind, "label") == 0)
		return SAY("under label %s", name);
	if (strcmp(kind, "size") == 0)
		return low == high ? SAY("of %s B", say_count(m, low))
				   : SAY("of %s to %s B", say_count(m, low), say_count(m, high));
	if (strcmp(kind, "every") == 0)
		return SAY("every %s %s, from the %s on", ordinal(m, high), calls, ordinal(m, low));
	if (strcmp(kind, "calls") == 0)
		return low == high
			       ? SAY("the %s %s", ordinal(m, low), calls)
			       : SAY("the %s to %s %s", ordinal(m, low), ordinal(m, high), calls);
	return strcmp(kind, "age") == 0 ? SAY("live for %s or longer", say_time(m, low))
					: "together";
}

struct words unfreed_words(struct model *m, const struct site *s, bool ascii)
{
	struct table t = site_unfreed(m, s);
	struct words w = {0};
	for (size_t i = 0; i < t.n; i++) {
		const struct cell *c = t.rows[i].cells;
		uint64_t all = c[OF_UNFREED].n + c[OF_FREED].n;
		bool among = i && strcmp(c[UNFREED_KIND].s, "age") != 0;
		if (!i)
			words_add(&w, SAY("%s of %s%s, set apart from those freed by",
					  say_count(m, c[OF_UNFREED].n),
					  all < s->allocations && !s->est ? "the first " : "",
					  say_things(m, all, "block")));
		words_add(&w, SAY("%s: %s, and %s of those freed", fact(m, c, among, ascii),
				  c[UNFREED].n == c[OF_UNFREED].n
					  ? "all"
					  : say_share(m, c[UNFREED].n, c[OF_UNFREED].n),
				  c[FREED].n ? say_share(m, c[FREED].n, c[OF_FREED].n) : "none"));
	}
	return w;
}

/* ---- suppressions ---- */

static const struct column suppression_columns[] = {
	{"suppression", "rule", CELL_TEXT, .sum = false},
	{"where", "place", CELL_TEXT, .sum = false, .sql = "file || ':' || line"},
	{"sites", "sites", CELL_COUNT, .sum = false},
	{"live", "live_bytes", CELL_SIZE, .sum = false},
	{"blocks", "live_blocks", CELL_COUNT, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = false, .optional = true},
	{NULL, "not_applicable", CELL_COUNT, .sum = false},
	{"", "remark", CELL_TEXT, .sum = false,
	 .sql = "CASE WHEN not_applicable THEN note WHEN NOT sites THEN 'hides nothing' END"},
};

struct table table_suppressions(struct model *m, size_t limit)
{
	struct table t =
		TABLE_OF(suppression_columns, .title = "SUPPRESSIONS and what each hides",
			 .empty = "no suppressions were applied: ms-filter --suppress FILE "
				  "TRACE | ms-report --suppressions");
	table_query(m, &t, "FROM suppression ORDER BY stage, file, line");
	table_finish(m, &t, -1, limit, "suppression", TOTAL_NONE);
	return t;
}
