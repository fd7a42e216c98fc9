/* SPDX-License-Identifier: MIT
 * A leak scan is of the moment for which it was asked, however far behind it the merge is: blocks
 * that came later are not judged, those that went later are. The test is the draining thread; the
 * frozen copy is a child of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ms-record/drain/drain.c" /* it belongs to a tool, of which there is no library */

#include "format/trace.h"
#include "format/verdict.h"
#include "ms-record/heap/heap.h"
#include "ms-record/scan/scan_work.h"
#include "ms-record/session/session_options.h"
#include "ms-record/write/writer.h"

#define MOMENT 1000u /* of the request; stamps are since the start */

/* What the program's blocks hold, as the copy has it. */
enum { HELD, LOST, BELOW_LOST, BELOW_HELD, FREED, LATER, BLOCKS };
static void *block[BLOCKS][4] = {[HELD] = {block[BELOW_HELD]}, [LOST] = {block[BELOW_LOST]}};
static void *volatile pointer = block[HELD];

static unsigned failures;
static uint64_t base;

static void check(const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	printf("%s: %llu, not %llu\n", what, (unsigned long long)got, (unsigned long long)want);
	failures++;
}

static void put(struct session *s, enum item_kind kind, uint64_t at, unsigned which)
{
	struct reader *r = &s->readers[0];
	struct ms_frame f = {.address = 0x1000 + which};
	r->items[r->count++] = (struct item){.key = (base + at) << 1 | (kind == ITEM_ALLOC),
					     .address = (uintptr_t)block[which],
					     .size = sizeof block[which],
					     .stack = stacks_node(&s->stacks, 0, &f),
					     .kind = (uint8_t)kind};
}

static struct session *begin(struct writer *w)
{
	static struct session_options opt = {.depth = 512, .buffer_bytes = 64u << 20};
	static uint64_t used;
	struct ms_err err = {0};
	struct output *out = output_new(open("/dev/null", O_WRONLY | O_CLOEXEC), "/dev/null");
	struct session *s = session_new(&opt, w, out, getpid(), &used, false, -1, &err);
	if (!s || writer_start(w, -1)) {
		puts(err.text);
		exit(1);
	}
	strcpy(s->mem->allocator, "glibc 2.36");
	recording_begin(s);
	base = clock_stamp(&s->clock);
	struct reader *r = *MS_PUSH(&s->taken) = &s->readers[0];
	r->ring = &s->mem_rings[0];
	r->thread = threads_add(s, (uint32_t)getpid(), base);
	return s;
}

static pid_t copy(void)
{
	pid_t child = fork();
	for (; child == 0;)
		pause();
	return child;
}

static void *judge(void *arg)
{
	struct work *w = arg;
	scan_judge(w, 0);
	return NULL;
}

static void feed(struct session *s)
{
	s->readers[0].items = ms_xcalloc(64, sizeof(struct item));
	put(s, ITEM_ALLOC, 100, HELD);
	put(s, ITEM_ALLOC, 200, LOST);
	put(s, ITEM_ALLOC, 300, FREED);
	put(s, ITEM_ALLOC, 400, BELOW_LOST);
	put(s, ITEM_FREE, 500, FREED);
	put(s, ITEM_ALLOC, 600, BELOW_HELD);
	put(s, ITEM_FREE, 1100, LOST);
	put(s, ITEM_FREE, 1200, BELOW_HELD);
	put(s, ITEM_ALLOC, 1300, LATER);
}

static void check_verdicts(const struct work *w)
{
	static const struct {
		unsigned which;
		enum ms_verdict verdict;
	} want[] = {{HELD, MS_VERDICT_IS_REACHABLE},
		    {LOST, MS_VERDICT_IS_DIRECT},
		    {BELOW_LOST, MS_VERDICT_IS_INDIRECT},
		    {BELOW_HELD, MS_VERDICT_IS_REACHABLE}};
	check("the table came to the stamp", w->answered, true);
	check("how it went", w->state, MS_SCAN_DONE);
	check("blocks judged", w->graph.count, 4);
	for (size_t i = 0; i < 4 && i < w->graph.count; i++) { /* by address */
		check("block", w->graph.v[i].address, (uintptr_t)block[want[i].which]);
		check("its verdict", w->graph.v[i].verdict, want[i].verdict);
	}
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

int main(void)
{
	static struct writer writer;
	struct session *s = begin(&writer);
	struct drain_request later = {.kind = DRAIN_FLUSH};
	struct wake wake = {0};
	struct scanner scanner = {.drain = &wake};
	struct work w = {.scanner = &scanner,
			 .s = s,
			 .q = s->scan,
			 .request = {SCAN_BY_TELL, base + MOMENT, {.own = copy()}},
			 .start_ns = clock_mono(),
			 .released_ns = clock_mono(),
			 .deadline_ns = clock_mono() + UINT64_C(60000000000),
			 .memory = MEMORY_CLOSED};
	pthread_t thread;
	live_ask(s->scan, base + MOMENT);
	pthread_create(&thread, NULL, judge, &w);
	feed(s);
	merge_to(s, base + MOMENT - 1);
	check("blocks before the moment", s->heap->live.count, 4);
	usleep(20000);
	check("still asked for", scan_stamp(s), base + MOMENT);
	/* Somebody else wants to see a moment behind it, which comes by in the same round. */
	s->drained->request = &later;
	s->drained->request_stamp = base + 1250;
	merge_to(s, base + 2000);
	check("blocks at last", s->heap->live.count, 3);
	check("asked for no more", scan_stamp(s), UINT64_MAX);
	pthread_join(thread, NULL);
	check_verdicts(&w);
	graph_free(&w.graph);
	memory_close(&w.memory);
	writer_stop(&writer, never, NULL);
	recording_free(s);
	return failures != 0;
}
