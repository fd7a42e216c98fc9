/* SPDX-License-Identifier: MIT
 * A recorder and a guest that is played: its rings, records as the layout says, and the trace that
 * comes out. Included once by each program that tests the recorder so.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/base/cpu.h"
#include "ms-record/drain/drain.h"
#include "ms-record/drain/recording.h"
#include "ms-record/session/info.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/session.h"

#define EVENTS_MAX 400000
#define FRAMES_MAX 70000

static int failures;
static const char *test_name;

#define CHECK(what, got, want)                                                                     \
	do {                                                                                       \
		long long g_ = (long long)(got), w_ = (long long)(want);                           \
		if (g_ != w_) {                                                                    \
			printf("%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, test_name, \
			       what, g_, w_);                                                      \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

/* ---- the recorder ---- */

static struct session_options opt = {
	.depth = 512, .wait_ns = 1000000000, .buffer_bytes = 64u << 20};
static struct writer writer;
static struct drain drain;
static struct session *s;
static uint64_t used;
static uint64_t base; /* stamps count from here */

static void start(const char *name)
{
	struct ms_err err = {0};
	test_name = name;
	int fd = open("trace", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct output *out = output_new(fd, "trace");
	memset(&writer, 0, sizeof writer);
	if (fd < 0 || writer_start(&writer, -1) || drain_start(&drain, &writer, -1))
		exit(1);
	s = session_new(&opt, &writer, out, getpid(), &used, false, -1, &err);
	if (!s) {
		puts(err.text);
		exit(1);
	}
	recording_begin(s);
	info_names(s, NULL);
	info_write(s);
	base = clock_stamp(&s->clock);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static struct stats stats;
static bool damaged;

static void finish(void)
{
	__atomic_store_n(&s->ending, SESSION_EXITED, __ATOMIC_RELEASE);
	drain_stop(&drain);
	writer_stop(&writer, never, NULL);
	CHECK("finished", s->finished, 1);
	stats = s->stats;
	damaged = s->damaged;
	recording_free(s);
	CHECK("shared memory still counted", used, 0);
}

/* ---- the guest ---- */

struct ring {
	struct mg_ring *r;
	uint8_t *window;
	uint64_t offset;
};
static struct ring rings[4];

static uint64_t word0(unsigned kind, unsigned flags, unsigned count, unsigned keep)
{
	return kind | flags << 8 | (uint64_t)count << 16 | (uint64_t)keep << 32;
}

static void put(struct ring *g, const uint64_t *words, size_t n)
{
	if (g->offset + n * 8 + 8 > g->r->size_allowed) {
		*(uint64_t *)(void *)(g->window + g->offset) = word0(MG_WRAP, 0, 0, 0);
		__atomic_add_fetch(&g->r->head, 8, __ATOMIC_RELEASE);
		g->offset = 0;
	}
	memcpy(g->window + g->offset, words, n * 8);
	g->offset += n * 8;
	__atomic_add_fetch(&g->r->head, n * 8, __ATOMIC_RELEASE);
}

/* Takes a ring as the thread `tid`; what it writes is held back by `pending` until let_go. */
static struct ring *take(unsigned i, uint32_t tid)
{
	struct ring *g = &rings[i];
	g->r = &s->rings.shared[i];
	g->window = (uint8_t *)s->rings.readers[i].window;
	g->offset = 0;
	g->r->pending = base;
	g->r->tid = tid;
	__atomic_fetch_and(&s->mem->free_rings[0], ~(UINT64_C(1) << i), __ATOMIC_RELEASE);
	__atomic_store_n(&g->r->state, MG_RING_TAKEN, __ATOMIC_RELEASE);
	put(g, (uint64_t[]){word0(MG_THREAD, 0, 0, 0), base, tid, 0}, 4);
	return g;
}

static void let_go(struct ring *g)
{
	__atomic_store_n(&g->r->pending, 0, __ATOMIC_RELEASE);
}

static void alloc(struct ring *g, uint64_t at, uint64_t address, uint64_t size)
{
	put(g, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + at, address, size, 0x1000},
	    5);
}

#include "recorder_trace.h"

/* Runs the tests: main's status. */
static int run_tests(void (*const tests[])(void), size_t n)
{
	if (!cpu_counter_usable()) {
		puts("the processor's time stamps are not usable here");
		return 77;
	}
	for (size_t i = 0; i < n; i++)
		tests[i]();
	printf("%s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}
