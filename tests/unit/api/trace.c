/* SPDX-License-Identifier: MIT
 * libmemscope's events of a trace made by hand, each with all that is known of it.
 */
#include "libcommon/api/memscope-read.h"

#include "format/address.h"
#include "tests/unit/check.h"
#include "tests/unit/example_trace.h"

#define NONE MEMSCOPE_UNKNOWN
#define LAST ((uint64_t)INT64_MAX / MS_TRACE_TICK_NS)

/* Writes events in one block like made_events, and with addresses. */
static void put(struct made *m, struct ms_event *ev, size_t n)
{
	static _Alignas(8) uint8_t memory[MS_ADDRESS_MEMORY(32)];
	static struct ms_address_encoder addresses;
	struct ms_column c[MS_EVENT_COLUMNS + 1];
	ms_address_encoder_init(&addresses, memory, 32);
	ms_address_encoder_begin(&addresses, m->number);
	ms_event_encoder_init(&m->events, m->event_memory, MADE_EVENTS);
	ms_event_encoder_begin(&m->events, m->number, m->event, ev[0].time_ticks);
	for (size_t i = 0; i < n; i++)
		CHECK(ms_event_put(&m->events, &ev[i]) == MS_FMT_OK, "event %zu", i);
	ms_address_put_many(&addresses, ev, n);
	m->number = ms_event_next_number(&m->events);
	m->event += n;
	size_t columns = ms_event_encoder_finish(&m->events, c);
	c[columns] = ms_address_encoder_finish(&addresses);
	made_block(m, MS_BLOCK_EVENTS, c, columns + 1);
}

/* The last one is of no time that there is. */
static struct ms_event first[] = {
	{.kind = MS_EV_ALLOC, .size = 100, .stack = 4, .time_ticks = 1, .address = 0x1010},
	{.kind = MS_EV_ALLOC, .size = 50, .stack = 5, .time_ticks = 2, .thread = 1},
	{.kind = MS_EV_REALLOC,
	 .freed = 0,
	 .size = 300,
	 .stack = 5,
	 .time_ticks = 3,
	 .address = 0x2010},
	{.kind = MS_EV_FAILED, .size = UINT64_MAX - 9, .stack = 4, .time_ticks = 4},
	{.kind = MS_EV_FREE, .freed = 1, .time_ticks = 5},
	{.kind = MS_EV_FREE, .freed = 1, .time_ticks = 5},
	{.kind = MS_EV_FREE_UNKNOWN, .address = 0x3010, .time_ticks = 6},
	{.kind = MS_EV_EXT, .ext = MS_EXT_INHERITED, .size = 9, .time_ticks = 6},
	{.kind = MS_EV_EXT,
	 .ext = MS_EXT_MAP,
	 .address = 0x10000,
	 .size = 8192,
	 .stack = 5,
	 .time_ticks = 7},
	{.kind = MS_EV_EXT, .ext = MS_EXT_UNMAP, .address = 0x10000, .size = 4096, .time_ticks = 8},
	{.kind = MS_EV_REALLOC_UNKNOWN, .size = 70, .stack = 4, .time_ticks = 9, .address = 0x4010},
	{.kind = MS_EV_FREE_INFERRED, .freed = 2, .time_ticks = LAST},
	{.kind = MS_EV_ALLOC, .size = 1, .stack = 4, .time_ticks = LAST + 1},
};
#define FIRST (sizeof first / sizeof *first)

static const struct memscope_event want[] = {
	{MEMSCOPE_ALLOC, 100000, 0, 4, 0, 100, 0x1010, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_ALLOC, 200000, 1, 5, 1, 50, NONE, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_REALLOC, 300000, 0, 5, 2, 300, 0x2010, 0, 100, 0x1010, 4, 0},
	{MEMSCOPE_FAILED, 400000, 0, 4, NONE, UINT64_MAX - 9, NONE, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_FREE, 500000, 0, 0, NONE, NONE, NONE, 1, 50, NONE, 5, 0},
	{MEMSCOPE_FREE, 500000, 0, 0, NONE, NONE, NONE, 1, NONE, NONE, 0, 0},
	{MEMSCOPE_FREE_UNKNOWN, 600000, 0, 0, NONE, NONE, 0x3010, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_MAP, 700000, 0, 5, NONE, 8192, 0x10000, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_UNMAP, 800000, 0, 0, NONE, 4096, 0x10000, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_ALLOC, 900000, 0, 4, 3, 70, 0x4010, NONE, NONE, NONE, 0, 0},
	{MEMSCOPE_FREE, LAST *MS_TRACE_TICK_NS, 0, 0, NONE, NONE, NONE, 2, 300, 0x2010, 5, 1},
};
#define WANT (sizeof want / sizeof *want)

static void make(const char *path, size_t n)
{
	struct made m;
	made_open(&m, path);
	made_info(&m, 77, 1000);
	put_modules(&m);
	made_stacks(&m, frames, 6, nodes, 7);
	put(&m, first, n);
	put_symbols(&m);
	put_rest(&m);
	made_end(&m, TICKS(20), NULL);
	made_close(&m);
}

static bool same(const struct memscope_event *a, const struct memscope_event *b)
{
	return a->kind == b->kind && a->time_ns == b->time_ns && a->thread == b->thread &&
	       a->stack == b->stack && a->number == b->number && a->size == b->size &&
	       a->address == b->address && a->old_number == b->old_number &&
	       a->old_size == b->old_size && a->old_address == b->old_address &&
	       a->old_stack == b->old_stack && a->inferred == b->inferred;
}

static void check_events(struct memscope_trace *t, const char *state)
{
	char error[MEMSCOPE_ERROR] = "";
	struct memscope_event ev;
	struct memscope_trace_info info;
	for (size_t i = 0; i < WANT; i++)
		CHECK(memscope_trace_next(t, &ev, error) == 1 && same(&ev, &want[i]),
		      "event %zu, %s: kind %d of %lu", i, error, ev.kind, (long)ev.size);
	memscope_trace_info(t, &info);
	CHECK(!info.state, "at the end already");
	CHECK(memscope_trace_next(t, &ev, error) == 0, "%s: kind %d", error, ev.kind);
	memscope_trace_info(t, &info);
	CHECK(info.pid == 77 && info.duration_ns == TICKS(20) && info.exit_status == 0 &&
		      info.exit_signal == NONE && !strcmp(info.state, state),
	      "%s", info.state);
}

/* Innermost first, what is inlined too; a note that callers are missing is no frame. */
static void check_stacks(struct memscope_trace *t)
{
	static const char *const at_4[] = {"operator new(unsigned long)", "helper", "work", "main",
					   "_start"};
	struct memscope_frame f[5];
	CHECK(memscope_trace_stack(t, 4, f, 5) == 5, "stack 4");
	for (size_t i = 0; i < 5; i++)
		CHECK(f[i].function && !strcmp(f[i].function, at_4[i]) && f[i].is_address &&
			      f[i].inlined == (i == 1),
		      "frame %zu: %s", i, f[i].function);
	CHECK(f[1].line == 3 && !strcmp(f[1].file, "helper.h") && f[2].line == 20, "%u, %u",
	      f[1].line, f[2].line);
	CHECK(f[0].address == 0x9040 && f[0].offset == 0x9040 &&
		      !strcmp(f[0].module, "/usr/lib/libstdc++.so.6"),
	      "%s", f[0].module);
	f[1] = (struct memscope_frame){.line = 99};
	CHECK(memscope_trace_stack(t, 4, f, 1) == 5 && f[1].line == 99, "room for one");
	CHECK(memscope_trace_stack(t, 7, f, 5) == 3, "stack 7");
	CHECK(!f[1].is_address && !f[1].function && f[1].offset == NONE, "cut");
	CHECK(memscope_trace_stack(t, 0, f, 5) == 0 && memscope_trace_stack(t, 8, f, 5) == 0,
	      "no stack");
}

static void check_rest(struct memscope_trace *t)
{
	struct memscope_sample s;
	uint64_t ns;
	const char *name;
	CHECK(memscope_trace_sample(t, 1, &s) == 1 && s.time_ns == TICKS(19) &&
		      s.rss_bytes == 8192 && s.pss_bytes == 8000 && s.swap_bytes == NONE,
	      "sample: %lu", (long)s.rss_bytes);
	CHECK(memscope_trace_sample(t, 2, &s) == 0, "samples");
	CHECK(memscope_trace_mark(t, 1, &ns, &name) == 1 && ns == TICKS(6) &&
		      !strcmp(name, "reload"),
	      "%s", name);
	CHECK(memscope_trace_mark(t, 3, &ns, &name) == 0, "marks");
}

int main(void)
{
	char error[MEMSCOPE_ERROR] = "";
	for (size_t late = 0; late < 2; late++) {
		make("a.trace", FIRST - !late);
		struct memscope_trace *t = memscope_trace_open("a.trace", error);
		CHECK(t, "%s", error);
		check_events(t, late ? "damaged" : "complete");
		check_stacks(t);
		check_rest(t);
		memscope_trace_close(t);
	}
	CHECK(!memscope_trace_open("none.trace", error) && strstr(error, "'none.trace'"), "%s",
	      error);
	return failures != 0;
}
