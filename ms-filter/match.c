/* SPDX-License-Identifier: MIT
 * Decides which sites of a snapshot meet the conditions.
 *
 * A frame gets the bits of the conditions that it meets. A stack row adds the bits of its caller's
 * row, which is complete because callers have smaller ids. A site begins with the bits of its
 * stack. All other conditions are database queries (conditions.c). A site is kept if it has all
 * required bits and no forbidden ones.
 */
#include "match.h"

#include "options.h"
#include "where.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/model/rows.h"

#define STACK_SUBJECTS (KEEP(FUNCTION) | KEEP(FILE_NAME) | KEEP(MODULE))

uint64_t match_bit(const struct condition *c)
{
	return c->drop ? DROP(c->subject) : KEEP(c->subject);
}

struct match_site *match_site_of(struct matches *m, int64_t id)
{
	return MS_FIND_ID(m->sites.v, m->sites.n, id);
}

const char *match_module(const struct matches *m, const struct frame *f)
{
	return f->module == NONE ? NULL : m->model.modules.v[f->module].path;
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

/* ---- frames and stacks ---- */

static uint64_t match_frame(const struct matches *m, const struct frame *f)
{
	const char *const texts[] = {f->function, f->file, match_module(m, f)};
	uint64_t found = 0;
	for (size_t i = 0; i < m->o->conditions.n; i++) {
		const struct condition *c = &m->o->conditions.v[i];
		if (!(STACK_SUBJECTS & KEEP(c->subject)) || (found & match_bit(c)))
			continue;
		const char *s = texts[c->subject - FUNCTION];
		if (s && regexec(&c->regex, s, 0, NULL, 0) == 0)
			found |= match_bit(c);
	}
	return found;
}

static const char *kept(struct matches *m, const char *s)
{
	return s && m->named ? ms_arena_strdup(&m->model.arena, s) : NULL;
}

static const struct cell_column frame_columns[] = {
	CELL(ID, frame, id),          CELL(PROCESS, frame, process),   CELL(MODULE, frame, module),
	CELL(FIGURE, frame, address), CELL(BORROWED, frame, function), CELL(BORROWED, frame, file),
	CELL(BORROWED, frame, note),  CELL(SMALL, frame, line),        CELL(TRUE, frame, runtime),
};

static void read_frame(struct reader *r)
{
	struct matches *m = r->arg;
	struct frame f = {0};
	reader_fill(r, &f);
	*MS_PUSH(&m->frames) = match_frame(m, &f);
	f.function = kept(m, f.function);
	f.file = kept(m, f.file);
	f.note = f.note ? "" : NULL;
	*MS_PUSH(&m->model.frames) = f;
}

static const struct reader_table frames =
	READER_TABLE("frame", "ORDER BY id", frame_columns, read_frame);

/* Sets the bits of each stack: those of its own frame and of all callers. A frame that is unknown,
 * or that represents missing frames, may be user code. */
static void match_stacks(struct matches *m)
{
	const struct model *model = &m->model;
	m->stacks = ms_xcalloc(model->nodes.n + 1, sizeof *m->stacks);
	for (size_t i = 0; i < model->nodes.n; i++) {
		const struct node *n = &model->nodes.v[i];
		const struct frame *f = &model->frames.v[n->frame];
		struct match_stack up = {0};
		if (n->parent != NONE)
			up = m->stacks[n->parent];
		m->stacks[i].found = m->frames.v[n->frame] | up.found;
		m->stacks[i].user = !f->runtime || f->note || up.user;
	}
}

int matches_stacks(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	m->o = o;
	m->model.db = db;
	if (model_read(&m->model, MODEL_PROCESSES | MODEL_MODULES, err) != 0 ||
	    reader_read_table(&m->model, &frames, m, err) != 0 ||
	    model_read(&m->model, MODEL_NODES, err) != 0)
		return -1;
	match_stacks(m);
	return 0;
}

/* ---- sites ---- */

struct site_row {
	int64_t id;
	uint32_t stack;
	const char *verdict, *one_time;
};
static const struct cell_column site_columns[] = {
	CELL(ID, site_row, id),
	CELL(NODE, site_row, stack),
	CELL(BORROWED, site_row, verdict),
	CELL(BORROWED, site_row, one_time),
};

static void read_site(struct reader *r)
{
	struct matches *m = r->arg;
	struct site_row x;
	reader_fill(r, &x);
	struct match_site s = {.id = x.id, .stack = x.stack};
	const struct match_stack *k = x.stack == NONE ? NULL : &m->stacks[x.stack];
	s.verdict = x.verdict && !m->named ? "" : kept(m, x.verdict);
	s.found = k ? k->found : 0;
	if ((k && !k->user) || x.one_time)
		s.found |= KEEP(RUNTIME) | DROP(RUNTIME);
	if (x.one_time)
		s.found |= KEEP(ONE_TIME) | DROP(ONE_TIME);
	*MS_PUSH(&m->sites) = s;
}

static const struct reader_table sites =
	READER_TABLE("site", "ORDER BY id", site_columns, read_site);

/* Marks a stack and its callers as needed. Stops at a marked caller, because its own callers are
 * marked. */
static void need(struct matches *m, uint32_t stack)
{
	for (; stack != NONE && !m->stacks[stack].needed; stack = m->model.nodes.v[stack].parent)
		m->stacks[stack].needed = true;
}

/* Decides which sites are hidden, and marks the stacks of the others. */
static void decide(struct matches *m, const struct options *o)
{
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
			need(m, MODEL_FIND(m->model.nodes, sqlite3_column_int64(q, 1)));
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

int matches_find(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err)
{
	m->named = o->drop & DROP(SUPPRESSED);
	for (size_t i = 0; i < o->conditions.n; i++)
		m->named |= o->conditions.v[i].where && where_needs_stack(o->conditions.v[i].where);
	if (matches_stacks(m, db, o, err) || reader_read_table(&m->model, &sites, m, err) ||
	    conditions_ask(m, db, o, point, err))
		return -1;
	if (suppressions_apply(m, db, o, err) || suppressions_retained(m, db, err))
		return -1;
	decide(m, o);
	return need_frees(m, db, err);
}

void matches_free(struct matches *m)
{
	MS_FREE(m->sites.v, m->stacks, m->frames.v, m->rules.v);
	model_free(&m->model);
}
