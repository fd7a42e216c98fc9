/* SPDX-License-Identifier: MIT
 * Checkpoints of a trace, in parts: good ones set what is live, others are told as damage, and what
 * comes behind is read.
 */
#include "format/checkpoint.h"
#include "libcommon/trace/recording.h"
#include "tests/unit/check.h"
#include "tests/unit/example_trace.h"

/* One part of a checkpoint of two blocks, 100 and 50 bytes, one in each; then an allocation of a
 * byte. */
struct part {
	uint64_t event, number, live_bytes;
	uint32_t part, parts, thread;
	bool mapped_cut, last_cut;
};
#define GOOD(n)                                                                                    \
	{                                                                                          \
		.event = 10, .number = 8, .live_bytes = 150, .part = n, .parts = 2                 \
	}

static void put_part(struct made *m, const struct part *p)
{
	static uint8_t memory[MS_CHECKPOINT_MEMORY(1, 1)];
	static const uint8_t cut = 0x80;
	struct ms_checkpoint_encoder e;
	struct ms_column c[MS_CHECKPOINT_COLUMNS + 2];
	const struct ms_checkpoint_head head = {.event = p->event,
						.number = p->number,
						.tick = 100,
						.live_bytes = p->live_bytes,
						.live_blocks = 2,
						.part = p->part,
						.parts = p->parts};
	const struct ms_checkpoint_block b = {.number = p->part % 2,
					      .size = p->part % 2 ? 50 : 100,
					      .stack = 4,
					      .thread = p->thread,
					      .tick = 90};
	ms_checkpoint_begin(&e, memory, 1, 1, &head, false, false);
	CHECK(ms_checkpoint_put(&e, &b) == MS_FMT_OK, "block");
	size_t n = ms_checkpoint_finish(&e, c);
	if (p->mapped_cut)
		c[n++] = (struct ms_column){MS_LIVE_MAPPED, &cut, 1};
	if (p->last_cut)
		c[n++] = (struct ms_column){MS_LIVE_LAST, &cut, 1};
	made_block(m, MS_BLOCK_CHECKPOINT, c, n);
}

static void make(const char *path, const struct part *parts, size_t n, bool events_before)
{
	struct made m;
	struct ms_event before[] = {{.kind = MS_EV_ALLOC, .size = 7, .stack = 5, .time_ticks = 1},
				    {.kind = MS_EV_ALLOC, .size = 7, .stack = 5, .time_ticks = 2}},
			ev = {.kind = MS_EV_ALLOC, .size = 1, .stack = 5, .time_ticks = 110};
	made_open(&m, path);
	made_info(&m, 77, 1000);
	made_stacks(&m, frames, 6, nodes, 7);
	if (events_before)
		made_events(&m, before, 2);
	for (size_t i = 0; i < n; i++)
		put_part(&m, &parts[i]);
	m.number = 8;
	m.event = 10;
	made_events(&m, &ev, 1);
	made_end(&m, TICKS(200), NULL);
	made_close(&m);
}

static void expect(const char *what, const struct part *parts, size_t n, bool events_before,
		   uint64_t bad, uint64_t live_bytes, uint64_t peak_bytes)
{
	struct ms_err err = {0};
	make("parts.trace", parts, n, events_before);
	struct ms_recording *t = ms_recording_open("parts.trace", &err);
	CHECK(t, "%s: %s", what, err.text);
	while (ms_recording_step(t, &err) > 0)
		continue;
	const struct ms_replay *r = &t->replay;
	CHECK(t->bad_blocks == bad, "%s: %lu bad blocks", what, (long)t->bad_blocks);
	CHECK(ms_recording_complete(t) == !bad, "%s: %s", what, ms_recording_state(t));
	CHECK(r->live_bytes == live_bytes, "%s: %lu bytes", what, (long)r->live_bytes);
	CHECK(r->peak_bytes == peak_bytes, "%s: at the peak %lu", what, (long)r->peak_bytes);
	CHECK(r->allocations == (events_before ? 3u : 1u), "%s: %lu allocations", what,
	      (long)r->allocations);
	CHECK(r->position == 11, "%s: position %lu", what, (long)r->position);
	ms_recording_close(t);
}

int main(void)
{
	struct part p[2] = {GOOD(0), GOOD(1)};
	expect("good", p, 2, false, 0, 151, 151);
	expect("of later than the events", p, 2, true, 0, 151, 151);
	expect("begins with the second", &p[1], 1, false, 1, 1, 1);
	p[1].event = 11;
	expect("of two checkpoints", p, 2, false, 1, 101, 101);
	p[1] = (struct part)GOOD(1);
	p[1].parts = 3;
	expect("of two or of three", p, 2, false, 1, 101, 101);
	p[1] = (struct part)GOOD(1);
	p[1].live_bytes = p[0].live_bytes = 149;
	expect("another sum", p, 2, false, 1, 151, 151);
	p[0] = (struct part)GOOD(0);
	p[1] = (struct part)GOOD(1);
	p[1].thread = UINT32_MAX;
	expect("no such thread", p, 2, false, 1, 101, 101);
	p[1] = (struct part)GOOD(1);
	p[1].mapped_cut = true;
	expect("ranges cut", p, 2, false, 1, 151, 151);
	p[1] = (struct part)GOOD(1);
	p[0].last_cut = true;
	expect("threads cut", p, 2, false, 1, 101, 101);
	p[0] = (struct part)GOOD(0);
	p[0].number = p[1].number = 2;
	p[0].event = p[1].event = 1; /* older than what was read: not needed */
	expect("of earlier", p, 2, true, 0, 15, 15);
	p[0].event = p[1].event = 10;
	p[0].number = p[1].number = 2;
	p[0].parts = p[1].parts = 2;
	expect("numbers are enough", p, 2, true, 0, 151, 151);
	return failures != 0;
}
