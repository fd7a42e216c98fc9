/* SPDX-License-Identifier: MIT
 * Decides which sites of a snapshot meet the conditions.
 *
 * A site gets the bits of the conditions that it meets (conditions.c). It is kept if it has all
 * required bits and no forbidden ones.
 */
#include "match.h"

#include "options.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/model/rows.h"

uint64_t match_bit(const struct condition *c)
{
	return c->drop ? DROP(c->subject) : KEEP(c->subject);
}

struct match_site *match_site_of(struct matches *m, int64_t id)
{
	return MS_FIND_ID(m->sites.v, m->sites.n, id);
}

const char *match_exe(const char *pattern, const char *exe)
{
	return exe && !strchr(pattern, '/') ? basename(exe) : exe;
}

bool match_names(const char *pattern, const char *name, int64_t number)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%lld", (long long)number);
	return strcmp(pattern, digits) == 0 || (name && fnmatch(pattern, name, 0) == 0);
}

unsigned char *match_stacks(const struct model *model, const unsigned char *frames)
{
	unsigned char *stacks = ms_xcalloc(model->nodes.n + 1, 1);
	for (size_t i = 0; i < model->nodes.n; i++) { /* callers precede callees */
		const struct node *n = &model->nodes.v[i];
		unsigned char own = frames[n->frame],
			      callers = n->parent == NONE ? 0 : stacks[n->parent];
		stacks[i] = own > callers ? own : callers;
	}
	return stacks;
}

/* ---- sites ---- */

static const struct cell_column site_columns[] = {
	CELL(ID, match_site, id),
	CELL(NODE, match_site, stack),
	CELL(BORROWED, match_site, verdict),
};

static void read_site(struct reader *r)
{
	struct matches *m = r->arg;
	struct match_site s = {0};
	reader_fill(r, &s);
	if (s.verdict)
		s.verdict = m->model.no_texts ? "" : ms_arena_strdup(&m->model.arena, s.verdict);
	*MS_PUSH(&m->sites) = s;
}

static const struct reader_table sites =
	READER_TABLE("site", "ORDER BY id", site_columns, read_site);

/* Marks a stack and its callers as needed. Stops at a marked caller, because its own callers are
 * marked. */
static void need(struct matches *m, uint32_t stack)
{
	for (; stack != NONE && !m->needed[stack]; stack = m->model.nodes.v[stack].parent)
		m->needed[stack] = true;
}

/* Decides which sites are hidden, and marks the stacks of the others. */
static void decide(struct matches *m, const struct options *o)
{
	m->needed = ms_xcalloc(m->model.nodes.n + 1, sizeof *m->needed);
	for (size_t i = 0; i < m->sites.n; i++) {
		struct match_site *s = &m->sites.v[i];
		s->hidden = (s->found & o->keep) != o->keep || (s->found & o->drop);
		s->hidden ^= o->invert;
		m->hidden += s->hidden;
		m->unknown[VERDICT] += !s->verdict && (o->keep & KEEP(VERDICT) & ~s->found);
		if (!s->hidden)
			need(m, s->stack);
	}
}

/* Marks as needed the stacks at which blocks of the visible sites were freed. */
static int need_frees(struct matches *m, sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db, "SELECT site, stack FROM free_site WHERE stack IS NOT NULL", err);
	while (q && ms_sql_next(db, q, err)) {
		const struct match_site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		if (s && !s->hidden)
			need(m, model_node(&m->model, sqlite3_column_int64(q, 1)));
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

int matches_find(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err)
{
	m->model.db = db;
	m->model.no_texts = !(o->drop & DROP(SUPPRESSED));
	if (model_read(&m->model, MODEL_MODULES | MODEL_FRAMES | MODEL_NODES, err) ||
	    reader_read_table(&m->model, &sites, m, err) || conditions_ask(m, db, o, point, err) ||
	    suppressions_apply(m, db, o, err) || suppressions_retained(m, db, err))
		return -1;
	decide(m, o);
	return need_frees(m, db, err);
}

void matches_free(struct matches *m)
{
	MS_FREE(m->sites.v, m->tests.v, m->needed, m->rules.v);
	model_free(&m->model);
}
