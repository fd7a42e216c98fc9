/* SPDX-License-Identifier: MIT
 * The live-heap model set to a state, by a checkpoint or by counting anew, with every figure that
 * comes of it worked out by hand.
 */
#include "libcommon/replay/replay.h"

#include "format/trace.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_mapped.h"
#include "libcommon/replay/replay_private.h"
#include "libcommon/replay/replay_sampled.h"
#include "libcommon/stats/estimate.h"
#include "tests/unit/held.h"
#include "tests/unit/equal.h"

static struct ms_replay r;

static void begin(void)
{
	ms_replay_init(&r);
	ms_replay_nodes(&r, 4);
}

static void allocate(uint64_t tick, uint64_t number, uint64_t size, uint32_t stack, uint32_t thread)
{
	ms_replay_events(&r,
			 &(struct ms_event){.kind = MS_EV_ALLOC,
					    .time_ticks = tick,
					    .number = number,
					    .size = size,
					    .stack = stack,
					    .thread = thread},
			 1);
}

static void release(uint64_t tick, uint64_t number, uint32_t thread)
{
	ms_replay_events(
		&r,
		&(struct ms_event){
			.kind = MS_EV_FREE, .time_ticks = tick, .freed = number, .thread = thread},
		1);
}

static bool put(uint64_t number, uint64_t size, uint64_t tick, uint32_t stack, uint32_t thread)
{
	return ms_replay_restore_block(&r, &(struct ms_checkpoint_block){.number = number,
									 .size = size,
									 .tick = tick,
									 .stack = stack,
									 .thread = thread});
}

static const struct ms_replay_site *site(uint32_t node)
{
	return &r.sites[r.site_of_node[node] - 1];
}

static void at_peak(const struct ms_level *l, uint64_t bytes, uint64_t blocks, const char *what)
{
	uint64_t is_bytes, is_blocks;
	ms_replay_at_peak(&r, l, &is_bytes, &is_blocks);
	EQUAL(is_bytes, bytes, "%s", what);
	EQUAL(is_blocks, blocks, "%s", what);
}

/* ---- the first thing that is read is a checkpoint ---- */

static const struct ms_checkpoint_head first = {
	.event = 10, .number = 8, .tick = 100, .live_bytes = 150, .live_blocks = 3};

static void put_first(void)
{
	EQUAL(put(2, 100, 20, 1, 0), true, "the first block");
	EQUAL(put(2, 100, 20, 1, 0), false, "the same again");
	EQUAL(put(5, 50, 90, 2, 1), true, "the next");
	EQUAL(put(4, 50, 90, 2, 1), false, "an earlier one");
	EQUAL(put(6, 0, 90, 2, MS_REPLAY_THREADS_MAX), false, "too many threads");
	EQUAL(put(6, UINT64_C(1) << 48, 90, 2, 1), false, "larger than any process");
	EQUAL(put(8, 0, 95, 1, 0), false, "one that came later");
	EQUAL(put(7, 0, 101, 1, 0), true, "the last block, as if it came later");
}

static void restore(void)
{
	begin();
	ms_replay_moment(&r, 99, MS_NEVER);
	ms_replay_moment(&r, 100, MS_NEVER);
	ms_replay_moment(&r, 101, MS_NEVER);
	ms_replay_moment(&r, MS_NEVER, 9);
	ms_replay_moment(&r, MS_NEVER, 10);
	EQUAL(ms_replay_restore(&r, &first, true), true, "-");
	put_first();
	ms_replay_restore_last(&r, 0, 7);
	ms_replay_restore_last(&r, 1, 5);
	ms_replay_restore_last(&r, 1, 8);
	ms_replay_restore_last(&r, 1, MS_NEVER);
	ms_replay_restore_last(&r, MS_REPLAY_THREADS_MAX, 3);
	EQUAL(ms_replay_restored(&r, &first, true), true, "it adds up");
	static const bool missed[] = {true, true, false, true, false};
	for (size_t i = 0; i < 5; i++)
		EQUAL(r.moments[i].missed, missed[i], "moment %zu", i);
	EQUAL(r.thread_count >= 2 && r.threads[1].last == 5, true, "the latest of thread 1");
	EQUAL(r.threads[0].first_tick, 20, "thread 0");
	EQUAL(r.threads[1].first_tick, 90, "thread 1");
	EQUAL(r.position, 10, "-");
	EQUAL(r.from_tick, 100, "-");
	EQUAL(r.growth->first > 1000000000, true, "more than a second after the start");
	EQUAL(r.peak_bytes, 150, "-");
	EQUAL(r.peak_blocks, 3, "-");
	EQUAL(r.peak_tick, 100, "-");
	EQUAL(r.peak_position, 10, "-");
	EQUAL(r.run_max, 150, "-");
	EQUAL(r.run_max_tick, 100, "-");
}

static void go_on(void)
{
	allocate(110, 7, 9, 1, 0); /* its number is taken */
	allocate(110, 8, 30, 1, 0);
	release(120, 2, 1);
	release(130, 8, 0); /* temporary, and so is the next */
	release(140, 5, 1);
	ms_replay_finish(&r, 200);
	EQUAL(r.bad_events, 1, "-");
	EQUAL(r.allocations, 1, "-");
	EQUAL(r.bytes, 30, "-");
	EQUAL(r.frees, 3, "-");
	EQUAL(r.temporary, 2, "-");
	EQUAL(r.live_bytes, 0, "-");
	EQUAL(r.live_blocks, 1, "-");
	EQUAL(r.peak_bytes, 180, "-");
	EQUAL(r.peak_blocks, 4, "-");
	EQUAL(r.peak_tick, 110, "-");
	EQUAL(r.moments[2].live_bytes, 150, "-");
	EQUAL(r.moments[4].live_blocks, 3, "-");
	EQUAL(r.spans[100].live_min, 150, "-");
	EQUAL(r.spans[100].live_max, 150, "-");
	EQUAL(r.spans[100].allocations, 0, "-");
	EQUAL(r.spans[110].live_max, 180, "-");
	EQUAL(r.spans[110].allocations, 1, "-");
	EQUAL(r.spans[110].bytes, 30, "-");
	EQUAL(r.spans[120].frees, 1, "-");
	EQUAL(r.spans[99].live_max, 0, "nothing is known of before");
	EQUAL(r.spans[99].live_min, MS_NEVER, "nothing is known of before");
}

static void test_anew(void)
{
	restore();
	go_on();
	const struct ms_replay_site *s = site(1);
	at_peak(&s->live, 130, 3, "site 1");
	EQUAL(s->live.blocks, 1, "-");
	EQUAL(s->max_live_bytes, 130, "-");
	EQUAL(s->max_live_blocks, 3, "-");
	EQUAL(ms_replay_rare_of(&r, s)->frees, 2, "-");
	EQUAL(ms_replay_lifetimes_of(&r, s)->ticks, 100 + 20, "-");
	EQUAL(ms_replay_lifetimes_of(&r, s)->allocations, 6, "numbers 3 to 8");
	EQUAL(ms_replay_rare_of(&r, s)->classes, 1u << 7 | 1u << 5 | 1, "100, 30 and 0 bytes");
	s = site(2);
	at_peak(&s->live, 50, 1, "site 2");
	EQUAL(s->max_live_bytes, 50, "-");
	EQUAL(s->max_live_blocks, 1, "-");
	EQUAL(ms_replay_rare_of(&r, s)->frees, 1, "-");
	EQUAL(s->temporary, 1, "-");
	EQUAL(ms_replay_rare_of(&r, s)->classes, 1u << 6, "50 bytes");
	at_peak(&r.sizes[7].live, 100, 1, "64 to 127 bytes");
	at_peak(&r.sizes[6].live, 50, 1, "32 to 63 bytes");
	at_peak(&r.sizes[0].live, 0, 1, "of no bytes");
	at_peak(&r.threads[0].live, 130, 3, "thread 0");
	at_peak(&r.threads[1].live, 50, 1, "thread 1");
	EQUAL(r.oldest[r.site_of_node[1] - 1], 100, "no block is younger than the checkpoint");
	ms_replay_free(&r);
}

/* Checks that a checkpoint is refused whose head gives other sums than its blocks. */
static void test_sums(void)
{
	for (int what = 0; what < 2; what++) {
		struct ms_checkpoint_head h = first;
		h.live_bytes += what == 0;
		h.live_blocks += what == 1;
		begin();
		EQUAL(ms_replay_restore(&r, &h, true), true, "-");
		put_first();
		EQUAL(ms_replay_restored(&r, &h, true), false, "sum %d", what);
		ms_replay_free(&r);
	}
}

/* ---- events before it were read ---- */

static void test_damage(void)
{
	const struct ms_checkpoint_head good = {
		.event = 2, .number = 2, .tick = 50, .live_bytes = 70, .live_blocks = 1};
	struct ms_checkpoint_head bad[] = {good, good, good, good};
	bad[0].event = 1;
	bad[1].number = 1;
	bad[2].tick = 5;
	bad[3].tick = 301;
	begin();
	r.tick_limit = 300;
	ms_replay_moment(&r, 6, MS_NEVER);
	ms_replay_moment(&r, 20, MS_NEVER);
	allocate(5, 0, 100, 1, 0);
	allocate(6, 1, 20, 2, 0);
	for (size_t i = 0; i < 4; i++) {
		EQUAL(ms_replay_restore(&r, &bad[i], false), false, "head %zu", i);
		EQUAL(r.live_bytes, 120, "head %zu", i);
	}
	EQUAL(ms_replay_restore(&r, &good, false), true, "the same moment will do");
	EQUAL(r.live_blocks, 0, "-");
	for (uint32_t i = 1; i <= 2; i++)
		EQUAL(site(i)->live.bytes + site(i)->live.blocks, 0, "site %u", i);
	EQUAL(put(1, 70, 6, 1, 0), true, "-");
	EQUAL(ms_replay_restored(&r, &good, false), true, "-");
	EQUAL(r.moments[0].missed || r.moments[1].missed, false, "not looked at");
	EQUAL(r.peak_bytes, 120, "-");
	EQUAL(r.run_max, 120, "-");
	EQUAL(r.allocations, 2, "-");
	EQUAL(r.from_tick, 0, "-");
	EQUAL(r.spans[r.span].live_min, 70, "-");

	struct ms_checkpoint_head more = good;
	more.number = 3;
	more.tick = 300;
	more.live_bytes = 500;
	more.live_blocks = 2;
	EQUAL(ms_replay_restore(&r, &more, false), true, "at the limit");
	EQUAL(ms_replay_restore(&r, &more, false), true, "once more, right then");
	EQUAL(put(1, 70, 6, 1, 0) && put(2, 430, 60, 1, 0), true, "-");
	EQUAL(ms_replay_restored(&r, &more, false), true, "-");
	EQUAL(r.peak_bytes, 500, "-");
	EQUAL(r.peak_blocks, 2, "-");
	EQUAL(r.peak_tick, 300, "-");
	EQUAL(r.run_max, 500, "-");
	EQUAL(r.run_max_tick, 300, "-");
	EQUAL(r.spans[r.span].live_max, 500, "-");
	ms_replay_finish(&r, 300);
	at_peak(&site(1)->live, 500, 2, "site 1");
	at_peak(&site(2)->live, 0, 0, "site 2");
	EQUAL(ms_replay_rare_of(&r, site(1))->frees, 0, "they did not go by a call");
	EQUAL(ms_replay_rare_of(&r, site(2))->frees, 0, "they did not go by a call");
	EQUAL(site(1)->max_live_bytes, 500, "-");
	EQUAL(site(2)->max_live_bytes, 20, "-");
	EQUAL(r.allocations, 2, "-");
	EQUAL(r.bytes, 120, "-");
	ms_replay_free(&r);
}

/* Checks that as much live as at the peak is no new peak: that was earlier. */
static void test_same_peak(void)
{
	const struct ms_checkpoint_head h = {
		.event = 2, .number = 2, .tick = 50, .live_bytes = 120, .live_blocks = 1};
	begin();
	allocate(5, 0, 100, 1, 0);
	allocate(6, 1, 20, 2, 0);
	EQUAL(ms_replay_restore(&r, &h, false), true, "-");
	EQUAL(put(1, 120, 6, 1, 0), true, "-");
	EQUAL(ms_replay_restored(&r, &h, false), true, "-");
	EQUAL(r.peak_tick, 6, "-");
	EQUAL(r.run_max_tick, 6, "-");
	EQUAL(r.peak_blocks, 2, "-");
	ms_replay_finish(&r, 60);
	at_peak(&site(2)->live, 20, 1, "site 2");
	ms_replay_free(&r);
}

/* Checks that what is beside the heap is restored with it, and is as it was at the new peak. */
static void test_beside(void)
{
	const struct ms_checkpoint_head h = {
		.event = 2, .number = 2, .tick = 50, .live_bytes = 300, .live_blocks = 1};
	const struct ms_checkpoint_block b = {
		.number = 1, .size = 300, .tick = 20, .stack = 2, .slack = 5};
	begin();
	ms_beside_start(&r, MS_OPTION_MMAP | MS_OPTION_USABLE);
	ms_replay_events(&r,
			 (const struct ms_event[]){
				 {.kind = MS_EV_ALLOC, .size = 100, .stack = 1, .slack = 9},
				 {.kind = MS_EV_EXT,
				  .ext = MS_EXT_MAP,
				  .address = 4096,
				  .size = 4096,
				  .stack = 1}},
			 2);
	EQUAL(r.beside->slack_bytes, 8, "-");
	EQUAL(r.beside->mapped_bytes, 4096, "-");
	EQUAL(r.beside->peak_mapped_bytes, 0, "it came later");
	EQUAL(ms_replay_restore(&r, &h, false), true, "-");
	EQUAL(r.beside->slack_bytes + r.beside->mapped_bytes, 0, "-");
	EQUAL(ms_replay_restore_block(&r, &b), true, "-");
	ms_beside_restore_range(
		&r, &(struct ms_checkpoint_range){.address = 65536, .bytes = 8192, .stack = 2});
	EQUAL(ms_replay_restored(&r, &h, false), true, "-");
	EQUAL(r.beside->slack_bytes, 4, "-");
	EQUAL(r.beside->mapped_bytes, 8192, "-");
	EQUAL(r.beside->peak_slack_bytes, 4, "-");
	EQUAL(r.beside->peak_mapped_bytes, 8192, "-");
	release(60, 1, 0);
	ms_replay_finish(&r, 60);
	EQUAL(r.beside->slack_bytes, 0, "-");
	const struct ms_beside_site *s = ms_beside_site(r.beside, r.site_of_node[1] - 1);
	at_peak(&s->slack, 0, 0, "site 1");
	at_peak(&s->mapped, 0, 0, "site 1");
	s = ms_beside_site(r.beside, r.site_of_node[2] - 1);
	at_peak(&s->slack, 4, 0, "site 2");
	at_peak(&s->mapped, 8192, 0, "site 2");
	ms_replay_free(&r);
}

static void sum(const struct ms_sampled_sum *s, uint64_t samples, uint64_t bytes, const char *what)
{
	EQUAL(s->samples, samples, "samples of %s", what);
	EQUAL(s->bytes, bytes, "bytes of %s", what);
}

static void sum_at_peak(size_t i, uint64_t samples, uint64_t bytes, const char *what)
{
	struct ms_sampled_sum x = ms_sampled_at_peak(r.sampled, i);
	sum(&x, samples, bytes, what);
}

/* Samples that it puts back are live, but were not made since; what was counted before stays, and
 * the peak. */
static void test_sampled(void)
{
	begin();
	ms_sampled_start(&r, 1000);
	EQUAL(ms_replay_restore(&r, &first, true), true, "-");
	put_first();
	EQUAL(ms_replay_restored(&r, &first, true), true, "the head has what was recorded");
	const struct ms_sampled *s = r.sampled;
	sum(&s->total.live, 3, 150, "all that is live");
	sum(&s->total.all, 0, 0, "all that was made");
	sum(&s->sites[0].live, 2, 100, "site 1");
	sum(&s->sites[1].live, 1, 50, "site 2");
	EQUAL(s->total.smallest, 0, "-");
	EQUAL(s->sites[1].smallest, 50, "-");
	EQUAL(r.live_bytes,
	      ms_sample_bytes(100, 1000) + ms_sample_bytes(50, 1000) + ms_sample_bytes(0, 1000),
	      "what they stand for");
	ms_replay_moment(&r, 105, MS_NEVER);
	ms_replay_moment(&r, 130, MS_NEVER);
	r.alarm.tick = 0; /* they are new */
	allocate(110, 8, 30, 1, 0);
	release(120, 2, 1);
	sum(&s->total.live, 3, 80, "all that is live");
	sum(&s->total.all, 1, 30, "all that was made");
	sum(&s->total.freed, 1, 100, "all that went");
	const struct ms_checkpoint_head later = {
		.event = 20, .number = 12, .tick = 200, .live_bytes = 7, .live_blocks = 1};
	EQUAL(ms_replay_restore(&r, &later, true), true, "-");
	EQUAL(put(11, 7, 150, 2, 0), true, "-");
	EQUAL(ms_replay_restored(&r, &later, true), true, "-");
	sum(&s->total.live, 1, 7, "all that is live");
	sum(&s->sites[0].live, 0, 0, "site 1");
	sum(&s->sites[1].live, 1, 7, "site 2");
	EQUAL(s->sites[1].smallest, 7, "-");
	allocate(210, 12, 60, 3, 0);
	EQUAL(r.moments[0].taken && !r.moments[0].missed, true, "seen");
	EQUAL(r.moments[0].sampled.total.bytes, 150, "seen");
	EQUAL(r.moments[1].missed && !r.moments[1].taken, true, "not seen");
	EQUAL(r.allocations, 2, "-");
	r.judged = 12;
	sum(&s->total.all, 2, 90, "all that was made");
	sum(&s->total.freed, 1, 100, "all that went");
	sum(&s->threads[0].all, 2, 90, "thread 0");
	sum(&s->threads[1].freed, 1, 100, "thread 1");
	ms_replay_finish(&r, 220);
	EQUAL(r.late == NULL, true, "of samples that is not said");
	sum_at_peak(s->site_count, 4, 180, "the peak");
	sum_at_peak(0, 3, 130, "site 1 at the peak");
	sum_at_peak(1, 1, 50, "site 2 at the peak");
	sum_at_peak(2, 0, 0, "site 3 at the peak");
	ms_replay_free(&r);
}

/* Checks that samples that are live stay when counting begins. */
static void test_sampled_begins(void)
{
	begin();
	ms_sampled_start(&r, 1000);
	ms_replay_count_from(&r, ms_replay_moment(&r, 10, MS_NEVER));
	allocate(1, 0, 100, 1, 0);
	allocate(2, 1, 50, 2, 1);
	allocate(3, 2, 25, 1, 0);
	release(4, 1, 1);
	allocate(12, 3, 5, 1, 0);
	const struct ms_sampled *s = r.sampled;
	sum(&s->total.live, 3, 130, "all that is live");
	sum(&s->total.all, 1, 5, "all that was made");
	sum(&s->total.freed, 0, 0, "all that went");
	sum(&s->sites[0].live, 3, 130, "site 1");
	sum(&s->sites[0].all, 1, 5, "site 1");
	EQUAL(s->sites[0].smallest, 5, "-");
	sum(&s->threads[0].all, 1, 5, "thread 0");
	sum(&s->threads[0].freed, 0, 0, "thread 0");
	EQUAL(s->threads[0].smallest, 5, "-");
	sum(&s->threads[1].all, 0, 0, "thread 1");
	sum(&s->threads[1].freed, 0, 0, "thread 1");
	EQUAL(s->threads[1].smallest, UINT64_MAX, "-");
	ms_replay_finish(&r, 20);
	sum_at_peak(s->site_count, 3, 130, "the peak");
	sum_at_peak(0, 3, 130, "site 1 at the peak");
	ms_replay_free(&r);
}

/* ---- counting anew ---- */

static void test_count_from(void)
{
	begin();
	ms_replay_count_from(&r, ms_replay_moment(&r, 10, MS_NEVER));
	allocate(1, 0, 100, 1, 0);
	allocate(2, 1, 2000, 2, 0);
	allocate(3, 2, 9, 2, 1);
	release(4, 1, 0);
	release(5, 77, 0);
	ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_FAILED, .time_ticks = 6, .stack = 2},
			 1);
	allocate(7, 3, 50, 1, 0);
	allocate(12, 4, 30, 3, 0);
	release(13, 4, 0);
	release(14, 0, 1);
	ms_replay_finish(&r, 20);
	EQUAL(r.from_tick, 9, "the end of the tick before");
	EQUAL(r.events, 3, "-");
	EQUAL(r.allocations, 1, "-");
	EQUAL(r.bytes, 30, "-");
	EQUAL(r.frees, 2, "-");
	EQUAL(r.temporary, 1, "-");
	EQUAL(r.freed_soon, 2, "-");
	EQUAL(r.failed, 0, "-");
	EQUAL(r.unknown_frees, 0, "-");
	EQUAL(r.peak_bytes, 189, "-");
	EQUAL(r.peak_blocks, 4, "-");
	EQUAL(r.peak_tick, 12, "-");
	EQUAL(r.run_max, 189, "-");
	EQUAL(r.live_bytes, 59, "-");
	EQUAL(r.spans[10].live_max, 159, "-");
	EQUAL(r.spans[8].live_max, 0, "-");
	EQUAL(r.spans[12].allocations, 1, "-");
	EQUAL(r.spans[14].frees, 1, "-");
	EQUAL(ms_replay_rare_of(&r, site(1))->frees, 1, "-");
	EQUAL(site(1)->max_live_bytes, 150, "-");
	EQUAL(site(1)->max_live_blocks, 2, "-");
	at_peak(&site(1)->live, 150, 2, "site 1");
	EQUAL(ms_replay_rare_of(&r, site(1))->classes, 1u << 7 | 1u << 6, "100 and 50 bytes");
	EQUAL(ms_replay_rare_of(&r, site(2))->frees, 0, "-");
	EQUAL(ms_replay_rare_of(&r, site(2))->failed, 0, "-");
	EQUAL(site(2)->max_live_bytes, 9, "-");
	EQUAL(ms_replay_rare_of(&r, site(2))->classes, 1u << 4, "that of 2000 bytes had gone");
	EQUAL(r.threads[0].frees, 1, "-");
	EQUAL(r.threads[0].first_tick, 1, "-");
	EQUAL(r.threads[0].allocations, 1, "-");
	EQUAL(r.threads[1].frees, 1, "-");
	EQUAL(r.sizes[11].live.blocks, 0, "-");
	EQUAL(r.sizes[7].allocations, 0, "-");
	ms_replay_free(&r);
}

/* A peak that nothing after it comes up to is the moment's own. */
static void test_peak_at_begin(void)
{
	begin();
	ms_replay_count_from(&r, ms_replay_moment(&r, 10, MS_NEVER));
	allocate(1, 0, 100, 1, 0);
	allocate(2, 1, 2000, 2, 0);
	release(4, 1, 0);
	release(11, 0, 0);
	ms_replay_finish(&r, 20);
	EQUAL(r.peak_bytes, 100, "-");
	EQUAL(r.peak_blocks, 1, "-");
	EQUAL(r.peak_tick, 9, "-");
	EQUAL(r.peak_position, 3, "-");
	EQUAL(r.run_max, 100, "-");
	EQUAL(r.run_max_tick, 9, "-");
	at_peak(&site(1)->live, 100, 1, "site 1");
	at_peak(&site(2)->live, 0, 0, "site 2");
	ms_replay_free(&r);
}

int main(void)
{
	test_anew();
	test_sums();
	test_damage();
	test_same_peak();
	test_beside();
	test_sampled();
	test_sampled_begins();
	test_count_from();
	test_peak_at_begin();
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%u failures\n", failures);
	return failures != 0;
}
