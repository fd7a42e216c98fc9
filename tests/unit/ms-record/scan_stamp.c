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
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "ms-record/drain/drain.c" /* it belongs to a tool, of which there is no library */

#include "format/trace.h"
#include "format/verdict.h"
#include "ms-record/heap/heap.h"
#include "ms-record/scan/scan_work.h"
#include "ms-record/session/session_options.h"
#include "ms-record/write/writer.h"

#define MOMENT 1000u /* of the request; stamps are since the start */

/* Names the program's blocks, and says where they point to, as the copy has it. */
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
	struct reader *r = &s->rings.readers[0];
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
	struct reader *r = *MS_PUSH(&s->rings.taken) = &s->rings.readers[0];
	r->ring = &s->rings.shared[0];
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
	s->rings.readers[0].items = ms_xcalloc(64, sizeof(struct item));
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

/* The records so far, a line each: those of scans and, of stacks of the program's blocks, how many
 * of each verdict, what they retain, and by what they are retained. */
static const char *records(const struct session *s, const struct work *w)
{
	static char text[2048], letter[64];
	struct ms_record_reader r = {s->queued.verdicts.data,
				     s->queued.verdicts.data + s->queued.verdicts.size};
	struct ms_record rec;
	struct ms_verdict_record v;
	size_t n = 0;
	for (uint32_t i = 0; i < w->graph.count; i++)
		letter[w->graph.v[i].stack % 64] = "hlbc"[i];
	text[0] = '\0';
	while (ms_record_next(&r, &rec) == MS_FMT_OK && ms_verdict_get(rec, &v)) {
		struct ms_verdict_root root = {0};
		if (v.is_scan) {
			n += (size_t)sprintf(text + n, "scan %lu %.*s state %lu\n",
					     (long)v.scan.scan, (int)v.scan.label_size,
					     v.scan.label, (long)v.scan.state);
			continue;
		}
		n += (size_t)sprintf(text + n, "%lu %c %lu %lu %lu retains %lu=%lu",
				     (long)v.site.scan, letter[v.site.stack % 64],
				     (long)v.site.blocks[MS_VERDICT_IS_DIRECT],
				     (long)v.site.blocks[MS_VERDICT_IS_INDIRECT],
				     (long)v.site.bytes[MS_VERDICT_IS_REACHABLE],
				     (long)v.site.retained_blocks, (long)v.site.retained_bytes);
		while (ms_verdict_next_root(&rec, &root))
			n += (size_t)sprintf(text + n, " by %c %lu=%lu", letter[root.stack % 64],
					     (long)root.blocks, (long)root.bytes);
		n += (size_t)sprintf(text + n, "\n");
	}
	return text;
}

static void check_text(const char *what, const char *got, const char *want)
{
	if (strcmp(got, want) == 0)
		return;
	printf("%s: '%s', not '%s'\n", what, got, want);
	failures++;
}

/* Checks what goes into the trace, and what is reported at the end: of the last scan. */
static void check_results(struct session *s, struct work *w)
{
	const struct scan_result *found = scan_result(s->scan);
	s->queued.verdicts.size = 0;
	scan_put_result(w);
	check_text("records", records(s, w),
		   "scan 1 request state 1\n"
		   "1 h 0 0 32 retains 0=0\n"
		   "1 l 1 0 0 retains 2=64\n"
		   "1 b 0 1 0 retains 0=0 by l 1=32\n"
		   "1 c 0 0 32 retains 0=0\n");
	check("unreachable blocks", found->unreachable_blocks, 2);
	check("unreachable bytes", found->unreachable_bytes, 64);
	check("no word of the end", found->state, 0);
	w->request.asker = SCAN_BY_END;
	w->graphed = false;
	w->state = MS_SCAN_LOST;
	w->released_ns = w->start_ns + 7;
	s->queued.verdicts.size = 0;
	scan_put_result(w);
	check_text("records", records(s, w), "scan 2 end state 6\n");
	check("unreachable blocks", found->unreachable_blocks, 0);
	check("unreachable bytes", found->unreachable_bytes, 0);
	check("how it went", found->state, MS_SCAN_LOST);
	check("held for", found->pause_ns, 7);
	check("the end was there", s->scan->ended, true);
	w->unjudged = true;
	w->released_ns++;
	s->queued.verdicts.size = 0;
	scan_put_result(w);
	check("nothing is judged", s->queued.verdicts.size, 0);
	check("held for", found->pause_ns, 8);
	check("how it went", found->state, MS_SCAN_LOST);
	s->queued.verdicts.size = 0;
}

/* ---- whom --tell asks ---- */

static void ask(struct session *s, const struct scanner *as, const char *resident, bool taken,
		const char *answer, const char *what)
{
	static const enum scan_asker askers[] = {SCAN_BY_TELL, SCAN_BY_TELL_RESIDENT};
	struct scanner sc = *as;
	uint64_t events = 0;
	*MS_PUSH(&sc.sessions) = s;
	sc.event = eventfd(0, EFD_NONBLOCK);
	s->name = "prog";
	check(what, scanner_ask(&sc, resident, false), taken);
	check(what, sc.queue.n, taken && !answer);
	if (sc.queue.n)
		check(what, sc.queue.v[0].asker, askers[resident != NULL]);
	check(what, sc.awaited, taken && !answer);
	check(what, read(sc.event, &events, sizeof events) > 0, taken && answer);
	if (taken && answer)
		check_text(what, scanner_answer(&sc), answer);
	check(what, scanner_answer(&sc) != NULL, false);
	s->scan->busy = 0;
	s->scan->moments = 0;
	s->name = NULL;
	close(sc.event);
	MS_FREE(sc.sessions.v, sc.queue.v);
}

static void check_asking(struct session *s)
{
	static const struct scan_options no = {.wish = SCAN_NO}, yes = {.wish = SCAN_YES};
	struct scanner sc = {.opt = &no, .started = true};
	struct scan *q = s->scan;
	pid_t pid = s->process.pid;
	s->process.pid = 42;
	ask(s, &sc, NULL, false, NULL, "leaks are not looked for");
	ask(s, &sc, "now", true, NULL, "what is resident all the same");
	sc.opt = &yes;
	ask(s, &sc, NULL, true, NULL, "leaks");
	sc.started = false;
	ask(s, &sc, NULL, false, NULL, "no threads");
	sc.started = true;
	q->busy = 1;
	ask(s, &sc, NULL, true,
	    "prog (pid 42): not scanned: the program ended before it could be scanned\n", "busy");
	q->moments = MS_RESIDENT_MOMENTS_MAX - 3;
	ask(s, &sc, "now", true, NULL, "the last moment");
	q->moments = MS_RESIDENT_MOMENTS_MAX - 2; /* and then there are a mark's and the end's */
	ask(s, &sc, "now", true,
	    "prog (pid 42): not scanned: its trace already has the maximum number of "
	    "resident-memory measurements\n",
	    "too many moments");
	q->moments = MS_RESIDENT_MOMENTS_MAX - 2;
	ask(s, &sc, NULL, true, NULL, "leaks are no such moments");
	sc.traced = 42;
	ask(s, &sc, NULL, true,
	    "prog (pid 42): not scanned: --leak-check=yes ptraces it: record with "
	    "--leak-check=auto\n",
	    "traced");
	sc.tree = true;
	ask(s, &sc, NULL, true,
	    "prog (pid 42): not scanned: ms-record traces it with ptrace until it ends; to have "
	    "it scanned, record it with ms-record -p\n",
	    "traced with all that it starts");
	sc.tree = false;
	sc.traced = 0;
	s->mem->end_state = MG_END_HELD;
	ask(s, &sc, NULL, true, "", "about to end");
	s->mem->end_state = MG_END_NONE;
	s->ending = SESSION_EXITED;
	ask(s, &sc, NULL, true, "", "over");
	s->ending = SESSION_RUNS;
	s->process.pid = pid;
}

/* ---- what is known of the moment ---- */

static void reach(struct session *s, const char *what, bool wide, uint64_t lost)
{
	struct scan *q = s->scan;
	live_ask(q, base + MOMENT);
	scan_reached(s, base + MOMENT - 1);
	check("another moment", q->request, REQUEST_ASKED);
	scan_reached(s, base + MOMENT);
	check(what, q->request, REQUEST_DONE);
	check(what, q->live.wide, wide);
	check(what, q->live.lost, lost);
	check(what, q->live.number, s->number);
	check(what, q->live.event, s->stats.events);
	check("its stacks come", live_await_stacks(s), true);
	MS_FREE(q->live.stacks.v);
	memset(&q->live.stacks, 0, sizeof q->live.stacks);
	q->request = REQUEST_NONE;
}

static void check_reached(struct session *s)
{
	struct session_options *opt = (struct session_options *)s->opt;
	struct mg_ring *ring = s->rings.readers[0].ring;
	uint64_t *const widens[] = {&s->stats.paused_allocations, &s->stats.started_late_ns,
				    &s->stats.unknown_frees};
	reach(s, "all are known", false, 0);
	for (size_t i = 0; i < 3; i++) {
		*widens[i] = 1;
		reach(s, "some are not", true, 0);
		*widens[i] = 0;
	}
	opt->attached = s->forked = true;
	reach(s, "both", true, 0);
	opt->attached = false;
	reach(s, "inherited ones are not", true, 0);
	opt->attached = !(s->forked = false);
	reach(s, "those from before are not", true, 0);
	opt->attached = false;
	s->mem->passed_early = 3;
	reach(s, "those that passed are not", true, 0);
	s->mem->passed_early = 0;
	ring->passed = 3;
	reach(s, "those that passed are not", true, 0);
	s->rings.readers[0].passed = 3; /* it is in the figures that were seen */
	s->stats.lost = 1;
	s->mem->no_ring_lost = 2;
	s->mem->reentry_lost = 4;
	ring->lost = 18;
	s->rings.readers[0].lost = 10;
	reach(s, "lost ones", false, 15);
	s->stats.lost = s->mem->no_ring_lost = s->mem->reentry_lost = ring->lost = 0;

	check("it is over", scan_over(s), false);
	live_ask(s->scan, base + MOMENT);
	s->scan->busy = 1;
	check("it is waited for", scan_over(s), true);
	check("in vain", s->scan->request, REQUEST_FAILED);
	s->scan->busy = 0;
	s->may_drop = true;
	live_ask(s->scan, base + MOMENT);
	scan_reached(s, base + MOMENT);
	check("nobody will read of it", s->scan->request, REQUEST_FAILED);
	s->may_drop = false;
}

/* No memory is read where that would prove nothing. */
static void judge_unread(struct session *s, const char *what, uint64_t refused, bool unjudged,
			 uint64_t lost, uint64_t state, uint64_t resident)
{
	struct wake wake = {0};
	struct scanner scanner = {.drain = &wake};
	struct work w = {.scanner = &scanner,
			 .s = s,
			 .q = s->scan,
			 .request = {.asker = SCAN_BY_TELL, .stamp = base + MOMENT},
			 .released_ns = clock_mono(),
			 .deadline_ns = clock_mono() + UINT64_C(60000000000),
			 .refused = refused,
			 .unjudged = unjudged,
			 .memory = MEMORY_CLOSED};
	s->stats.lost = lost;
	live_ask(s->scan, base + MOMENT);
	scan_reached(s, base + MOMENT);
	scan_judge(&w, 0);
	check(what, w.answered, true);
	check(what, w.state, state);
	check(what, w.resident.state, resident);
	check(what, w.graphed, false);
	check("blocks were live", s->scan->live.count, 3);
	s->stats.lost = 0;
	s->scan->request = REQUEST_NONE;
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
	struct drain_request later = {0};
	struct wake wake = {0};
	struct scanner scanner = {.drain = &wake};
	struct work w = {.scanner = &scanner,
			 .s = s,
			 .q = s->scan,
			 .request = {SCAN_BY_TELL, base + MOMENT, {.made = true, .own = copy()}},
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
	check_results(s, &w);
	check_asking(s);
	graph_free(&w.graph);
	judge_unread(s, "events were lost", 0, false, 1, MS_SCAN_LOST, MS_SCAN_LOST);
	judge_unread(s, "too long", MS_SCAN_TIME, false, 0, MS_SCAN_TIME, MS_SCAN_DONE);
	judge_unread(s, "nobody wants verdicts", 0, true, 0, MS_SCAN_DONE, MS_SCAN_DONE);
	check_reached(s);
	memory_close(&w.memory);
	writer_stop(&writer, never, NULL);
	recording_free(s);
	return failures != 0;
}
