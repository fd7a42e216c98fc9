/* SPDX-License-Identifier: MIT
 * A recording that a second thread reads ahead: the same as without it, also where blocks of events
 * cannot be decoded.
 */
#include "tests/unit/check.h"
#include "tests/unit/made_trace.h"

#include "libcommon/trace/recording.h"

#define EVENTS 20000u /* of a block: enough to be read ahead */
#define BLOCKS 40u
#define BAD 7u /* every so many blocks one that means nothing */

/* Every third one frees what the one before allocated. `bad`: its head says one event more. */
static void put_events(struct made *m, void *memory, bool bad)
{
	struct ms_column c[MS_EVENT_COLUMNS];
	uint8_t op[EVENTS + 1] = {0};
	uint64_t tick = m->now / MS_TRACE_TICK_NS;
	ms_event_encoder_init(&m->events, memory, EVENTS);
	ms_event_encoder_begin(&m->events, m->number, m->event, tick);
	for (unsigned i = 0; i < EVENTS; i++) {
		struct ms_event ev = {.kind = MS_EV_ALLOC, .size = 1 + i, .stack = 1};
		ev.time_ticks = tick + i / 100;
		if (i % 3 == 2) {
			ev.kind = MS_EV_FREE;
			ev.freed = ms_event_next_number(&m->events) - 1;
		}
		if (ms_event_put(&m->events, &ev) != MS_FMT_OK)
			made_die("event", NULL);
	}
	size_t n = ms_event_encoder_finish(&m->events, c);
	for (size_t i = 0; i < n && bad; i++)
		if (c[i].id == MS_COL_OP) {
			memcpy(op, c[i].data, c[i].size);
			c[i].data = op;
			c[i].size++;
		}
	made_block(m, MS_BLOCK_EVENTS, c, n);
	m->number = ms_event_next_number(&m->events);
	m->event += EVENTS;
	m->now += (uint64_t)EVENTS / 100 * MS_TRACE_TICK_NS;
}

static void make(const char *path)
{
	struct made m;
	const struct ms_frame frame = {.address = 0x1000};
	const struct ms_node node = {.frame = 1};
	void *memory = malloc(MS_EVENT_MEMORY(EVENTS));
	made_open(&m, path);
	made_info(&m, 77, 0);
	made_stacks(&m, &frame, 1, &node, 1);
	for (unsigned i = 0; i < BLOCKS; i++)
		put_events(&m, memory, i % BAD == BAD - 1);
	made_end(&m, m.now, NULL);
	made_close(&m);
	free(memory);
}

struct seen {
	uint64_t allocations, frees, bytes, live, bad;
	const char *state;
};

static struct seen read_all(const char *path, bool ahead)
{
	struct ms_err err = {0};
	struct seen s = {0};
	uint64_t next;
	struct ms_recording *t = ms_recording_open(path, &err);
	CHECK(t, "%s", err.text);
	if (!t)
		return s;
	t->may_read_ahead = ahead;
	CHECK(ms_recording_run(t, MS_NEVER, &next, &err) == 0, "%s", err.text);
	s = (struct seen){t->replay.allocations, t->replay.frees, t->replay.bytes,
			  t->replay.live_bytes,  t->bad_blocks,   ms_recording_state(t)};
	ms_recording_close(t);
	return s;
}

/* A third of the events of a block are frees. */
static void check(const struct seen *s, const char *how)
{
	uint64_t good = BLOCKS - BLOCKS / BAD, frees = EVENTS / 3, allocations = EVENTS - frees;
	CHECK(s->bad == BLOCKS / BAD, "%s: %llu bad blocks", how, (unsigned long long)s->bad);
	CHECK(s->allocations == good * allocations && s->frees == good * frees,
	      "%s: %llu allocations, %llu frees", how, (unsigned long long)s->allocations,
	      (unsigned long long)s->frees);
	CHECK(s->state && !strcmp(s->state, "damaged"), "%s: state %s", how, s->state);
}

int main(void)
{
	make("ahead.trace");
	struct seen one = read_all("ahead.trace", false);
	check(&one, "one thread");
	for (int i = 0; i < 5; i++) {
		struct seen two = read_all("ahead.trace", true);
		check(&two, "two threads");
		CHECK(two.bytes == one.bytes && two.live == one.live,
		      "other bytes: %llu, %llu live", (unsigned long long)two.bytes,
		      (unsigned long long)two.live);
	}
	unlink("ahead.trace");
	return failures != 0;
}
