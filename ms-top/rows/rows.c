/* SPDX-License-Identifier: MIT
 * Chooses and orders the processes to show.
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/pattern.h"

void pattern_set(struct pattern *p, const char *text)
{
	char why[MS_PATTERN_WHY];
	if (p->has_regex)
		regfree(&p->regex);
	p->serial++;
	snprintf(p->text, sizeof p->text, "%s", text);
	p->has_regex = p->text[0] && !ms_pattern_compile(&p->regex, p->text, REG_ICASE, why);
}

bool pattern_matches_text(const struct pattern *p, const char *text)
{
	return p->has_regex ? regexec(&p->regex, text, 0, NULL, 0) == 0
			    : strstr(text, p->text) != NULL;
}

bool pattern_matches(const struct pattern *p, const struct system *s,
		     const struct system_process *row)
{
	const char *where[] = {row->command, row->name, row->user};
	char pid[16];
	if (!p->text[0])
		return true;
	snprintf(pid, sizeof pid, "%d", (int)row->pid);
	if (strcmp(pid, p->text) == 0)
		return true;
	for (size_t i = 0; i < sizeof where / sizeof where[0]; i++)
		if (pattern_matches_text(p, where[i]))
			return true;
	const char *all = row->more_arguments ? system_arguments(s, row) : NULL;
	return all && pattern_matches_text(p, all);
}

/* Tells whether the process matches the filter, which does not test figures that change with time.
 * The result is therefore computed only once: regexec() allocates memory. */
static bool is_shown(const struct rows *r, const struct system *s, struct system_process *p)
{
	if (p->matched_by != r->filter.serial) {
		p->matches = pattern_matches(&r->filter, s, p);
		p->matched_by = r->filter.serial;
	}
	return p->matches;
}

static void make_room(struct rows *r, size_t n)
{
	if (r->room && n <= r->room)
		return;
	r->room = n + n / 4 + 64;
	r->v = ms_xrealloc(r->v, r->room, sizeof *r->v);
	r->ids = ms_xrealloc(r->ids, r->room, sizeof *r->ids);
	r->depth = ms_xrealloc(r->depth, r->room, sizeof *r->depth);
	r->scratch = ms_xrealloc(r->scratch, r->room, sizeof *r->scratch);
	r->first = ms_xrealloc(r->first, r->room, sizeof *r->first);
	r->next = ms_xrealloc(r->next, r->room, sizeof *r->next);
	r->placed = ms_xrealloc(r->placed, r->room, sizeof *r->placed);
}

/* Swaps the array of rows with the scratch array, into which the new rows were put. */
static void take_scratch(struct rows *r)
{
	struct system_process **rows = r->scratch;
	r->scratch = r->v;
	r->v = rows;
}

/* ---- order ---- */

static int compare(const struct rows *r, struct system *s, struct system_process *a,
		   struct system_process *b)
{
	int order = column_compare(s, r->sort, a, b);
	if (order)
		return r->reverse ? -order : order;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Sorts the rows. Stable, and allocates no memory, unlike qsort(). */
static void sort(struct rows *r, struct system *s)
{
	for (size_t width = 1; width < r->n; width *= 2) {
		for (size_t from = 0; from < r->n; from += 2 * width) {
			size_t mid = from + width < r->n ? from + width : r->n;
			size_t end = mid + width < r->n ? mid + width : r->n;
			size_t a = from, b = mid;
			for (size_t i = from; i < end; i++)
				r->scratch[i] = b >= end || (a < mid &&
							     compare(r, s, r->v[a], r->v[b]) <= 0)
							? r->v[a++]
							: r->v[b++];
		}
		take_scratch(r);
	}
}

/* ---- tree ---- */

#define NONE UINT32_MAX

/* Returns the row of p's parent; NONE = it is not shown. A younger process that reuses the parent's
 * pid does not count. */
static uint32_t parent_of(const struct rows *r, const struct system *s,
			  const struct system_process *p)
{
	for (size_t i = system_place(s, p->parent); i < s->n && s->v[i]->pid == p->parent; i++) {
		const struct system_process *q = s->v[i];
		if (q != p && q->start_ticks <= p->start_ticks && q->place < r->n &&
		    r->v[q->place] == q)
			return q->place;
	}
	return NONE;
}

/* Appends row `at` and its descendants to the tree. */
static void descend(struct rows *r, uint32_t at, unsigned depth, size_t *done)
{
	r->depth[*done] = (unsigned char)(depth < 40 ? depth : 40);
	r->scratch[(*done)++] = r->v[at];
	r->placed[at] = true;
	for (uint32_t c = r->first[at]; c != NONE; c = r->next[c])
		descend(r, c, depth + 1, done);
}

/* Converts the sorted rows to a tree: each after its parent, siblings in sorted order. */
static void make_tree(struct rows *r, const struct system *s)
{
	size_t done = 0;
	for (size_t i = 0; i < r->n; i++) {
		r->v[i]->place = (uint32_t)i;
		r->first[i] = r->next[i] = NONE;
		r->placed[i] = false;
	}
	for (size_t i = r->n; i-- > 0;) {
		uint32_t parent = parent_of(r, s, r->v[i]);
		if (parent != NONE) {
			r->next[i] = r->first[parent];
			r->first[parent] = (uint32_t)i;
			r->placed[i] = true; /* descend() adds the row after its parent */
		}
	}
	for (size_t i = 0; i < r->n; i++)
		if (!r->placed[i])
			descend(r, (uint32_t)i, 0, &done);
	/* add processes that claim to be their own ancestor */
	for (size_t i = 0; i < r->n && done < r->n; i++) {
		bool there = false;
		for (size_t k = 0; k < done && !there; k++)
			there = r->scratch[k] == r->v[i];
		if (!there) {
			r->depth[done] = 0;
			r->scratch[done++] = r->v[i];
		}
	}
	take_scratch(r);
}

/* ---- groups ---- */

static const char *key_of(const struct rows *r, const struct system_process *p)
{
	const char *key = r->group == ROWS_BY_EXECUTABLE ? p->name
			  : r->group == ROWS_BY_USER     ? p->user
							 : p->cgroup;
	return key[0] ? key : "-";
}

/* Returns a group. If it does not exist, creates it with `make`, else returns NULL. */
static struct system_process *group_of(struct rows *r, const char *key, bool make)
{
	uint64_t id = 14695981039346656037u + (uint64_t)r->group;
	for (const char *c = key; *c; c++)
		id = (id ^ (unsigned char)*c) * 1099511628211u;
	for (size_t i = 0; i < r->group_n; i++)
		if (r->groups[i]->id == id)
			return r->groups[i];
	if (!make)
		return NULL;
	struct system_process *g = ms_xcalloc(1, sizeof *g);
	*MS_APPEND(r->groups, r->group_n, r->group_cap) = g;
	g->id = id;
	g->group = true;
	snprintf(g->command, sizeof g->command, "%s", key);
	return g;
}

/* Adds a figure to a sum, which is unknown if any figure is. */
static void add_known(uint64_t *sum, uint64_t v)
{
	*sum = *sum == SYSTEM_UNKNOWN || v == SYSTEM_UNKNOWN ? SYSTEM_UNKNOWN : *sum + v;
}

static void add_to(struct system_process *g, const struct system_process *p)
{
	g->pid++;
	g->rss += p->rss;
	g->vsz += p->vsz;
	g->threads += p->threads;
	g->cpu += p->cpu;
	g->fault_rate += p->fault_rate;
	g->major_rate += p->major_rate;
	g->read_rate += p->read_rate;
	g->write_rate += p->write_rate;
	snprintf(g->user, sizeof g->user, "%s",
		 g->pid == 1 || strcmp(g->user, p->user) == 0 ? p->user : "");
	/* a group's figures are only as good as the worst source of a member */
	if (p->figures.source > g->figures.source)
		g->figures.source = p->figures.source;
	/* a process without memory has no figures */
	if (p->kernel || p->state == 'Z')
		return;
	add_known(&g->figures.pss, p->figures.pss);
	add_known(&g->figures.uss, p->figures.uss);
	add_known(&g->figures.swap, p->figures.swap);
	add_known(&g->figures.heap, p->figures.heap);
	add_known(&g->figures.file, p->figures.file);
	add_known(&g->read_bytes, p->read_bytes);
}

static void make_groups(struct rows *r, struct system *s, bool fresh)
{
	for (size_t i = 0; i < r->group_n; i++) {
		struct system_process *g = r->groups[i];
		g->pid = 0;
		g->members = NULL;
		g->rss = g->vsz = 0;
		g->threads = 0;
		g->cpu = g->fault_rate = g->major_rate = g->read_rate = g->write_rate = 0;
		g->figures = (struct source_figures){0};
		g->read_bytes = 0;
	}
	size_t members = r->n;
	for (size_t i = 0; i < members; i++)
		if (!r->v[i]->ended)
			add_to(group_of(r, key_of(r, r->v[i]), true), r->v[i]);
	for (size_t i = members; i-- > 0;) {
		struct system_process *p = r->v[i], *g = group_of(r, key_of(r, p), false);
		if (g && g->open) {
			p->next = g->members;
			g->members = p;
		}
	}
	make_room(r, r->group_n + members);
	r->n = 0;
	for (size_t i = 0; i < r->group_n; i++) {
		struct system_process *g = r->groups[i];
		if (!g->pid)
			continue;
		if (fresh || !g->history.step)
			history_add(&g->history, s->now_ns, g->rss);
		r->v[r->n++] = g;
	}
}

/* Inserts the members of open groups as rows after their group. */
static void open_groups(struct rows *r)
{
	size_t done = 0;
	for (size_t i = 0; i < r->n; i++) {
		r->depth[done] = 0;
		r->scratch[done++] = r->v[i];
		for (struct system_process *p = r->v[i]->members; p; p = p->next) {
			r->depth[done] = 1;
			r->scratch[done++] = p;
		}
	}
	take_scratch(r);
	r->n = done;
}

void rows_make(struct rows *r, struct system *s, bool fresh)
{
	make_room(r, s->n);
	r->n = r->hidden = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct system_process *p = s->v[i];
		if (p->kernel && !r->kernel)
			continue;
		if (is_shown(r, s, p))
			r->v[r->n++] = p;
		else
			r->hidden++;
	}
	if (r->view == ROWS_GROUPS) {
		sort(r, s); /* order within the groups */
		make_groups(r, s, fresh);
	}
	sort(r, s);
	memset(r->depth, 0, r->n);
	if (r->view == ROWS_GROUPS)
		open_groups(r);
	if (r->view == ROWS_TREE)
		make_tree(r, s);
	for (size_t i = 0; i < r->n; i++)
		r->ids[i] = r->v[i]->id;
}

void rows_free(struct rows *r)
{
	for (size_t i = 0; i < r->group_n; i++)
		free(r->groups[i]);
	MS_FREE(r->groups, r->v, r->ids, r->depth, r->scratch, r->first, r->next, r->placed);
	pattern_set(&r->filter, "");
}
