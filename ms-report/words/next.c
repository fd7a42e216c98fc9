/* SPDX-License-Identifier: MIT
 * Commands that the first screen suggests.
 */
#include "next.h"

#include "kept.h"
#include "words.h"

#include "libcommon/base/shell.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)
#define COMMAND_MAX 2000 /* bytes: longest command that is suggested */

const char *next_input(struct page *p, size_t room)
{
	struct ms_arena *a = &p->m->arena;
	bool typed = p->input && name_clean(a, p->input, p->style.ascii) == p->input;
	const char *word = typed ? ms_shell_word(a, p->input) : "FILE";
	return name_width(word) <= room ? word : "FILE";
}

static const char **words_for(struct page *p, size_t n)
{
	return ms_arena_alloc(&p->m->arena, n * sizeof(const char *));
}

/* Makes the command that shows a view of this input; `value` may be NULL, `why` is its comment. */
static struct next view(struct page *p, size_t room, const char *option, const char *value,
			const char *why)
{
	struct next c = {.words = words_for(p, 4), .why = why};
	c.words[c.n++] = "ms-report";
	c.words[c.n++] = option;
	if (value)
		c.words[c.n++] = value;
	c.words[c.n++] = next_input(p, room);
	return c;
}

/* Tells whether the churning sites have temporary allocations, which --temporary shows. */
static bool is_temporary(const struct first_screen *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->lists[i].metric == METRIC_CHURN && f->lists[i].rows && f->lists[i].rows[0])
			return figure_some(f->lists[i].rows[0]->temporary);
	return false;
}

/* Returns the first row of the first list that is not empty; skips rows of the runtime if others
 * follow. */
static const struct site *first_site(const struct first_screen *f)
{
	size_t i = 0, own = 0;
	while (i < f->n && !f->lists[i].n)
		i++;
	if (i == f->n)
		return NULL;
	const struct list *l = &f->lists[i];
	while (own + 1 < l->n && l->rows[own]->one_time)
		own++;
	return l->rows[own];
}

/* ---- recording again ---- */

/* Tells whether the process still runs, as far as the trace shows. */
static bool runs_on(const struct process *q)
{
	return q->quality.growing || (q->end_reason && strcmp(q->end_reason, "stopped") == 0);
}

/* Tells whether a command can be typed, with each word on a line of `room` columns. */
static bool is_typed(struct page *p, size_t room, const char **v, size_t n)
{
	size_t bytes = 0;
	for (size_t i = 0; i < n; i++) {
		bytes += strlen(v[i]);
		if (bytes > COMMAND_MAX || name_clean(&p->m->arena, v[i], p->style.ascii) != v[i] ||
		    name_width(ms_shell_word(&p->m->arena, v[i])) > room)
			return false;
	}
	return true;
}

/* Adds the target to a recording command: the process if it was attached to and still runs, else
 * its command line. */
static void add_target(struct page *p, size_t room, struct next *c)
{
	struct model *m = p->m;
	const struct process *q = &m->processes.v[0];
	const char **v;
	size_t n = command_arguments(m, q, &v);
	const char **more = words_for(p, c->n + n + 2);
	memcpy(more, c->words, c->n * sizeof *more);
	c->words = more;
	if (figure_some(q->quality.attached) && runs_on(q) && q->pid != UNKNOWN) {
		c->words[c->n++] = "-p";
		c->words[c->n++] = SAY("%llu", (unsigned long long)q->pid);
	} else if (!q->command || !is_typed(p, room, v, n)) {
		c->words[c->n++] = "COMMAND";
	} else {
		if (*v[0] == '-')
			c->words[c->n++] = "--";
		for (size_t i = 0; i < n; i++)
			c->words[c->n++] = ms_shell_word(&m->arena, v[i]);
	}
}

size_t next_beside_heap(struct page *p, size_t room, struct next out[2])
{
	struct model *m = p->m;
	bool mapped = m->totals.mapped_peak_bytes != UNKNOWN, resident = resident_known(m);
	size_t n = 0;
	if (!words_beside_heap(m))
		return 0;
	if (figure_some(m->totals.mapped_peak_bytes))
		out[n++] = view(p, room, "--mapped", NULL, "what is mapped, by site");
	if (mapped && resident)
		return n;
	struct next c = {.words = words_for(p, 3)};
	c.words[c.n++] = "ms-record";
	if (!mapped)
		c.words[c.n++] = "--mmap";
	if (!resident)
		c.words[c.n++] = "--resident";
	c.why = mapped     ? "what is resident"
		: resident ? "what is mapped, by site"
			   : "what is mapped, by site; what is resident";
	add_target(p, room, &c);
	out[n++] = c;
	return n;
}

const char *next_line(struct page *p, const struct next *c)
{
	const char *line = "";
	for (size_t i = 0; i < c->n; i++)
		line = SAY("%s%s%s", line, i ? " " : "", c->words[i]);
	return line;
}

size_t next_commands(struct page *p, const struct first_screen *f, size_t room,
		     struct next out[NEXT_MAX])
{
	size_t n = 0;
	const struct site *s = first_site(f);
	if (s)
		out[n++] = view(p, room, "--site", SAY("%lld", (long long)s->id),
				"its whole stack, sizes, ages, threads");
	out[n++] = view(p, room, "--tree", NULL, "where the peak comes from, starting at main");
	if (is_temporary(f))
		out[n++] = view(p, room, "--temporary", NULL, "what is freed immediately");
	const struct kept *kept = kept_read(p->m, 0);
	if (kept && !kept_unknown(kept))
		out[n++] = view(p, room, "--retained", NULL, "what keeps blocks alive, as a tree");
	size_t beside = n;
	if (p->m->processes.n > 1)
		out[n++] = view(p, room, "--by", "process", "each process's own peak");
	else if (resident_known(p->m))
		out[n++] = view(p, room, "--resident", NULL,
				"what resident memory is for, and how to give it back");
	n += next_beside_heap(p, room, out + n);
	if (n == beside)
		out[n++] = view(p, room, "--md", NULL, "tables for a pull request or a log");
	return n;
}
