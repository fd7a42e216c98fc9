/* SPDX-License-Identifier: MIT
 * Replay from a checkpoint equals replay from the start: random streams of events, written with
 * checkpoints as the recorder writes them, read from the start and from the checkpoint before a
 * random moment, and counted from that moment on.
 *
 * Then every prefix of such a file, and the file with each of its bytes flipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PART 50 /* so that checkpoints have several parts */
#include "ms-record/write/checkpoint.c"
#include "ms-record/write/packed.c"

#include "libcommon/trace/recording.h"
#include "tests/unit/stream.h"
#include "format/record.h"
#include "format/stacks.h"

#define NODES 600u
#define BLOCK 400u

static int failures;
static int file; /* in memory */
static char path[32];

#define CHECK(x, ...)                                                                              \
	do {                                                                                       \
		if (!(x) && ++failures < 20) {                                                     \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #x);                             \
			printf(__VA_ARGS__);                                                       \
			puts("");                                                                  \
		}                                                                                  \
	} while (0)

/* ---- writing ---- */

struct shape {
	uint64_t seed;
	unsigned events, block, threads;
	bool usable, index, addresses, symbols;
};

static uint64_t written_ticks, checkpoints;
static uint64_t checkpoint_ticks[64]; /* of the last ones */

static void must(bool good, const char *what, const struct ms_err *err)
{
	if (!good) {
		printf("%s: %s\n", what, err->text);
		exit(1);
	}
}

static void put_records(struct ms_trace_writer *t, uint16_t type, const unsigned *fields,
			const uint64_t *values, size_t n)
{
	uint8_t memory[512];
	struct ms_record_writer w;
	struct ms_err err = {0};
	ms_record_writer_init(&w, memory, sizeof memory);
	ms_record_begin(&w);
	for (size_t i = 0; i < n; i++)
		ms_record_number(&w, fields[i], values[i]);
	ms_record_end(&w);
	struct ms_column c = ms_record_column(&w);
	must(ms_trace_write(t, type, 0, 0, &c, 1, &err) == 0, "records", &err);
}

static void put_stacks(struct ms_trace_writer *t)
{
	static uint8_t memory[MS_STACKS_MEMORY(NODES, NODES)];
	static struct ms_stacks_encoder e;
	struct ms_column c[MS_STACKS_COLUMNS];
	struct ms_err err = {0};
	ms_stacks_encoder_init(&e, memory, NODES, NODES);
	ms_stacks_encoder_begin(&e, 1, 1);
	ms_stacks_put_frame(&e, &(struct ms_frame){0x1000, 0, 0});
	for (unsigned i = 1; i < NODES; i++)
		ms_stacks_put_node(&e, &(struct ms_node){0, 1});
	must(ms_trace_write(t, MS_BLOCK_STACKS, 0, 0, c, ms_stacks_encoder_finish(&e, c), &err) ==
		     0,
	     "stacks", &err);
}

static void put_events(struct ms_trace_writer *t, struct stream *s, struct live_list *live,
		       uint64_t first, unsigned n)
{
	static uint8_t memory[MS_EVENT_MEMORY(BLOCK)];
	static struct ms_event_encoder e;
	struct ms_column c[MS_EVENT_COLUMNS];
	struct ms_err err = {0};
	ms_event_encoder_init(&e, memory, BLOCK);
	ms_event_encoder_begin(&e, s->number, first, s->time);
	uint64_t from = s->time;
	for (unsigned i = 0; i < n; i++) {
		struct ms_event ev;
		stream_next(s, &ev);
		must(ms_event_put(&e, &ev) == MS_FMT_OK, "event", &err);
		live_list_event(live, &ev);
	}
	must(ms_trace_write(t, MS_BLOCK_EVENTS, from * MS_TRACE_TICK_NS, s->time * MS_TRACE_TICK_NS,
			    c, ms_event_encoder_finish(&e, c), &err) == 0,
	     "events", &err);
}

static void put_end(struct ms_trace_writer *t, uint64_t index, uint64_t events)
{
	static const unsigned fields[] = {MS_END_TIME, MS_END_EVENTS, MS_END_INDEX};
	uint64_t values[] = {written_ticks * MS_TRACE_TICK_NS, events, index};
	put_records(t, MS_BLOCK_END, fields, values, index ? 3 : 2);
}

static void write_trace(const struct shape *shape)
{
	static const unsigned info[] = {MS_INFO_PID, MS_INFO_OPTIONS};
	struct ms_trace_head head = {.major = MS_TRACE_MAJOR,
				     .machine = 62,
				     .address_bytes = 8,
				     .tick_ns = MS_TRACE_TICK_NS};
	struct stream s = {.seed = shape->seed,
			   .threads = shape->threads,
			   .ext = true,
			   .usable = shape->usable};
	struct ms_err err = {0};
	uint64_t index = 0;
	must(ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0, "memory file", &err);
	struct ms_trace_writer *t = ms_trace_writer_new(file, &head, 1, &err);
	struct live_list *live = live_list_new(shape->addresses);
	put_records(t, MS_BLOCK_INFO, info, (uint64_t[]){7, shape->usable ? MS_OPTION_USABLE : 0},
		    2);
	put_stacks(t);
	for (unsigned n = 0; n < shape->events; n += shape->block) {
		if (n && stream_random(&s) % 3 == 0) {
			must(checkpoint_write(live, n, shape->addresses, t, &err) == 0,
			     "checkpoint", &err);
			checkpoint_ticks[checkpoints++ % 64] = s.time;
		}
		put_events(t, &s, live, n, shape->block);
		if (stream_random(&s) % 4 == 0)
			put_records(t, MS_BLOCK_MARKS, (unsigned[]){MS_MARK_TIME},
				    (uint64_t[]){s.time * MS_TRACE_TICK_NS}, 1);
	}
	written_ticks = s.time;
	if (shape->index)
		must(ms_trace_write_index(t, 0, &index, &err) == 0, "index", &err);
	put_end(t, index, shape->events);
	if (shape->symbols) {
		put_records(t, MS_BLOCK_SYMBOLS, (unsigned[]){MS_SYM_FRAME}, (uint64_t[]){1}, 1);
		put_end(t, index, shape->events);
	}
	ms_trace_writer_free(t);
	live_list_free(live);
	stream_end(&s);
}

/* ---- reading ---- */

static struct ms_recording *run(struct ms_recording *t, uint64_t tick, uint64_t stop)
{
	struct ms_err err = {0};
	uint64_t next;
	ms_replay_count_from(&t->replay, ms_replay_moment(&t->replay, tick + 1, MS_NEVER));
	if (stop != MS_NEVER)
		ms_recording_stop_at(t, stop * MS_TRACE_TICK_NS, stop + 1, MS_NEVER);
	int rc;
	while ((rc = ms_recording_run(t, UINT64_MAX, &next, &err)) > 0)
		;
	CHECK(rc == 0, "%s", err.text);
	return t;
}

static struct ms_recording *run_all(uint64_t tick, uint64_t stop)
{
	struct ms_err err = {0};
	struct ms_recording *t = ms_recording_open(path, &err);
	return t ? run(t, tick, stop) : NULL;
}

static struct ms_recording *run_part(uint64_t tick, uint64_t stop)
{
	struct ms_err err = {0};
	struct ms_recording *t = ms_recording_open_parts(path, &err);
	if (t && ms_recording_start_at(t, tick, &err))
		return run(t, tick, stop);
	ms_recording_close(t);
	return NULL;
}

/* ---- comparing ---- */

#define SAME(field)                                                                                \
	(a->field == b->field ||                                                                   \
	 (report && (printf("%s: %llu, from the start %llu\n", #field,                             \
			    (unsigned long long)b->field, (unsigned long long)a->field),           \
		     0)))

static bool same_level(const struct ms_replay *ra, const struct ms_level *x,
		       const struct ms_replay *rb, const struct ms_level *y)
{
	uint64_t p[2], q[2];
	ms_replay_at_peak(ra, x, &p[0], &p[1]);
	ms_replay_at_peak(rb, y, &q[0], &q[1]);
	return x->bytes == y->bytes && x->blocks == y->blocks && p[0] == q[0] && p[1] == q[1];
}

static bool same_rare(const struct ms_replay_rare *a, const struct ms_replay_rare *b, bool report)
{
	return SAME(frees) && SAME(reallocations) && SAME(failed) && SAME(classes) && SAME(marked);
}

static bool same_lifetimes(const struct ms_replay_lifetimes *a, const struct ms_replay_lifetimes *b,
			   bool report)
{
	return SAME(ticks) && SAME(allocations);
}

static bool same_site(const struct ms_replay *ra, const struct ms_replay_site *a,
		      const struct ms_replay *rb, const struct ms_replay_site *b, bool report)
{
	static const struct ms_replay_site none = {.min_size = UINT64_MAX, .first_tick = MS_NEVER};
	static const struct ms_replay_rare idle;
	const struct ms_replay_rare *rare_a = a ? ms_replay_rare_of(ra, a) : &idle,
				    *rare_b = b ? ms_replay_rare_of(rb, b) : &idle;
	a = a ? a : &none;
	b = b ? b : &none;
	return same_level(ra, &a->live, rb, &b->live) && SAME(max_live_bytes) &&
	       SAME(max_live_blocks) && SAME(temporary) && SAME(min_size) && SAME(max_size) &&
	       SAME(first_tick) && SAME(last_tick) && same_rare(rare_a, rare_b, report) &&
	       same_lifetimes(ms_replay_lifetimes_of(ra, a), ms_replay_lifetimes_of(rb, b), report);
}

static const struct ms_replay_site *site_of_node(const struct ms_replay *r, size_t node)
{
	return r->site_of_node[node] ? &r->sites[r->site_of_node[node] - 1] : NULL;
}

static bool same_sites(const struct ms_replay *a, const struct ms_replay *b, bool report)
{
	bool same = true;
	for (size_t n = 0; n < a->node_count; n++)
		same &= same_site(a, site_of_node(a, n), b, site_of_node(b, n), report);
	return same;
}

static bool same_threads(const struct ms_replay *ra, const struct ms_replay *rb, bool report)
{
	static const struct ms_replay_thread none;
	bool same = true;
	for (size_t i = 0; i < 300; i++) {
		const struct ms_replay_thread *a = i < ra->thread_count ? &ra->threads[i] : &none;
		const struct ms_replay_thread *b = i < rb->thread_count ? &rb->threads[i] : &none;
		same &= same_level(ra, &a->live, rb, &b->live) && SAME(allocations) &&
			SAME(frees) && SAME(bytes) && SAME(temporary);
	}
	return same;
}

/* Returns a figure of what was live at the moment itself. */
static uint64_t live_then(const struct ms_replay *r, uint32_t node)
{
	const struct ms_replay_moment *m = &r->moments[0];
	for (size_t i = 0; i < m->figure_count; i++)
		if (r->sites[m->figures[i].site].node == node)
			return m->figures[i].live_bytes * 31 + m->figures[i].live_blocks;
	return 0;
}

static bool same_moment(const struct ms_replay *ra, const struct ms_replay *rb, bool report)
{
	const struct ms_replay_moment *a = &ra->moments[0], *b = &rb->moments[0];
	bool same = SAME(live_bytes) && SAME(live_blocks) && SAME(taken);
	for (uint32_t n = 0; n < NODES; n++)
		same &= live_then(ra, n) == live_then(rb, n);
	return same;
}

static bool same_timeline(const struct ms_replay *a, const struct ms_replay *b, bool report)
{
	size_t from = a->from_tick / a->span_ticks;
	if (!(SAME(from_tick) && SAME(span_ticks) && SAME(span)))
		return false;
	/* but what is mapped: the checkpoints made here have no ranges */
	for (size_t i = from; i <= a->span; i++)
		if (memcmp(&a->spans[i], &b->spans[i],
			   offsetof(struct ms_replay_span, mapped_last)))
			return false;
	return true;
}

static bool equal(const struct ms_recording *x, const struct ms_recording *y, bool report)
{
	const struct ms_replay *a = &x->replay, *b = &y->replay;
	bool same = SAME(events) && SAME(next_number) && SAME(last_tick) && SAME(position) &&
		    SAME(live_bytes) && SAME(live_blocks) && SAME(peak_bytes) &&
		    SAME(peak_blocks) && SAME(peak_tick) && SAME(allocations) && SAME(frees) &&
		    SAME(reallocations) && SAME(failed) && SAME(bytes) && SAME(temporary) &&
		    SAME(inferred_frees) && SAME(unknown_frees) && SAME(bad_events);
	return same && same_moment(a, b, report) && same_sites(a, b, report) &&
	       same_threads(a, b, report) && same_timeline(a, b, report) &&
	       ms_recording_length(x) == ms_recording_length(y) && x->marks.n == y->marks.n;
}

static void compare(const struct shape *shape, uint64_t tick, uint64_t stop, uint64_t *skipped)
{
	struct ms_recording *all = run_all(tick, stop), *part = run_part(tick, stop);
	CHECK(all && part, "seed %llu", (unsigned long long)shape->seed);
	if (all && part) {
		CHECK(equal(all, part, true), "seed %llu, moment %llu, stop %lld",
		      (unsigned long long)shape->seed, (unsigned long long)tick, (long long)stop);
		CHECK(ms_recording_complete(part), "seed %llu", (unsigned long long)shape->seed);
		*skipped += part->skipped;
	}
	ms_recording_close(all);
	ms_recording_close(part);
}

static void random_moments(void)
{
	uint64_t skipped = 0, compared = 0;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct shape shape = {.seed = seed,
				      .events = 8000,
				      .block = BLOCK,
				      .threads = seed % 2 ? 1 + (unsigned)seed % 7 : 60,
				      .usable = seed % 3 == 0,
				      .index = seed % 2,
				      .addresses = seed % 5 == 0,
				      .symbols = seed % 7 < 3};
		write_trace(&shape);
		struct stream r = {.seed = seed * 977};
		for (int i = 0; i < 6; i++) {
			uint64_t tick = stream_random(&r) % (written_ticks + 2);
			if (i == 1)
				tick = written_ticks;
			else if (i) /* right at a checkpoint, so that much rests on it */
				tick = checkpoint_ticks[(checkpoints - (unsigned)i) % 64];
			uint64_t stop = tick + stream_random(&r) % (written_ticks + 1);
			compare(&shape, tick, i % 2 ? MS_NEVER : stop, &skipped);
			compared++;
		}
	}
	printf("%llu moments compared, %llu of them from a checkpoint\n",
	       (unsigned long long)compared, (unsigned long long)skipped);
	CHECK(checkpoints > 100 && skipped > 100, "too few checkpoints to tell anything");
}

/* ---- bad files ---- */

static uint8_t *whole_file(size_t *n)
{
	static uint8_t data[1 << 16];
	ssize_t got = pread(file, data, sizeof data, 0);
	*n = got > 0 ? (size_t)got : 0;
	return data;
}

static void replace_file(const uint8_t *data, size_t n)
{
	CHECK(ftruncate(file, (off_t)n) == 0 && pwrite(file, data, n, 0) == (ssize_t)n,
	      "cannot write");
}

/* From the checkpoint it says the same as the good file, or that it is damaged, or it must be read
 * from the start; which says the same, or that it is damaged or cut. */
static unsigned judge(const struct ms_recording *good, uint64_t tick, const char *what, size_t at)
{
	struct ms_recording *part = run_part(tick, MS_NEVER), *all = run_all(tick, MS_NEVER);
	bool worked = part && ms_recording_complete(part);
	if (worked)
		CHECK(equal(good, part, false), "%s %zu, read in part", what, at);
	if (all && ms_recording_complete(all))
		CHECK(equal(good, all, false), "%s %zu, read from the start", what, at);
	ms_recording_close(part);
	ms_recording_close(all);
	return worked;
}

static void bad_files(bool index)
{
	struct shape shape = {.seed = 12, .events = 200, .block = 20, .threads = 3, .index = index};
	unsigned flips = 0, cuts = 0;
	size_t n;
	write_trace(&shape);
	uint8_t *data = whole_file(&n);
	uint64_t tick = written_ticks * 3 / 4;
	struct ms_recording *good = run_all(tick, MS_NEVER), *part = run_part(tick, MS_NEVER);
	CHECK(part && part->skipped && equal(good, part, true), "the good file");
	ms_recording_close(part);
	for (size_t i = 0; i < n; i += index ? 1 : 5) {
		data[i] ^= (uint8_t)(1 << i % 8);
		replace_file(data, n);
		flips += judge(good, tick, "flipped", i);
		data[i] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t i = 0; i < n; i += index ? 1 : 5) {
		replace_file(data, i);
		cuts += judge(good, tick, "cut", i);
	}
	printf("%zu bytes %s index: %u flips went unread, %u cuts\n", n, index ? "with" : "without",
	       flips, cuts);
	CHECK(cuts == 0, "a cut file read in part");
	CHECK(flips > 0 && flips < n, "flips");
	ms_recording_close(good);
}

/* ---- */

int main(void)
{
	file = memfd_create("moments", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	random_moments();
	bad_files(true);
	bad_files(false);
	return failures != 0;
}
