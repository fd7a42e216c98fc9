/* SPDX-License-Identifier: MIT
 * Finds what sets the calls of a site whose blocks are still live apart from the others.
 */
#include "replay_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"

#define MOST_OF 0.95 /* share of the live blocks that a fact holds for, at least */
#define FEW_OF 0.5   /* and of the freed ones, at most */
#define SURE 7       /* see the head of replay_calls.h */

/* ---- calls ---- */

void ms_calls_init(struct ms_calls *c)
{
	*c = (struct ms_calls){0};
	ms_blocks_init(&c->live);
}

void ms_calls_free(struct ms_calls *c)
{
	ms_blocks_free(&c->live);
	free(c->all.v);
}

void ms_calls_event(struct ms_calls *c, const struct ms_event *ev)
{
	struct ms_live_block b;
	bool ours = ms_event_allocates(ev->kind);
	if (ms_event_releases(ev->kind) && ms_blocks_take(&c->live, ev->freed, &b)) {
		struct ms_call *call = &c->all.v[b.owner];
		call->tick = ev->time_ticks > call->tick ? ev->time_ticks - call->tick : 0;
		call->freed = ours = true;
	}
	c->last_tick = ours ? ev->time_ticks : c->last_tick;
	if (!ms_event_allocates(ev->kind) || ev->number < c->next_number)
		return;
	c->next_number = ev->number + 1;
	c->more |= c->all.n == MS_CALLS_MAX;
	if (c->more)
		return;
	ms_blocks_add(&c->live, ev->number, 0, 0, (uint32_t)c->all.n);
	*MS_PUSH(&c->all) = (struct ms_call){ev->time_ticks, ev->size, ev->thread, false};
}

/* ---- facts ---- */

struct search {
	const struct ms_calls *c;
	const struct ms_call_names *names;
	uint64_t live, freed; /* calls for which all facts so far hold */
	bool *in;             /* by call: whether they do */
	uint64_t *v;          /* room for a number per live block */
	struct ms_call_fact *out;
	size_t n;
};

MS_COMPARE(ascending, uint64_t, MS_ORDER(*x, *y))

/* Returns what a fact of that kind is about, of call `i`, the `ordinal`th of those in question. */
static uint64_t value_of(const struct search *s, enum ms_call_kind kind, size_t i, uint64_t ordinal)
{
	const struct ms_call *c = &s->c->all.v[i];
	if (kind == MS_CALL_THREAD || kind == MS_CALL_LABEL) {
		const uint32_t *v = kind == MS_CALL_LABEL ? s->names->label : s->names->thread;
		return c->thread < s->names->n ? v[c->thread] : 0;
	}
	if (kind == MS_CALL_SIZE)
		return c->size;
	if (kind == MS_CALL_AGE)
		return c->freed                    ? c->tick
		       : s->c->last_tick > c->tick ? s->c->last_tick - c->tick
						   : 0;
	return ordinal;
}

static bool holds(const struct ms_call_fact *f, uint64_t value)
{
	if (f->kind == MS_CALL_EVERY)
		return value >= f->low && (value - f->low) % f->high == 0;
	if (f->kind == MS_CALL_AGE)
		return value >= f->low;
	return value >= f->low && value <= f->high;
}

/* Fills s->v with the values of the live, or of the freed, calls in question. Returns how many. */
static size_t values(const struct search *s, enum ms_call_kind kind, bool freed)
{
	size_t n = 0;
	uint64_t ordinal = 0;
	for (size_t i = 0; i < s->c->all.n; i++) {
		ordinal += s->in[i];
		if (s->in[i] && s->c->all.v[i].freed == freed)
			s->v[n++] = value_of(s, kind, i, ordinal);
	}
	return n;
}

/* Counts the calls that a fact holds for. */
static void count(const struct search *s, struct ms_call_fact *f)
{
	uint64_t ordinal = 0;
	f->of_live = s->live;
	f->of_freed = s->freed;
	f->live = f->freed = 0;
	for (size_t i = 0; i < s->c->all.n; i++) {
		ordinal += s->in[i];
		if (!s->in[i] || !holds(f, value_of(s, f->kind, i, ordinal)))
			continue;
		f->live += !s->c->all.v[i].freed;
		f->freed += s->c->all.v[i].freed;
	}
}

static bool separates(const struct ms_call_fact *f)
{
	double all = (double)(f->of_live + f->of_freed), live = (double)f->of_live,
	       base = (double)(f->live + f->freed) / all, share = (double)f->live / live;
	bool range = f->kind == MS_CALL_RANGE || (f->kind == MS_CALL_SIZE && f->low != f->high);
	double few = f->kind == MS_CALL_AGE ? 1 - MOST_OF : FEW_OF;
	if (share < MOST_OF || (double)f->freed > few * (double)f->of_freed || base >= share)
		return false;
	/* by Chernoff's bound */
	double bits = share * log(share / base) +
		      (share < 1 ? (1 - share) * log((1 - share) / (1 - base)) : 0);
	return live * bits >= SURE + (range ? 2 : 1) * log(all);
}

/* Adds a fact if it separates the calls in question; only those that it holds for are in question
 * from then on, unless it is about their age. */
static bool add(struct search *s, struct ms_call_fact f)
{
	count(s, &f);
	if (!separates(&f))
		return false;
	s->out[s->n++] = f;
	if (f.kind == MS_CALL_AGE)
		return true;
	uint64_t ordinal = 0;
	for (size_t i = 0; i < s->c->all.n; i++) {
		ordinal += s->in[i];
		s->in[i] = s->in[i] && holds(&f, value_of(s, f.kind, i, ordinal));
	}
	s->live = f.live;
	s->freed = f.freed;
	return true;
}

/* Returns the most frequent of `n` ascending numbers. */
static uint64_t mode(const uint64_t *v, size_t n)
{
	size_t most = 0;
	uint64_t found = 0;
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && v[k] == v[i];)
			k++;
		if (k - i > most) {
			most = k - i;
			found = v[i];
		}
	}
	return found;
}

/* Finds one value that most live blocks have, or else a range: of all of them, or without the outer
 * fortieths. */
static void find_value(struct search *s, enum ms_call_kind kind)
{
	size_t n = values(s, kind, false);
	if (!n || !s->freed)
		return;
	qsort(s->v, n, sizeof *s->v, ascending);
	uint64_t least = s->v[0], most = s->v[n - 1], low = s->v[n / 40],
		 high = s->v[n - 1 - n / 40], usual = mode(s->v, n);
	bool number = kind == MS_CALL_SIZE || kind == MS_CALL_RANGE;
	if (!usual && !number)
		return; /* no name, no label */
	if (add(s, (struct ms_call_fact){.kind = kind, .low = usual, .high = usual}) || !number)
		return;
	if (!add(s, (struct ms_call_fact){.kind = kind, .low = least, .high = most}))
		add(s, (struct ms_call_fact){.kind = kind, .low = low, .high = high});
}

/* Finds at what distance the calls of live blocks follow each other. */
static void find_every(struct search *s)
{
	size_t n = values(s, MS_CALL_EVERY, false);
	if (n < 3 || !s->freed)
		return;
	for (size_t i = n - 1; i > 0; i--)
		s->v[i] -= s->v[i - 1];
	qsort(s->v + 1, n - 1, sizeof *s->v, ascending);
	uint64_t step = mode(s->v + 1, n - 1);
	if (step < 2)
		return;
	values(s, MS_CALL_EVERY, false);
	for (size_t i = 0; i < n; i++)
		s->v[i] %= step;
	qsort(s->v, n, sizeof *s->v, ascending);
	uint64_t first = mode(s->v, n);
	add(s, (struct ms_call_fact){
		       .kind = MS_CALL_EVERY, .low = first ? first : step, .high = step});
}

/* Finds an age that hardly a freed block reached: that of the youngest live one, or else of the oldest
 * nineteen twentieths. */
static void find_age(struct search *s)
{
	size_t n = values(s, MS_CALL_AGE, false);
	qsort(s->v, n, sizeof *s->v, ascending);
	uint64_t least = n ? s->v[0] : 0, old = n ? s->v[n / 20] : 0;
	if (!s->freed || !old)
		return;
	if (!least || !add(s, (struct ms_call_fact){.kind = MS_CALL_AGE, .low = least}))
		add(s, (struct ms_call_fact){.kind = MS_CALL_AGE, .low = old});
}

size_t ms_calls_facts(const struct ms_calls *c, const struct ms_call_names *names, bool sampled,
		      struct ms_call_fact out[MS_CALL_FACTS])
{
	struct ms_call_fact age;
	struct search s = {.c = c, .names = names, .out = &age};
	s.in = ms_xcalloc(c->all.n, sizeof *s.in);
	s.v = ms_xcalloc(c->all.n, sizeof *s.v);
	for (size_t i = 0; i < c->all.n; i++) {
		s.in[i] = true;
		s.live += !c->all.v[i].freed;
		s.freed += c->all.v[i].freed;
	}
	uint64_t live = s.live, freed = s.freed;
	find_age(&s);
	bool old = s.n;
	s.out = out;
	s.n = 0;
	find_value(&s, MS_CALL_THREAD);
	find_value(&s, MS_CALL_LABEL);
	find_value(&s, MS_CALL_SIZE);
	if (!sampled)
		find_every(&s);
	if (!sampled)
		find_value(&s, MS_CALL_RANGE);
	if (s.n > 1)
		out[s.n++] = (struct ms_call_fact){MS_CALL_ALL, 0, 0, s.live, live, s.freed, freed};
	if (old)
		out[s.n++] = age;
	MS_FREE(s.in, s.v);
	return s.n;
}
