/* SPDX-License-Identifier: MIT
 * A list of groups of sites (grouped.h) as a table, and the commands that show a group's sites.
 */
#include "table.h"

#include "names.h"

#include "libcommon/model/facts.h"
#include "ms-report/model/grouped.h"

#include "libcommon/base/shell.h"

#include <string.h>

#define LONGEST 120 /* bytes: longest name that is put into a command */

enum { NAME, PLACE, SHARE, BYTES, BLOCKS, SITES, LARGEST };
static const struct column columns[] = {
	[NAME] = {"function", "function", CELL_FUNCTION, .sum = false},
	[PLACE] = {"file", "file", CELL_PATH, .sum = false},
	[SHARE] = {"share", NULL, CELL_VALUE, .sum = false},
	[BYTES] = {"bytes", "bytes", CELL_SIZE, .sum = true},
	[BLOCKS] = {"blocks", "blocks", CELL_COUNT, .sum = true, .optional = true},
	[SITES] = {"sites", "sites", CELL_COUNT, .sum = true},
	[LARGEST] = {"#", "largest_site", CELL_ID, .sum = false},
};

const char *const grouped_words[GROUPED_COUNT] = {[GROUPED_FUNCTION] = "function",
						  [GROUPED_FILE] = "file",
						  [GROUPED_DIRECTORY] = "directory",
						  [GROUPED_NAMESPACE] = "namespace",
						  [GROUPED_MODULE] = "module"};

/* Returns the name of a group, not cleaned. */
static const char *name_of(struct model *m, const struct list *l, const struct site *row)
{
	size_t length;
	const char *name = grouped_name(m, l, row, &length);
	const struct frame *f = grouped_frame(m, row);
	if (name)
		return ms_arena_strndup(&m->arena, name, length);
	return f && l->by == GROUPED_FUNCTION ? frame_name(&m->arena, m, f) : "(unknown)";
}

/* Returns the source file of a group's function, else its module; NULL = neither is known. */
static const char *place_of(const struct model *m, const struct list *l, const struct site *row)
{
	const struct frame *f = grouped_frame(m, row);
	if (!f || l->by != GROUPED_FUNCTION)
		return NULL;
	return f->file ? f->file : f->module != NONE ? m->modules.v[f->module].path : NULL;
}

const char *grouped_label(struct model *m, const struct list *l, const struct site *row,
			  const struct style *st)
{
	const struct frame *f = grouped_frame(m, row);
	if (l->by == GROUPED_FUNCTION && f)
		return frame_label(&m->arena, m, f, st);
	return name_clean(&m->arena, name_of(m, l, row), st->ascii);
}

const char *grouped_place(struct model *m, const struct list *l, const struct site *row,
			  const struct style *st)
{
	const char *place = place_of(m, l, row);
	return place ? name_clean(&m->arena, base_name(place), st->ascii) : "";
}

static void put_row(struct model *m, struct table *t, enum row_kind kind, const char *name,
		    struct pair v, uint64_t all, uint64_t sites)
{
	struct row *r = table_row(m, t);
	struct pair *kept = ms_arena_alloc(&m->arena, sizeof *kept);
	*kept = v;
	r->kind = kind;
	r->cells[NAME].s = name;
	r->cells[SHARE].s = say_share(m, v.a, all);
	r->cells[BYTES] = (struct cell){.n = v.a, .e = pair_ea(kept)};
	r->cells[BLOCKS] = (struct cell){.n = v.b, .e = pair_eb(kept)};
	r->cells[SITES].n = sites;
	r->cells[LARGEST].n = UNKNOWN;
}

static bool some(struct pair v)
{
	return figure_some(v.a) || figure_some(v.b);
}

const char *words_none(struct model *m, const struct list *l)
{
	return ms_arena_printf(&m->arena, "%s with none", say_things(m, l->none_sites, "site"));
}

struct table grouped_table(struct model *m, const struct list *l)
{
	struct table t = TABLE_OF(columns);
	struct column *own = ms_arena_alloc(&m->arena, sizeof columns);
	memcpy(own, columns, sizeof columns);
	t.columns = own;
	if (l->by != GROUPED_FUNCTION) {
		own[NAME].title = own[NAME].name = grouped_words[l->by];
		own[NAME].kind = l->by == GROUPED_NAMESPACE ? CELL_TEXT : CELL_PATH;
		own[PLACE].title = own[PLACE].name = NULL;
	}
	if (l->metric == METRIC_RISEN)
		own[BLOCKS].title = NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct site *s = l->rows[i];
		put_row(m, &t, ROW_ITEM, name_of(m, l, s), site_pair(s, l->metric), l->total.a,
			row_sites(m, s, l->metric).any);
		t.rows[i].cells[PLACE].s = place_of(m, l, s);
		t.rows[i].cells[LARGEST].n = (uint64_t)s->id;
	}
	t.more = l->groups - l->n;
	if (l->more_sites)
		put_row(m, &t, ROW_MORE, say_things(m, l->more_sites, "more site"), l->more,
			l->total.a, l->more_sites);
	if (l->none_sites)
		put_row(m, &t, ROW_OTHER, words_none(m, l), l->none, l->total.a, l->none_sites);
	if (l->leak_sites)
		put_row(m, &t, ROW_OTHER,
			ms_arena_printf(&m->arena, "reachable blocks of %s listed above as leaks",
					say_things(m, l->leak_sites, "site")),
			l->leaked, l->total.a, l->leak_sites);
	/* the number of hidden sites with leaks is not known */
	uint64_t hidden = !some(l->hidden)                  ? 0
			  : l->metric == METRIC_UNREACHABLE ? UNKNOWN
							    : m->hidden.sites;
	if (some(l->hidden))
		put_row(m, &t, ROW_HIDDEN, "hidden by filters", l->hidden, l->total.a, hidden);
	if (some(l->other))
		put_row(m, &t, ROW_OTHER, "without a site", l->other, l->total.a, UNKNOWN);
	put_row(m, &t, ROW_TOTAL, "total", l->total, l->total.a, figure_add(l->all, hidden));
	return t;
}

/* ---- commands ---- */

/* Returns a condition of ms-filter: function = "f". */
static const char *is_text(struct model *m, const char *column, const char *sign, const char *text)
{
	const char *out = ms_arena_printf(&m->arena, "%s %s \"", column, sign);
	for (const char *p = text; *p; p++)
		out = ms_arena_printf(&m->arena, "%s%s%c", out, *p == '"' ? "\"" : "", *p);
	return ms_arena_printf(&m->arena, "%s\"", out);
}

/* Returns an extended regular expression that matches `text` literally. */
static const char *as_pattern(struct model *m, const char *text)
{
	const char *out = "";
	for (const char *p = text; *p; p++)
		out = ms_arena_printf(&m->arena, "%s%s%c", out,
				      strchr(".[]()*+?{}|^$\\", *p) ? "\\" : "", *p);
	return out;
}

static const char *condition(struct model *m, const struct list *l, const struct site *row)
{
	size_t length;
	const char *name = grouped_name(m, l, row, &length), *place = place_of(m, l, row);
	const struct frame *f = grouped_frame(m, row);
	if (!name || !f || length > LONGEST)
		return NULL;
	name = ms_arena_strndup(&m->arena, name, length);
	if (l->by == GROUPED_DIRECTORY) /* with subdirectories if rows include them */
		return is_text(m, "file", "~",
			       ms_arena_printf(&m->arena, "^%s%s", as_pattern(m, name),
					       grouped_deepest(l, name) ? "" : "[^/]*$"));
	if (l->by == GROUPED_NAMESPACE && f->function && strstr(f->function, name))
		return is_text(m, "function", "~",
			       ms_arena_printf(&m->arena, "^[<&(*]*%s::", as_pattern(m, name)));
	if (l->by == GROUPED_NAMESPACE)
		return is_text(m, "module", "=", name);
	if (l->by != GROUPED_FUNCTION || !place || !f->file)
		return is_text(m, grouped_words[l->by], "=", name);
	return ms_arena_printf(&m->arena, "%s and %s", is_text(m, "function", "=", name),
			       is_text(m, "file", "=", place));
}

/* Holds parts of the commands that show the sites of a list and all its groups: the option for the
 * view, the --metric option for --by, and a filter that hides other sites. */
struct ways {
	const char *view, *by, *filter; /* "" = not needed */
};

static struct ways ways_of(const struct model *m, const struct list *l)
{
	if (l->metric == METRIC_UNREACHABLE)
		return (struct ways){"--leaks", "", " --verdict unreachable"};
	if (metric_is_growth(l->metric) && growth_known(m))
		return (struct ways){"--growth", NULL, ""};
	if (l->metric == METRIC_GROWN)
		return (struct ways){"--allocated", " --metric allocated", ""};
	if (l->metric == METRIC_PEAK || l->metric == METRIC_GROWING)
		return (struct ways){"--peak", " --metric peak", ""};
	return (struct ways){"--leaks", "", ""};
}

/* Returns "--at 1.5s " if a list is about another moment than the end, else "". */
static const char *moment(struct model *m, const struct list *l)
{
	bool live = l->metric == METRIC_LIVE || l->metric == METRIC_HELD ||
		    l->metric == METRIC_GROWING_NOW;
	if (!live || strcmp(m->at_label, "end") == 0)
		return "";
	return ms_arena_printf(&m->arena, "--at %s ", ms_shell_word(&m->arena, m->at_label));
}

struct grouped_command grouped_sites(struct model *m, const struct list *l)
{
	const struct site *row = l->rows[0];
	const char *where = condition(m, l, row), *at = moment(m, l);
	struct ways way = ways_of(m, l);
	if (!where || *at || name_clean(&m->arena, where, true) != where)
		return (struct grouped_command){"Largest",
						ms_arena_printf(&m->arena,
								"ms-report %s--site %lld", at,
								(long long)row->id),
						""};
	return (struct grouped_command){"Sites",
					ms_arena_printf(&m->arena, "ms-filter%s --where %s",
							way.filter,
							ms_shell_word(&m->arena, where)),
					ms_arena_printf(&m->arena, " | ms-report %s", way.view)};
}

struct grouped_command grouped_all(struct model *m, const struct list *l)
{
	enum grouped by = l->by == GROUPED_DIRECTORY   ? GROUPED_FILE
			  : l->by == GROUPED_NAMESPACE ? GROUPED_FUNCTION
						       : l->by;
	struct ways way = ways_of(m, l);
	const char *report = way.by ? ms_arena_printf(&m->arena, "ms-report %s--by %s%s",
						      moment(m, l), grouped_words[by], way.by)
				    : ms_arena_printf(&m->arena, "ms-report %s", way.view);
	if (!*way.filter)
		return (struct grouped_command){"All", report, ""};
	return (struct grouped_command){"All",
					ms_arena_printf(&m->arena, "ms-filter%s", way.filter),
					ms_arena_printf(&m->arena, " | %s", report)};
}
