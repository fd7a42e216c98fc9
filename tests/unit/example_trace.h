/* SPDX-License-Identifier: MIT
 * The small trace whose figures are worked out by hand: in tests/unit/snapshot/build.c, and in the
 * manual pages' examples.
 */
#pragma once

#include "made_trace.h"

#define TICKS(n) ((uint64_t)(n)*MS_TRACE_TICK_NS)

/* Modules: 1 the program, 2 libstdc++. Frames and nodes:
 *
 *   node 1 _start <- 2 main <- 3 work [inlined: helper] <- 4 operator new (libstdc++)
 *                           <- 5 other
 *   node 6: a pseudo frame "cut" on 1 <- 7 other
 *
 * Site A = node 4, site B = node 5, site C = node 7. */
static const struct ms_frame frames[] = {
	{0x1010, 1, 0}, {0x1020, 1, 0}, {0x1030, 1, 0},
	{0x9040, 2, 0}, {0x1050, 1, 0}, {0, 0, MS_FRAME_CUT},
};
static const struct ms_node nodes[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {2, 5}, {1, 6}, {6, 5}};

static inline void put_modules(struct made *m)
{
	made_records(m);
	ms_record_number(&m->records, MS_MODULE_ID, 1);
	ms_record_string(&m->records, MS_MODULE_PATH, "/bin/app");
	ms_record_bytes(&m->records, MS_MODULE_BUILD_ID, "\x01\xab\xcd", 3);
	ms_record_number(&m->records, MS_MODULE_START, 0x1000);
	ms_record_number(&m->records, MS_MODULE_END, 0x2000);
	made_next_record(m);
	ms_record_number(&m->records, MS_MODULE_ID, 2);
	ms_record_string(&m->records, MS_MODULE_PATH, "/usr/lib/libstdc++.so.6");
	made_next_record(m);
	ms_record_number(&m->records, MS_MODULE_ID, 2); /* amended */
	ms_record_number(&m->records, MS_MODULE_UNLOADED, TICKS(15));
	made_write(m, MS_BLOCK_MODULES);
}

static inline void put_symbols(struct made *m)
{
	static const char *const strings[] = {
		"_start", "main",   "work",    "helper", "operator new(unsigned long)",
		"other",  "app.cc", "helper.h"};
	static const unsigned chains[][5] = {
		{1, 1, 0, 0, 0}, {2, 2, 7, 10, 0}, {4, 5, 0, 0, 0}, {5, 6, 7, 30, 0}};
	made_records(m);
	for (unsigned i = 0; i < 8; i++) {
		ms_record_string(&m->records, MS_SYM_STRING, strings[i]);
		made_next_record(m);
	}
	for (unsigned i = 0; i < 4; i++) {
		ms_record_number(&m->records, MS_SYM_FRAME, chains[i][0]);
		ms_record_number(&m->records, MS_SYM_FUNCTION, chains[i][1]);
		ms_record_number(&m->records, MS_SYM_FILE, chains[i][2]);
		ms_record_number(&m->records, MS_SYM_LINE, chains[i][3]);
		made_next_record(m);
	}
	ms_record_number(&m->records, MS_SYM_FRAME, 3); /* helper inlined into work */
	ms_record_number(&m->records, MS_SYM_FUNCTION, 4);
	ms_record_number(&m->records, MS_SYM_FILE, 8);
	ms_record_number(&m->records, MS_SYM_LINE, 3);
	ms_record_number(&m->records, MS_SYM_FUNCTION, 3);
	ms_record_number(&m->records, MS_SYM_FILE, 7);
	ms_record_number(&m->records, MS_SYM_LINE, 20);
	made_next_record(m);
	ms_record_number(&m->records, MS_SYM_MODULE, 1);
	ms_record_number(&m->records, MS_SYM_STATE, MS_SYMBOLS_DWARF);
	made_write(m, MS_BLOCK_SYMBOLS);
}

static inline void put_rest(struct made *m)
{
	made_records(m);
	ms_record_number(&m->records, MS_THREAD_INDEX, 0);
	ms_record_number(&m->records, MS_THREAD_TID, 77);
	ms_record_string(&m->records, MS_THREAD_NAME, "app");
	made_next_record(m);
	ms_record_number(&m->records, MS_THREAD_INDEX, 1);
	ms_record_number(&m->records, MS_THREAD_TID, 78);
	ms_record_string(&m->records, MS_THREAD_NAME, "io-\xff");
	made_write(m, MS_BLOCK_THREADS);
	made_records(m);
	ms_record_number(&m->records, MS_SAMPLE_TIME, TICKS(4));
	ms_record_number(&m->records, MS_SAMPLE_RSS, 4096);
	made_next_record(m);
	ms_record_number(&m->records, MS_SAMPLE_TIME, TICKS(19));
	ms_record_number(&m->records, MS_SAMPLE_RSS, 8192);
	ms_record_number(&m->records, MS_SAMPLE_PSS, 8000);
	made_write(m, MS_BLOCK_SAMPLES);
	made_records(m);
	for (unsigned i = 0; i < 3; i++) {
		if (i)
			made_next_record(m);
		ms_record_string(&m->records, MS_MARK_NAME, i == 1 ? "reload" : "warm");
		ms_record_number(&m->records, MS_MARK_TIME, TICKS(2 + 4 * i));
		ms_record_number(&m->records, MS_MARK_EVENT, 2 + 2 * i);
	}
	made_write(m, MS_BLOCK_MARKS);
}

/* Thread 1 lost two events. */
static inline void put_loss(struct made *m)
{
	made_records(m);
	ms_record_number(&m->records, MS_THREAD_INDEX, 1);
	ms_record_number(&m->records, MS_THREAD_EVENTS_LOST, 2);
	made_write(m, MS_BLOCK_THREADS);
	made_records(m);
	ms_record_number(&m->records, MS_LOSS_FROM, 5);
	ms_record_number(&m->records, MS_LOSS_TO, 9);
	ms_record_number(&m->records, MS_LOSS_COUNT, 2);
	ms_record_number(&m->records, MS_LOSS_REASON, MS_LOST_OVERFLOW);
	ms_record_number(&m->records, MS_LOSS_THREAD, 2);
	made_write(m, MS_BLOCK_LOSSES);
}

/* live after each event, by site A/B/C:  A100 | A100 B50 | A100 B50 C7 | A100 B50 C7 (failed) |
 * A100 C7 | B300 C7 (realloc A->B) | B300 */
static inline void put_events(struct made *m)
{
	struct ms_event events[] = {
		{.kind = MS_EV_ALLOC, .size = 100, .stack = 4, .time_ticks = 1},
		{.kind = MS_EV_ALLOC, .size = 50, .stack = 5, .time_ticks = 2},
		{.kind = MS_EV_ALLOC, .size = 7, .stack = 7, .time_ticks = 3, .thread = 1},
		{.kind = MS_EV_FAILED, .size = 1 << 30, .stack = 4, .time_ticks = 4},
		{.kind = MS_EV_FREE, .freed = 1, .time_ticks = 5},
		{.kind = MS_EV_REALLOC, .freed = 0, .size = 300, .stack = 5, .time_ticks = 6},
		{.kind = MS_EV_FREE, .freed = 2, .time_ticks = 12, .thread = 1},
	};
	made_events(m, events, 4);
	made_events(m, events + 4, 3);
}

static inline void make_example(const char *path, bool lossy)
{
	struct made m;
	made_open(&m, path);
	made_info(&m, 77, 1000);
	put_modules(&m);
	made_stacks(&m, frames, 3, nodes, 3);
	made_stacks(&m, frames + 3, 3, nodes + 3, 4);
	put_events(&m);
	put_rest(&m);
	if (lossy)
		put_loss(&m);
	made_end(&m, TICKS(20), NULL);
	put_symbols(&m);
	made_end(&m, TICKS(20), NULL);
	made_close(&m);
}
