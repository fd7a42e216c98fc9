/* SPDX-License-Identifier: MIT
 * The blocks of one site by size and by how long they lived, as tables with bars.
 */
#include "text.h"

#include "ms-report/output/out.h"

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static const struct column size_columns[] = {
	{"size", NULL, CELL_TEXT, .sum = false},
	{"allocations", NULL, CELL_COUNT, .sum = true, COLUMN_OF(size_class, allocations)},
	{"share", NULL, CELL_TEXT, .sum = false},
	{"", NULL, CELL_BAR, .optional = true},
	{"temporary", NULL, CELL_COUNT, .sum = true, COLUMN_OF(size_class, temporary),
	 .optional = true},
	{"at the peak", NULL, CELL_SIZE, .sum = true, COLUMN_OF(size_class, peak.bytes),
	 .optional = true},
	{"at the end", NULL, CELL_SIZE, .sum = true, COLUMN_OF(size_class, live.bytes)},
};

static void put_bars(struct page *p, struct out *o, struct table *t)
{
	table_bars(t, 1, 3);
	if (!t->n)
		return;
	out_char(o, '\n');
	text_table(p, o, t);
}

void text_site_sizes(struct page *p, struct out *o, const struct site *s)
{
	struct model *m = p->m;
	struct size_class *v;
	struct table t = TABLE_OF(size_columns);
	size_t n = model_site_sizes(m, s, &v);
	for (size_t i = 0; i < n; i++) {
		struct cell *c = table_row(m, &t, n)->cells;
		c[0].s = table_size_range(m, v[i].low, v[i].high);
		table_take(&t, c, &v[i]);
		c[2].s = say_share(m, v[i].allocations, s->allocations);
	}
	put_bars(p, o, &t);
}

static const struct column time_columns[] = {
	{"freed after", NULL, CELL_TEXT, .sum = false},
	{"blocks", NULL, CELL_COUNT, .sum = true},
	{"share", NULL, CELL_TEXT, .sum = false},
	{"", NULL, CELL_BAR, .optional = true},
};
static const struct column count_columns[] = {
	{"allocations in between", NULL, CELL_TEXT, .sum = false},
	{"blocks", NULL, CELL_COUNT, .sum = true},
	{"share", NULL, CELL_TEXT, .sum = false},
	{"", NULL, CELL_BAR, .optional = true},
};

/* A round time in its largest unit: "10 ms", "1 min". */
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

/* "less than 1 ms", "1 ms to 10 ms", "1 h or more". */
static const char *time_range(struct model *m, const struct lifetime *l)
{
	if (l->high == UNKNOWN)
		return SAY("%s or more", round_time(m, l->low));
	return l->low ? SAY("%s to %s", round_time(m, l->low), round_time(m, l->high + 1))
		      : SAY("less than %s", round_time(m, l->high + 1));
}

/* "none", "1 to 9", "10,000,000 or more". */
static const char *count_range(struct model *m, const struct lifetime *l)
{
	if (l->high == UNKNOWN)
		return SAY("%s or more", say_count(m, l->low));
	return l->high ? SAY("%s to %s", say_count(m, l->low), say_count(m, l->high)) : "none";
}

static void histogram(struct page *p, struct out *o, const struct site *s, const char *unit,
		      struct table t, const char *(*range)(struct model *, const struct lifetime *))
{
	struct model *m = p->m;
	struct lifetime *v;
	size_t n = model_site_lifetimes(m, s, unit, &v);
	for (size_t i = 0; i < n; i++) {
		struct cell *c = table_row(m, &t, n)->cells;
		c[0].s = range(m, &v[i]);
		c[1].n = v[i].frees;
		c[2].s = say_share(m, v[i].frees, s->frees);
	}
	put_bars(p, o, &t);
}

void text_site_lifetimes(struct page *p, struct out *o, const struct site *s)
{
	histogram(p, o, s, "ns", (struct table)TABLE_OF(time_columns), time_range);
	histogram(p, o, s, "allocations", (struct table)TABLE_OF(count_columns), count_range);
}
