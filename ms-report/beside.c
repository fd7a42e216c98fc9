/* SPDX-License-Identifier: MIT
 * What was recorded beside the heap, for people.
 */
#include "beside.h"

#include "out.h"
#include "text.h"

#include "libcommon/base/err.h"

#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)
#define FREES_SHOWN 5

/* ---- memory at a moment ---- */

struct beside beside_at(const struct model *m, const char *label)
{
	struct beside sum = {0, 0};
	bool found = false;
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		found = true;
		sum.usable = figure_add(sum.usable, s->beside.usable);
		sum.mapped = figure_add(sum.mapped, s->beside.mapped);
	}
	return found ? sum : (struct beside){UNKNOWN, UNKNOWN};
}

bool beside_one_peak(const struct model *m)
{
	return m->processes.n == 1;
}

static void sum_moment(const struct model *m, const char *label, uint64_t *live, uint64_t *rss)
{
	*live = *rss = 0;
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		*live = figure_add(*live, s->live.bytes);
		*rss = figure_add(*rss, s->rss_bytes);
	}
	/* a process that is gone has no RSS: the last known */
	if (*rss == UNKNOWN && strcmp(label, "end") == 0)
		*rss = m->totals.end_rss_bytes;
}

bool beside_heap_is_apart(const struct model *m)
{
	for (size_t i = 0; i < m->processes.n; i++) {
		const char *a = m->processes.v[i].allocator;
		if (!a || strncmp(a, "glibc ", 6) != 0 || strchr(a, ','))
			return false;
	}
	return true;
}

/* What RSS has beyond the parts, or the parts beyond RSS. */
static const char *rest_of(struct model *m, uint64_t rss, uint64_t parts)
{
	if (rss == UNKNOWN || m->est) /* a difference of estimates */
		return "";
	if (parts > rss)
		return SAY(", at least %s of it not in memory", say_size(m, parts - rss));
	return SAY(", %s other", say_size(m, rss - parts));
}

const char *beside_words(struct model *m, const char *label)
{
	struct beside b = beside_at(m, label);
	uint64_t live, rss;
	sum_moment(m, label, &live, &rss);
	if ((b.usable == UNKNOWN && b.mapped == UNKNOWN) || live == UNKNOWN)
		return NULL;
	bool apart = beside_heap_is_apart(m);
	uint64_t parts = b.usable == UNKNOWN ? live : b.usable;
	enum est_figure f = strcmp(label, "peak") == 0 ? EST_PEAK : EST_END;
	const char *words = SAY("live %s", est_size(m, live, est_of(m->est, f)));
	if (b.usable != UNKNOWN)
		words = SAY("%s + slack %s", words, say_size(m, figure_sub(b.usable, live)));
	if (b.mapped != UNKNOWN && apart) {
		words = SAY("%s + mapped %s", words, say_size(m, b.mapped));
		parts = figure_add(parts, b.mapped);
	}
	words = SAY("%s%s", words, rest_of(m, rss, parts));
	if (b.mapped != UNKNOWN && !apart)
		words = SAY("%s; mapped %s, with what the allocator took", words,
			    say_size(m, b.mapped));
	return rss == UNKNOWN ? words : SAY("RSS %s: %s", say_size(m, rss), words);
}

/* ---- where blocks were freed ---- */

size_t model_site_frees(struct model *m, const struct site *s, struct site_free **out)
{
	struct ms_err ignored = {0};
	struct {
		struct site_free *v;
		size_t n, cap;
	} a = {0};
	sqlite3_stmt *st =
		ms_sql_prepare(m->db,
			       "SELECT stack, frees, freed_bytes FROM free_site WHERE site = ?1"
			       " ORDER BY frees DESC, freed_bytes DESC, stack",
			       &ignored);
	if (st)
		sqlite3_bind_int64(st, 1, s->id);
	while (st && sqlite3_step(st) == SQLITE_ROW)
		*MS_PUSH(&a) =
			(struct site_free){model_index(m->nodes.v, m->nodes.n, sizeof *m->nodes.v,
						       sqlite3_column_int64(st, 0)),
					   figure_in(st, 1), figure_in(st, 2)};
	sqlite3_finalize(st);
	*out = ms_arena_alloc(&m->arena, (a.n + 1) * sizeof **out);
	if (a.n)
		memcpy(*out, a.v, a.n * sizeof **out);
	free(a.v);
	return a.n;
}

uint32_t beside_user(const struct model *m, uint32_t stack)
{
	for (uint32_t n = stack; n != NONE; n = m->nodes.v[n].parent) {
		const struct frame *f = &m->frames.v[m->nodes.v[n].frame];
		if (!f->runtime && !f->note)
			return n;
	}
	return stack;
}

/* "drop  src/parser.cpp:91 < Session::close". */
static const char *freed_where(struct page *p, uint32_t stack)
{
	struct model *m = p->m;
	uint32_t n = beside_user(m, stack);
	if (n == NONE)
		return "(no stack)";
	const struct frame *f = &m->frames.v[m->nodes.v[n].frame];
	const char *words = frame_label(&m->arena, m, f, &p->style),
		   *place = frame_place(&m->arena, m, f, &p->style);
	if (*place)
		words = SAY("%s  %s", words, place);
	uint32_t up = m->nodes.v[n].parent;
	const struct frame *caller = up == NONE ? NULL : &m->frames.v[m->nodes.v[up].frame];
	return caller && !caller->runtime && !caller->note
		       ? SAY("%s < %s", words, frame_label(&m->arena, m, caller, &p->style))
		       : words;
}

void text_site_frees(struct page *p, struct out *o, const struct site *s)
{
	struct model *m = p->m;
	struct site_free *v;
	uint64_t all = 0, more = 0;
	size_t n = model_site_frees(m, s, &v);
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		all = figure_add(all, v[i].frees);
		more = i < FREES_SHOWN ? 0 : figure_add(more, v[i].frees);
	}
	out_str(o, "\nFreed by\n");
	for (size_t i = 0; i < n && i < FREES_SHOWN; i++) {
		const char *figures =
			SAY("%6s  %9s in %s  ", say_share(m, v[i].frees, all),
			    say_size(m, v[i].bytes), say_things(m, v[i].frees, "free", "frees"));
		bool below = p->style.width < strlen(figures) + 24 && !p->style.full_names;
		size_t room = p->style.width - (below ? 8 : strlen(figures));
		const char *where = freed_where(p, v[i].stack);
		out_str(o, figures);
		if (below) {
			text_end_line(o);
			out_repeat(o, " ", 8);
		}
		out_printf(o, "%s\n",
			   p->style.full_names ? where
					       : name_cut(&m->arena, where, room, p->style.ascii));
	}
	if (n > FREES_SHOWN)
		out_printf(o, "%6s  %s\n", say_share(m, more, all),
			   say_things(m, n - FREES_SHOWN, "more stack", "more stacks"));
}
