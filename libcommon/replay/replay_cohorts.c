/* SPDX-License-Identifier: MIT
 * Counts cohorts down as their blocks are freed, and divides a recording into parts.
 */
#include "replay_cohorts.h"

#include "replay_cells.h"
#include "replay_private.h"

#include <stdlib.h>
#include <string.h>

/* Lists by what a unit of time grows: from 1 us by 5 and 2 to 10 s, 30 s, 1, 5, 10 and 30 minutes, 1,
 * 2, 6, 12 and 24 hours, then doubling. */
static const uint8_t factors[] = {5, 2, 5, 2, 5, 2, 5, 2, 5, 2, 5, 2,
				  5, 2, 3, 2, 5, 2, 3, 2, 2, 3, 2, 2};
#define FIRST_UNIT_NS 1000u
/* Most threads of a recording whose live bytes are noted: more than ms-record makes for labels. */
#define THREADS_MAX (UINT32_C(1) << 17)

static uint64_t factor(struct ms_cohorts *c, bool time)
{
	return time && c->step < sizeof factors ? factors[c->step++] : 2;
}

static size_t column_of(size_t end)
{
	return end * (end + 1) / 2 - 1;
}

/* ---- parts begin and end ---- */

static struct ms_cohort_sum less(struct ms_cohort_sum a, struct ms_cohort_sum b)
{
	return (struct ms_cohort_sum){a.bytes - b.bytes, a.blocks - b.blocks};
}

static void add(struct ms_cohort_sum *to, struct ms_cohort_sum x)
{
	to->bytes += x.bytes;
	to->blocks += x.blocks;
}

static void note_first(struct ms_replay *r)
{
	r->cohort_first = 0;
	for (int i = 0; i < MS_COHORTS_KINDS; i++) {
		const struct ms_cohorts *c = &r->cohorts->of[i];
		uint64_t first = c->parts[c->current].first;
		r->cohort_first = first > r->cohort_first ? first : r->cohort_first;
	}
}

/* Notes what is live of each thread at the end of part `end` of time. */
static void note_threads(struct ms_replay *r, size_t end)
{
	struct ms_cohort_threads *to = &r->cohorts->threads[end];
	if (r->thread_count > THREADS_MAX)
		return;
	free(to->v);
	to->n = r->thread_count;
	to->v = ms_xcalloc(to->n, sizeof *to->v);
	for (size_t i = 0; i < r->cell_count; i++) {
		const struct ms_replay_cell *cell = &r->cells[i];
		add(&to->v[cell->thread],
		    (struct ms_cohort_sum){cell->live.bytes, cell->live.blocks});
	}
}

/* Ends the current part: notes what is live of each cohort. */
static void end_part(struct ms_replay *r, struct ms_cohorts *c)
{
	struct ms_cohort_part *p = &c->parts[c->current];
	struct ms_cohort_sum now = {r->bytes, r->allocations};
	p->live = (struct ms_cohort_sum){r->live_bytes, r->live_blocks};
	for (size_t i = 0; i < c->current; i++)
		p->live = less(p->live, c->parts[i].live);
	add(&p->allocated, less(now, c->open));
	for (size_t i = 0; i <= c->current; i++)
		*MS_PUSH(&c->live) = c->parts[i].live;
	if (r->cohorts->labels && c == &r->cohorts->of[MS_COHORTS_BY_TIME])
		note_threads(r, c->current);
	c->open = now;
}

static void begin_part(struct ms_replay *r, struct ms_cohorts *c, uint64_t at, uint64_t tick)
{
	c->parts[++c->current] =
		(struct ms_cohort_part){.at = at, .tick = tick, .first = r->next_number};
}

/* ---- fewer parts ---- */

/* Merges neighbours until each part is a multiple of the new unit. Of the parts that become one only
 * the last end stays, and none if that is the current part. `threads`: NULL = not by time. */
static void merge(struct ms_cohorts *c, struct ms_cohort_threads *threads)
{
	size_t to = 0, into[MS_COHORT_PARTS + 1] = {0};
	for (size_t i = 1; i <= c->current; i++) {
		struct ms_cohort_part *p = &c->parts[i], *last = &c->parts[to];
		if (to && last->at / c->unit == p->at / c->unit) {
			add(&last->allocated, p->allocated);
			add(&last->live, p->live);
		} else {
			c->parts[++to] = *p;
		}
		into[i] = to;
	}
	for (size_t end = 1; end < c->current; end++) {
		struct ms_cohort_sum sums[MS_COHORT_PARTS + 1] = {{0}};
		if (into[end + 1] == into[end])
			continue;
		for (size_t i = 0; i <= end; i++)
			add(&sums[into[i]], *ms_cohort_live(c, i, end));
		memcpy(&c->live.v[column_of(into[end])], sums, (into[end] + 1) * sizeof *sums);
		if (threads && into[end] != end) {
			free(threads[into[end]].v);
			threads[into[end]] = threads[end];
			threads[end] = (struct ms_cohort_threads){0};
		}
	}
	c->current = to;
	c->live.n = column_of(to);
	c->first_key = c->parts[1].at / c->unit;
}

/* Moves on to the part that has `at`, which is reached at `tick`. */
static void turn(struct ms_replay *r, struct ms_cohorts *c, bool time, uint64_t at, uint64_t tick)
{
	if (at / c->unit == c->parts[c->current].at / c->unit)
		return;
	while (at / c->unit - c->first_key >= MS_COHORT_PARTS) {
		c->unit *= factor(c, time);
		merge(c, time ? r->cohorts->threads : NULL);
	}
	for (uint64_t n = c->parts[c->current].at / c->unit; n < at / c->unit;) {
		end_part(r, c);
		n++;
		begin_part(r, c, n * c->unit, time ? n * c->unit : tick);
	}
	note_first(r);
}

/* ---- what the replay calls ---- */

void ms_cohorts_start(struct ms_replay *r, uint64_t tick_ns)
{
	if (!r->cohorts)
		r->cohorts = ms_xcalloc(1, sizeof *r->cohorts);
	struct ms_cohorts *c = &r->cohorts->of[MS_COHORTS_BY_TIME];
	uint64_t unit_ns = FIRST_UNIT_NS;
	for (c->step = 0; unit_ns < tick_ns;)
		unit_ns *= factor(c, true);
	c->unit = unit_ns / tick_ns;
	r->cohorts->of[MS_COHORTS_BY_MARK].unit = 1;
	ms_cohorts_begin(r, 0);
}

void ms_cohorts_free(struct ms_cohort_sets *c)
{
	for (int i = 0; i < MS_COHORTS_KINDS; i++)
		free(c->of[i].live.v);
	for (size_t i = 0; i <= MS_COHORT_PARTS; i++)
		free(c->threads[i].v);
	MS_FREE(c->marks.v, c);
}

static bool is_due(const struct ms_replay *r, const struct ms_cohort_mark *m, uint64_t tick)
{
	return m->event != MS_NEVER ? r->position >= m->event : tick > m->tick;
}

void ms_cohorts_mark(struct ms_replay *r, uint64_t event, uint64_t tick)
{
	tick -= tick == MS_NEVER;
	*MS_PUSH(&r->cohorts->marks) = (struct ms_cohort_mark){event, tick};
	if (r->brief)
		return;
	if (event != MS_NEVER)
		r->alarm.event = event < r->alarm.event ? event : r->alarm.event;
	else
		r->alarm.tick = tick < r->alarm.tick ? tick : r->alarm.tick;
}

void ms_cohorts_begin(struct ms_replay *r, uint64_t tick)
{
	struct ms_cohort_sets *s = r->cohorts;
	while (s->next_mark < s->marks.n && is_due(r, &s->marks.v[s->next_mark], tick))
		s->next_mark++;
	for (int i = 0; i < MS_COHORTS_KINDS; i++) {
		struct ms_cohorts *c = &s->of[i];
		c->parts[0].live = (struct ms_cohort_sum){r->live_bytes, r->live_blocks};
		c->open = (struct ms_cohort_sum){r->bytes, r->allocations};
		c->current = c->live.n = 0;
		begin_part(r, c, i == MS_COHORTS_BY_TIME ? tick : s->next_mark, tick);
		c->first_key = c->parts[1].at / c->unit;
	}
	note_first(r);
}

uint64_t ms_cohorts_due(struct ms_replay *r, uint64_t tick)
{
	struct ms_cohort_sets *s = r->cohorts;
	uint64_t next = MS_NEVER;
	if (r->brief)
		return next;
	struct ms_cohorts *c = &s->of[MS_COHORTS_BY_TIME];
	turn(r, c, true, tick, tick);
	next = (tick / c->unit + 1) * c->unit;
	for (; s->next_mark < s->marks.n; s->next_mark++) {
		const struct ms_cohort_mark *m = &s->marks.v[s->next_mark];
		if (!is_due(r, m, tick)) {
			if (m->event < r->alarm.event)
				r->alarm.event = m->event;
			return m->event == MS_NEVER && m->tick + 1 < next ? m->tick + 1 : next;
		}
		turn(r, &s->of[MS_COHORTS_BY_MARK], false, s->next_mark + 1, m->tick);
	}
	return next;
}

void ms_cohorts_finish(struct ms_replay *r, uint64_t tick)
{
	if (r->brief)
		return;
	ms_cohorts_due(r, tick);
	for (int i = 0; i < MS_COHORTS_KINDS; i++)
		end_part(r, &r->cohorts->of[i]);
}

/* ---- blocks of earlier cohorts ---- */

/* Returns the part before the current one that a block is of, NULL = it is of the current one. By time,
 * the parts follow each other without a gap. */
static inline __attribute__((always_inline)) struct ms_cohort_part *
part_of(struct ms_cohorts *c, bool time, uint64_t number, uint64_t tick)
{
	size_t lo = 0, hi = c->current;
	if (number >= c->parts[hi].first)
		return NULL;
	if (time) {
		uint64_t n = number < c->parts[1].first ? 0 : tick / c->unit - c->first_key + 1;
		return &c->parts[n < hi ? n : hi - 1];
	}
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		*(c->parts[mid].first <= number ? &lo : &hi) = mid;
	}
	return &c->parts[lo];
}

/* Changes what is live of the cohorts of a block, if these are not the current ones. */
static inline __attribute__((always_inline)) void
change(struct ms_replay *r, uint64_t number, uint64_t tick, uint64_t bytes, uint64_t blocks)
{
	struct ms_cohorts *c = r->cohorts->of;
	struct ms_cohort_part *p = part_of(&c[MS_COHORTS_BY_TIME], true, number, tick),
			      *q = part_of(&c[MS_COHORTS_BY_MARK], false, number, tick);
	if (p)
		add(&p->live, (struct ms_cohort_sum){bytes, blocks});
	if (q)
		add(&q->live, (struct ms_cohort_sum){bytes, blocks});
}

void ms_cohorts_freed(struct ms_replay *r, uint64_t number, uint64_t tick, uint64_t size)
{
	change(r, number, tick, -size, UINT64_MAX);
}

void ms_cohorts_put(struct ms_replay *r, uint64_t number, uint64_t tick, uint64_t size)
{
	change(r, number, tick, size, 1);
}

void ms_cohorts_forget(struct ms_replay *r)
{
	for (int i = 0; i < MS_COHORTS_KINDS; i++)
		for (size_t k = 0; k < r->cohorts->of[i].current; k++)
			r->cohorts->of[i].parts[k].live = (struct ms_cohort_sum){0};
}
