/* SPDX-License-Identifier: MIT
 * A request of a scan through every state that it can be in, what is copied of the table when it is
 * reached, and how long it is waited for. Time passes only while somebody sleeps.
 */
#include "ms-record/scan/scan_live.c" /* it belongs to a tool, of which there is no library */

#include <string.h>

#include "tests/unit/held.h"
#include "tests/unit/is.h"

#define NAP_NS UINT64_C(100000)
#define STAMP 55u

static struct session session;
static struct session_options opt;
static struct mg_session mem;
static struct mg_ring rings[2];
static struct reader readers[2];
static struct heap heap;
static struct output out;
static struct batch batch;
static struct wake drain;
static struct scan scan;
static uint64_t clock_at, naps, woken;
static bool trivial;
static unsigned flushed;
/* After so many naps there is this. */
static struct {
	uint64_t after;
	int request, known, failed;
} then;
static const struct number_stack stacks[] = {{4, 40}, {5, 50}, {7, 70}};
static size_t stack_count; /* 0 = there never was anything */

/* ---- the rest of the recorder ---- */

uint64_t clock_mono(void)
{
	return clock_at;
}

uint64_t clock_stamp(const struct clock *c)
{
	return c == &session.clock ? 8 : 0;
}

uint64_t clock_ns(const struct clock *c, uint64_t stamp)
{
	return c == &session.clock ? stamp * 2 : 0;
}

int usleep(useconds_t us)
{
	clock_at += us * UINT64_C(1000);
	if (++naps == then.after) {
		scan.request = then.request;
		scan.live.stacks_known = then.known;
		out.failed = then.failed;
	}
	return 0;
}

void wake_up(struct wake *w)
{
	woken += w == &drain;
}

bool session_trivial(const struct session *s)
{
	return s == &session && trivial;
}

struct batch *session_batch(struct session *s)
{
	return s == &session ? &batch : NULL;
}

void live_list_stacks(struct live_list *l, void (*f)(void *arg, uint64_t number, uint32_t stack),
		      void *arg)
{
	for (size_t i = 0; i < stack_count && l == (struct live_list *)&flushed; i++)
		f(arg, stacks[i].number, stacks[i].stack);
}

/* The writing thread may be at it as soon as it has the batch. */
void session_flush(struct session *s)
{
	CHECK(s->scan->request == REQUEST_TAKEN, "request %d", s->scan->request);
	flushed++;
	if (batch.on_live)
		batch.on_live(batch.on_live_arg, stack_count ? (struct live_list *)&flushed : NULL);
}

void live_each(const struct live_table *l, void (*f)(void *arg, const struct live_block *),
	       void *arg)
{
	static const struct live_block blocks[] = {
		{.address = 16, .number = 4, .size = 3},
		{.address = LIVE_USER | 32, .number = 5, .size = 6},
		{.address = INT64_MAX, .number = 7, .size = 0}};
	for (size_t i = 0; i < l->count; i++)
		f(arg, &blocks[i]);
}

static unsigned copies; /* of modules and threads */
void scan_keep_copy(const struct session *s, struct kept_image *image)
{
	copies += s == &session && image == &scan.live.image;
}

void scan_keep_look(struct session *s)
{
	(void)s;
}

void ignored_copy(struct ignored *to, const struct ignored *from)
{
	to->n = from->n;
}

/* ---- the state of things ---- */

static void begin(void)
{
	MS_FREE(session.rings.taken.v, scan.live.stacks.v, scan.live.blocks);
	opt = (struct session_options){.attached = false};
	mem = (struct mg_session){.sequence = 9};
	heap = (struct heap){.live.count = 3, .ignored.n = 4};
	memset(rings, 0, sizeof rings);
	memset(readers, 0, sizeof readers);
	memset(&then, 0, sizeof then);
	memset(&out, 0, sizeof out);
	memset(&batch, 0, sizeof batch);
	session = (struct session){
		.opt = &opt, .mem = &mem, .heap = &heap, .out = &out, .scan = &scan, .number = 11};
	session.stats.events = 12;
	for (size_t i = 0; i < 2; i++) {
		readers[i].ring = &rings[i];
		*MS_PUSH(&session.rings.taken) = &readers[i];
	}
	scan = (struct scan){.stamp = STAMP};
	clock_at = 1000;
	naps = woken = flushed = 0;
	trivial = false;
	stack_count = 3;
}

/* ---- asking, and waiting ---- */

static void check_ask(void)
{
	begin();
	is("by the processor", live_stamp(&session), 8);
	mem.blind = 1;
	is("by its counter", live_stamp(&session), 9);
	scan.live.stacks_known = 1;
	live_ask(&scan, 77);
	is("asked", (uint64_t)scan.request, REQUEST_ASKED);
	is("its stamp", scan.stamp, 77);
	is("stacks are not known", (uint64_t)scan.live.stacks_known, 0);
	for (int state = REQUEST_NONE; state <= REQUEST_FAILED; state++) {
		scan.request = state;
		is("a stamp", scan_stamp(&session), state == REQUEST_ASKED ? 77 : UINT64_MAX);
	}
}

static void check_await(void)
{
	static const struct {
		const char *what;
		int from, to; /* after five naps */
		uint64_t deadline, naps;
		bool done;
	} cases[] = {
		{"it comes", REQUEST_ASKED, REQUEST_DONE, UINT64_MAX, 5, true},
		{"it does not come", REQUEST_ASKED, REQUEST_FAILED, UINT64_MAX, 5, false},
		{"at the last moment", REQUEST_ASKED, REQUEST_DONE, 4, 5, true},
		{"too late", REQUEST_ASKED, REQUEST_DONE, 3, 4, false},
		{"late, but under way", REQUEST_TAKEN, REQUEST_DONE, 1, 5, true},
		{"in vain", REQUEST_TAKEN, REQUEST_FAILED, 1, 5, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		scan.request = cases[i].from;
		then.after = 5;
		then.request = cases[i].to;
		uint64_t until = cases[i].deadline;
		until = until == UINT64_MAX ? until : clock_at + until * NAP_NS;
		is(cases[i].what, live_await(&scan, &drain, until, NULL), cases[i].done);
		is(cases[i].what, naps, cases[i].naps);
		begin();
		scan.request = cases[i].from;
		then.after = 5;
		then.request = cases[i].to;
		until = cases[i].deadline;
		until = until == UINT64_MAX ? until : clock_at + until * NAP_NS;
		is("hurried", live_await(&scan, &drain, UINT64_MAX, &until), cases[i].done);
		is("hurried", naps, cases[i].naps);
		is("woken each time", woken, naps);
		is("so it is left", (uint64_t)scan.request,
		   cases[i].done ? REQUEST_DONE : REQUEST_FAILED);
	}
}

static void check_await_stacks(void)
{
	static const uint64_t most = UINT64_C(5000000000) / NAP_NS;
	static const struct {
		uint64_t after;
		int known, failed;
		uint64_t naps;
		bool come;
	} cases[] = {{7, 1, 0, 7, true},
		     {7, 0, 1, 7, false},
		     {most + 1, 1, 0, most + 1, true},
		     {most + 2, 1, 0, most + 1, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		then.after = cases[i].after;
		then.known = cases[i].known;
		then.failed = cases[i].failed;
		is("stacks", live_await_stacks(&session), cases[i].come);
		is("waited", naps, cases[i].naps);
	}
	begin();
	scan.live.stacks_known = 1;
	out.failed = 1;
	is("known already", live_await_stacks(&session), true);
	is("at once", naps, 0);
}

/* ---- reached ---- */

static void reach_case(int state, unsigned how)
{
	begin();
	scan.request = state;
	session.may_drop = how & 1;
	session.kept_for_sure = how & 2;
	trivial = how & 4;
	bool there = how & 8, nobody = (how & 7) == 5;
	bool taken = state == REQUEST_ASKED && there;
	scan_reached(&session, there ? STAMP : STAMP + 1);
	is("state", (uint64_t)scan.request,
	   !taken   ? (uint64_t)state
	   : nobody ? REQUEST_FAILED
		    : REQUEST_DONE);
	taken &= !nobody;
	is("handed over", flushed, taken);
	is("blocks", scan.live.count, taken ? 3 : 0);
	is("events", scan.live.event, taken ? 12 : 0);
	is("number", scan.live.number, taken ? 11 : 0);
	is("ignored", scan.live.ignored.n, taken ? 4 : 0);
	is("time", scan.live.time_ns, taken ? STAMP * 2 : 0);
	is("stacks", scan.live.stacks.n, taken ? 3 : 0);
	is("known", (uint64_t)scan.live.stacks_known, taken);
}

static void check_reach(void)
{
	for (int state = REQUEST_NONE; state <= REQUEST_FAILED; state++)
		for (unsigned how = 0; how < 16; how++)
			reach_case(state, how);
}

static void check_copy(void)
{
	static const struct graph_block want[] = {
		{.address = 16, .number = 4, .size = 3},
		{.address = 32, .number = 5, .size = 6, .user = true},
		{.address = INT64_MAX, .number = 7, .size = 0}};
	begin();
	for (int again = 0; again < 3; again++) { /* what was there before is no more */
		stack_count = again == 2 ? 0 : 3;
		live_ask(&scan, STAMP);
		scan_reached(&session, STAMP);
		is("blocks", scan.live.count, 3);
		is("stacks", scan.live.stacks.n, stack_count);
		is("known", (uint64_t)scan.live.stacks_known, 1);
	}
	for (size_t i = 0; i < 3; i++) {
		const struct graph_block *b = &scan.live.blocks[i];
		is("address", b->address, want[i].address);
		is("size", b->size, want[i].size);
		is("number", b->number, want[i].number);
		is("of ms_alloc", b->user, want[i].user);
		is("its stack is not known", b->stack, 0);
	}
	live_ask(&scan, STAMP);
	stack_count = 3;
	scan_reached(&session, STAMP);
	for (size_t i = 0; i < 3; i++) {
		is("a stack's number", scan.live.stacks.v[i].number, stacks[i].number);
		is("a stack", scan.live.stacks.v[i].stack, stacks[i].stack);
	}
	is("modules and threads are not wanted", copies, 0);
	live_ask(&scan, STAMP);
	scan.live.image.wanted = true;
	scan_reached(&session, STAMP);
	is("modules and threads", copies, 1);
}

/* Each reason for which blocks may be missing, alone. */
static void check_wide(void)
{
	for (unsigned why = 0; why < 11; why++) {
		begin();
		opt.attached = why == 1;
		session.forked = why == 2;
		mem.passed_early = why == 3;
		rings[0].passed = why == 4;
		rings[1].passed = why == 5 || why == 9 ? 3 : 0;
		readers[1].passed = why == 9 ? 3 : 0; /* that is known of */
		session.stats.paused_allocations = why == 6;
		session.stats.started_late_ns = why == 7;
		session.stats.unknown_frees = why == 8;
		live_ask(&scan, STAMP);
		scan_reached(&session, STAMP);
		is("wide", scan.live.wide, why >= 1 && why <= 8);
		is("none is lost", scan.live.lost, 0);
	}
	begin();
	mem.passed_early = rings[0].passed = 3;
	live_ask(&scan, STAMP);
	scan_reached(&session, STAMP);
	is("both", scan.live.wide, true);
	begin();
	session.stats.lost = 1;
	mem.no_ring_lost = 2;
	mem.reentry_lost = 4;
	rings[0].lost = 8;
	rings[1].lost = 116;
	readers[1].lost = 100;
	live_ask(&scan, STAMP);
	scan_reached(&session, STAMP);
	is("lost", scan.live.lost, 31);
	is("that is another thing", scan.live.wide, false);
}

/* ---- the session is over ---- */

static void check_over(void)
{
	for (int state = REQUEST_NONE; state <= REQUEST_FAILED; state++)
		for (int busy = 0; busy < 2; busy++) {
			begin();
			scan.request = state;
			scan.busy = busy;
			is("waited for", scan_over(&session), busy);
			is("given up", (uint64_t)scan.request,
			   (uint64_t)(state == REQUEST_ASKED ? REQUEST_FAILED : state));
		}
}

static void check_new(void)
{
	long before = held_blocks;
	struct scan *q = scan_new();
	is("empty", q->request || q->live.blocks || q->scans, false);
	q->live.blocks = ms_xcalloc(1, sizeof *q->live.blocks);
	q->live.stacks.v = ms_xcalloc(1, sizeof *q->live.stacks.v);
	scan_free(q);
	scan_free(NULL);
	is("all of it is given back", (uint64_t)held_blocks, (uint64_t)before);
}

int main(void)
{
	check_new();
	check_ask();
	check_await();
	check_await_stacks();
	check_reach();
	check_copy();
	check_wide();
	check_over();
	begin();
	free(session.rings.taken.v);
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
