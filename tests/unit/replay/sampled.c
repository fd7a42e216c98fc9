/* SPDX-License-Identifier: MIT
 * Replay of a sampled recording against a naive model: numbers of blocks and what they rest on, of
 * sites, threads and all, at the peak, at a moment and at the end.
 */
#include "libcommon/replay/replay_cells.h"
#include "libcommon/replay/replay_sampled.h"

#include "tests/unit/held.h"
#include "tests/unit/equal.h"
#include "tests/unit/stream.h"

#include <math.h>
#include <stdio.h>

#define EVENTS 40000u
#define MOMENT 17000u
#define MEAN 2000u
#define STACKS 1024u
#define THREADS 5u

/* Sums up some samples: how many, their bytes, what both stand for, and the variances of the bytes
 * and of the blocks: a sample stands for a whole number, 1 / p on average. */
struct sum {
	uint64_t samples, bytes, est_bytes, est_blocks;
	double variance, blocks_variance;
};

struct state {
	struct sum all, freed, live;
};

struct block {
	uint64_t size;
	uint32_t stack;
	bool live;
};

static struct block blocks[EVENTS];
static struct state total, sites[STACKS], threads[THREADS];
static struct sum peak_total, peak_sites[STACKS], moment_total, moment_sites[STACKS];
static uint64_t peak;

static void count(struct sum *to, uint64_t number, const struct block *b, int sign)
{
	double p = -expm1(-(double)(b->size ? b->size : 1) / MEAN), x = (double)b->size;
	to->samples += (uint64_t)sign;
	to->bytes += (uint64_t)sign * b->size;
	to->est_bytes += (uint64_t)sign * ms_sample_bytes(b->size, MEAN);
	to->est_blocks += (uint64_t)sign * ms_sample_blocks(b->size, MEAN, number);
	to->variance += sign * x * x * (1 - p) / (p * p);
	double part = fmod(1 / p, 1);
	to->blocks_variance += sign * ((1 - p) / (p * p) + part * (1 - part));
}

static void naive_free(const struct ms_event *ev)
{
	struct block *b = &blocks[ev->freed];
	if (!b->live)
		return;
	b->live = false;
	struct state *both[] = {&total, &sites[b->stack]};
	for (int i = 0; i < 2; i++) {
		count(&both[i]->live, ev->freed, b, -1);
		if (ev->kind != MS_EV_FREE_INFERRED)
			count(&both[i]->freed, ev->freed, b, 1);
	}
	if (ev->kind != MS_EV_FREE_INFERRED)
		count(&threads[ev->thread].freed, ev->freed, b, 1);
}

static void naive_alloc(const struct ms_event *ev)
{
	struct block *b = &blocks[ev->number];
	*b = (struct block){ev->size, ev->stack, true};
	struct state *all[] = {&total, &sites[b->stack], &threads[ev->thread]};
	for (int i = 0; i < 3; i++) {
		count(&all[i]->all, ev->number, b, 1);
		if (i < 2)
			count(&all[i]->live, ev->number, b, 1);
	}
	if (total.live.est_bytes <= peak)
		return;
	peak = total.live.est_bytes;
	peak_total = total.live;
	for (unsigned i = 0; i < STACKS; i++)
		peak_sites[i] = sites[i].live;
}

static void naive(const struct ms_event *ev)
{
	bool frees = ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC ||
		     ev->kind == MS_EV_FREE_INFERRED;
	if (frees)
		naive_free(ev);
	if (ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	    ev->kind == MS_EV_REALLOC_UNKNOWN)
		naive_alloc(ev);
}

static const struct ms_sampled *sampled;

static void compare(const struct ms_sampled_sum *got, const struct sum *want, const char *what,
		    unsigned which)
{
	struct ms_spread bytes = ms_sampled_bytes(sampled, got),
			 spread = ms_sampled_blocks(sampled, got, 1);
	EQUAL(spread.seen == (double)want->samples && bytes.seen == (double)want->bytes, true,
	      "what was seen of %s %u", what, which);
	EQUAL(fabs(spread.variance - want->blocks_variance) <= 1e-6 * want->blocks_variance + 0.01,
	      1, "variance of the blocks of %s %u: %g, %g", what, which, spread.variance,
	      want->blocks_variance);
	EQUAL(got->samples, want->samples, "samples of %s %u", what, which);
	EQUAL(got->bytes, want->bytes, "bytes of %s %u", what, which);
	EQUAL(got->blocks, want->est_blocks, "blocks of %s %u", what, which);
	double slack = 1e-6 * (want->variance > MEAN ? want->variance : MEAN) + 10;
	EQUAL(fabs(bytes.variance - want->variance) <= slack, 1, "variance of %s %u: %g, %g", what,
	      which, bytes.variance, want->variance);
}

static void compare_sites(const struct ms_replay *r)
{
	const struct ms_sampled *s = r->sampled;
	for (unsigned i = 0; i < s->site_count; i++) {
		unsigned stack = r->sites[i].node;
		struct ms_sampled_sum at_peak = ms_sampled_at_peak(s, i);
		compare(&s->sites[i].all, &sites[stack].all, "site, all", stack);
		compare(&s->sites[i].freed, &sites[stack].freed, "site, freed", stack);
		compare(&s->sites[i].live, &sites[stack].live, "site, live", stack);
		compare(&at_peak, &peak_sites[stack], "site, peak", stack);
		EQUAL(r->sites[i].live.bytes, sites[stack].live.est_bytes, "site %u", stack);
		EQUAL(r->sites[i].bytes, sites[stack].all.est_bytes, "site %u", stack);
		EQUAL(r->sites[i].allocations, sites[stack].all.est_blocks, "site %u", stack);
		EQUAL(ms_replay_live_blocks(r, i), sites[stack].live.est_blocks, "site %u", stack);
		struct ms_sampled_sum then = i < r->moments[0].sampled.site_count
						     ? r->moments[0].sampled.sites[i]
						     : (struct ms_sampled_sum){0};
		compare(&then, &moment_sites[stack], "site, moment", stack);
	}
}

static void compare_all(const struct ms_replay *r)
{
	const struct ms_sampled *s = r->sampled;
	struct ms_sampled_sum at_peak = ms_sampled_at_peak(s, s->site_count), live = {0};
	compare(&s->total.all, &total.all, "all", 0);
	compare(&s->total.freed, &total.freed, "freed", 0);
	compare(&s->total.live, &total.live, "live", 0);
	compare(&at_peak, &peak_total, "peak", 0);
	compare(&r->moments[0].sampled.total, &moment_total, "moment", 0);
	compare(&r->spans[r->span].sampled_last, &total.live, "last span", 0);
	EQUAL(r->peak_bytes, peak, "the model's peak");
	EQUAL(r->live_bytes, total.live.est_bytes, "the model's live bytes");
	EQUAL(r->bytes, total.all.est_bytes, "the model's allocated bytes");
	for (unsigned i = 0; i < THREADS; i++) {
		compare(&s->threads[i].all, &threads[i].all, "thread, all", i);
		compare(&s->threads[i].freed, &threads[i].freed, "thread, freed", i);
		EQUAL(r->threads[i].allocations, threads[i].all.est_blocks, "thread %u", i);
		live.samples += s->threads[i].live.samples;
		live.blocks += s->threads[i].live.blocks;
	}
	EQUAL(live.samples, total.live.samples, "live samples of all threads");
	EQUAL(live.blocks, total.live.est_blocks, "live blocks of all threads");
	EQUAL(s->inferred_frees,
	      total.all.est_blocks - total.freed.est_blocks - total.live.est_blocks,
	      "inferred frees");
	uint64_t allocations = 0, blocks_live = 0;
	for (size_t i = 0; i < s->record_count; i++) {
		allocations += s->records[i].allocations;
		blocks_live += s->records[i].live_blocks;
	}
	EQUAL(allocations, total.all.est_blocks, "allocations by site and thread");
	EQUAL(blocks_live, total.live.est_blocks, "live blocks by site and thread");
	compare_sites(r);
}

/* The estimates' own arithmetic: right on average, the same at each call. */
static void check_weights(void)
{
	static const uint64_t sizes[] = {0, 1, 16, 700, 2000, 9000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double p = ms_sample_chance(sizes[i], MEAN), sum = 0;
		for (uint64_t n = 0; n < 100000; n++)
			sum += (double)ms_sample_blocks(sizes[i], MEAN, n);
		EQUAL(fabs(sum / 100000 - 1 / p) < 0.006, 1, "blocks for one of %llu: %g, not %g",
		      (unsigned long long)sizes[i], sum / 100000, 1 / p);
	}
	EQUAL(ms_sample_bytes(UINT64_MAX, MEAN), UINT64_MAX, "more than any memory");
	EQUAL(ms_sample_bytes(1 << 30, 1), 1 << 30, "always sampled");
}

/* Checks that what was counted already cannot become samples, nor samples others. */
static void check_start(void)
{
	struct ms_replay r;
	ms_replay_init(&r);
	ms_sampled_start(&r, MEAN);
	ms_sampled_start(&r, 7);
	EQUAL(r.sampled->mean, MEAN, "the first time");
	ms_replay_free(&r);
	for (int live = 0; live < 2; live++) {
		ms_replay_init(&r);
		r.events = !live;
		r.live_blocks = (uint64_t)live;
		ms_sampled_start(&r, MEAN);
		EQUAL(r.sampled != NULL, false, "too late");
		ms_replay_free(&r);
	}
	ms_replay_init(&r);
	ms_sampled_start(&r, MS_SAMPLE_MOST + 1);
	EQUAL(r.sampled->mean, MS_SAMPLE_MOST, "the most");
	ms_replay_free(&r);
}

int main(void)
{
	check_start();
	struct stream st = {.seed = 5, .threads = THREADS};
	struct ms_replay r;
	ms_replay_init(&r);
	ms_sampled_start(&r, MEAN);
	ms_replay_nodes(&r, STACKS);
	ms_replay_moment(&r, MS_NEVER, MOMENT);
	for (unsigned i = 0; i < EVENTS; i++) {
		struct ms_event ev;
		stream_next(&st, &ev);
		if (i == MOMENT) {
			ms_replay_sum_cells(&r); /* changes no later figure */
			moment_total = total.live;
			for (unsigned k = 0; k < STACKS; k++)
				moment_sites[k] = sites[k].live;
		}
		naive(&ev);
		ms_replay_events(&r, &ev, 1);
	}
	ms_replay_finish(&r, st.time + 1);
	sampled = r.sampled;
	compare_all(&r);
	check_weights();
	ms_replay_free(&r);
	free(st.live);
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%u failures\n", failures);
	return failures != 0;
}
