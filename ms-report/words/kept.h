/* SPDX-License-Identifier: MIT
 * What keeps blocks alive, for people and for programs: names of keepers, tables, and what keeps
 * the blocks of one place.
 */
#pragma once

#include "table.h"

#include "libcommon/model/kept.h"

struct ms_err;

/* ---- kept_names.c ---- */

/* Return the name of a keeper, or of a set (kind "shared"), cleaned. keeper_label: "global g_sessions (svc.cc:53, map<string, Session *>)",
 * "thread 'worker-3', frame Pool::run", "shared by g_by_id + g_by_name"; keeper_short, without
 * place and type: "global g_sessions". */
const char *keeper_label(struct model *m, const struct keeper *k, const struct style *st);
const char *keeper_short(struct model *m, const struct keeper *k, const struct style *st);
/* Returns the keeper that a top-level row stands for; of a set one of kind "shared", with the names
 * of its keepers as its name. */
struct keeper kept_name(struct model *m, const struct kept_row *row);
/* Returns the label of a top-level row; kept_observers: the keepers that reach what it keeps as
 * well, without owning it, "lctx and 2 more", or NULL. */
const char *kept_observers(struct model *m, const struct kept *k, const struct kept_row *row,
			   const struct style *st);
const char *kept_label(struct model *m, const struct kept *k, const struct kept_row *row,
		       const struct style *st);
/* Returns the name of a site by its number, "fill svc.cc:94", cleaned. */
const char *kept_site(struct model *m, int64_t site, const struct style *st);
/* Returns when the scan was made: "as of the end", "as of a scan at 58m 12s". */
const char *kept_when(struct model *m, const struct kept *k, const struct style *st);
/* Returns why the scan does not tell what keeps blocks alive; NULL = it does. */
const char *kept_unknown(const struct kept *k);
/* Returns what keeps the blocks of a site, "kept by global g_sessions", or NULL. */
const char *kept_remark(struct model *m, const struct site *s, const struct style *st);
/* Returns the keepers of a site's blocks with their shares, "global g_sessions 99 %, shared by
 * g_by_id + g_by_name 1.0 %", or NULL. */
const char *kept_shares(struct model *m, const struct site *s, const struct style *st);

/* Returns a type, cleaned and, unless full names are requested, in few words: "map<string,
 * Session*>"; NULL = not known. */
const char *kept_type(struct model *m, const char *type, const struct style *st);

/* ---- kept_tables.c ---- */

/* Makes the table of the first screen: at most `limit` keepers, each with half a per cent of what
 * is live or more, and the rest. NULL kept_read: the table has no title. */
struct table kept_table(struct model *m, size_t limit, const struct style *st);
/* Makes the tree of --retained for people: the `limit` largest rows, indented; those left out are
 * summed up below each. */
struct table kept_tree(struct model *m, size_t limit, const struct style *st);
/* Holds a line of that tree, without indentation. */
struct kept_line {
	uint32_t parent; /* index of an earlier line, or NONE */
	const char *text;
	struct live retained, own;
};
/* Makes the `limit` largest lines of the tree, in the order in which they are written. Sets *v to an
 * array in the model's arena and returns its length. */
size_t kept_lines(struct model *m, size_t limit, const struct style *st, struct kept_line **v);
/* Makes the table of --retained for programs: the rows as they were recorded. */
struct table kept_rows(struct model *m, size_t limit);

/* Makes the table of what is kept more than in the old run of a comparison, by at least its least
 * change; at most `limit` rows. Without any the table has no title. */
struct table kept_more(struct model *m, size_t limit, const struct style *st);

/* ---- kept_why.c ---- */

/* Holds what is said of one place: a title, and texts with their labels. */
struct kept_fact {
	const char *label, *text;
};
struct kept_why {
	const char *title;
	const struct kept_fact *v;
	size_t n;
};
/* Checks the argument of --why: the number of a site, a function or FILE:LINE. Returns 0, or -1
 * with `err` set: no site is meant by it, or nothing is known of what keeps blocks. */
int kept_why_check(struct model *m, const char *place, struct ms_err *err);
/* Tells what keeps the blocks of each place that `place` means, most bytes first. Sets *v to an
 * array in the model's arena and returns its length, at most `limit`. */
size_t kept_why(struct model *m, const char *place, size_t limit, const struct style *st,
		const struct kept_why **v);
/* Makes the table of --why for programs. */
struct table kept_why_table(struct model *m, const char *place, size_t limit);
