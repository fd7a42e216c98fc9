/* SPDX-License-Identifier: MIT
 * The recorder around a scan that is tested: what it is asked for is noted, in order, and it answers as
 * the test wishes.
 */
#pragma once

#include "ms-record/scan/scan.c" /* it belongs to a tool, of which there is no library */

#include "tests/unit/held.h"
#define NOTED_BETWEEN " "
#include "noted.h"

#define MS UINT64_C(1000000)
#define NOW (1000 * MS)
#define THREADS 2 /* of which the C library keeps something */

static struct scanner scanner;
static struct scan_options opt = {.ns = 100 * MS, .retention = SCAN_NO};
static struct session_options session_options;
static struct session session;
static struct scan scan_of;
static struct mg_session mem, head;
static struct mg_ring rings[3];
static struct pool pool;
static struct work w;

/* Says what the calls of the rest of the recorder do, and counts them. */
static struct {
	bool prepares, copies, stops, opens, answers, names;
	bool ends; /* the thread that was found, 5, before it is stopped */
	int why;
	unsigned pending; /* stops at which a thread is telling of an event */
	uint64_t clock, step, rss, swap;
	size_t threads;
	bool gave_up, late, unreadable, overflow, served, waits, hurried;
} will;
static struct roots looked;

/* ---- the rest of the recorder ---- */

uint64_t clock_mono(void)
{
	return will.clock += will.step;
}

int usleep(useconds_t us)
{
	will.clock += us * UINT64_C(1000);
	return 0;
}

static struct hijack_thread standing[] = {{.tid = 4}, {.tid = 5}, {.tid = 6}, {.tid = 7}};

bool hijack_has(const struct hijack_stop *s, pid_t tid, size_t *at)
{
	(void)s;
	*at = (size_t)tid - 3;
	return tid >= 4 && tid <= 7;
}

int hijack_stop_all(struct hijack_stop *s, int proc, bool hold, uint64_t patience_ns)
{
	*s = (struct hijack_stop){.threads = {standing, 4, 4}};
	standing[1].gone = standing[3].gone = will.ends;
	(void)proc;
	uint64_t left = w.deadline_ns - will.clock;
	bool good = !hold && patience_ns == (left < STOP_NS ? left : STOP_NS);
	note(good ? "stop" : "stop?");
	rings[1].pending = will.pending != 0;
	will.pending -= will.pending != 0;
	errno = will.stops ? 0 : will.why;
	return will.stops ? 0 : -1;
}

void hijack_holds(bool on, uint64_t until_ns)
{
	if (!on || until_ns != w.deadline_ns + GUARD_NS)
		note("hold?");
}

void hijack_resume(struct hijack_stop *s, int proc)
{
	(void)s;
	(void)proc;
	note("resume");
	rings[1].pending = 0;
}

size_t hijack_count(int proc, pid_t *any)
{
	(void)proc;
	*any = 5;
	errno = will.why;
	return will.threads;
}

uint64_t hijack_status(int proc, pid_t tid, const char *label, int base)
{
	(void)proc;
	bool known =
		base == 10 && tid == (scan_of.last_tid ? scan_of.last_tid : session.process.pid);
	return !known ? 0 : strstr(label, "VmRSS:") ? will.rss : will.swap;
}

struct scan_thread *scan_registers(const struct hijack_stop *s, size_t *count)
{
	(void)s;
	*count = 2;
	return ms_xcalloc(2, sizeof(struct scan_thread));
}

void scan_leave_ends(struct scan_thread *v, size_t n, const struct mg_session *s, bool traced)
{
	(void)v;
	(void)n;
	(void)traced;
	CHECK(s == &mem, "of another session");
}

void kernel_find(struct kernel_words *k, int proc, pid_t tid)
{
	(void)k;
	(void)proc;
	if (tid != 5)
		note("descriptors again");
}

void kernel_read(struct kernel_words *k, const struct session *s, pid_t tid)
{
	(void)k;
	(void)s;
	if (tid != 5)
		note(tid == 6 ? "words" : "words?");
}

void kernel_free(struct kernel_words *k)
{
	(void)k;
}

bool frozen_look(struct work *k, pid_t tid)
{
	if (tid != 5)
		note("look?");
	k->request.copy.served = will.served;
	return true;
}

bool frozen_prepare(struct work *k)
{
	(void)k;
	note("prepare");
	return will.prepares;
}

bool frozen_make(struct work *k)
{
	note("copy");
	k->request.copy.own = 9; /* it may be there although it is not whole */
	k->request.copy.made = will.copies;
	return will.copies;
}

int frozen_open(struct work *k, struct memory *m, uint64_t deadline_ns)
{
	(void)k;
	m->deadline_ns = deadline_ns;
	note("open the copy");
	errno = will.why;
	return will.opens ? 0 : -1;
}

void frozen_end(struct work *k)
{
	(void)k;
	note("end");
}

int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns)
{
	(void)proc;
	m->deadline_ns = deadline_ns;
	note(tid == 5 ? "open" : "open?");
	errno = will.why;
	return will.opens ? 0 : -1;
}

bool memory_waits(const struct memory *m)
{
	(void)m;
	return will.waits;
}

void memory_close(struct memory *m)
{
	(void)m;
	note("close");
}

bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	(void)m;
	memset(to, 0, bytes);
	return address == 64;
}

void graph_init(struct graph *g, struct graph_block *v, uint32_t count, size_t edge_max)
{
	(void)edge_max;
	*g = (struct graph){.v = v, .count = count};
}

uint32_t graph_ignore(struct graph *g, uint64_t address, uint64_t next)
{
	(void)g;
	return address == 80 && next == 3;
}

void graph_solve(struct graph *g, bool complete)
{
	(void)g;
	note(complete ? "solve" : "give up");
}

void graph_free(struct graph *g)
{
	(void)g;
}

void roots_look(struct roots *r)
{
	looked = *r;
	r->memory->gave_up = will.gave_up;
	r->memory->late = will.late;
	r->memory->unreadable = will.unreadable;
	r->graph->overflow = will.overflow;
}

uint64_t live_stamp(const struct session *s)
{
	(void)s;
	return 77;
}

void live_ask(struct scan *q, uint64_t stamp)
{
	(void)q;
	note(stamp == 77 ? "ask" : "ask?");
}

bool live_await(struct scan *q, struct wake *drain, uint64_t deadline_ns, const uint64_t *until)
{
	(void)drain;
	(void)deadline_ns;
	will.hurried &= until == &scanner.until_ns;
	note(q->held ? "await, held" : "await");
	return will.answers;
}

bool live_await_stacks(const struct session *s)
{
	(void)s;
	return will.names;
}

void scan_name_stacks(struct scan_live *l)
{
	(void)l;
	note("name");
}

void resident_take(struct work *k, pid_t tid)
{
	(void)k;
	note(tid == 5 ? "resident" : "resident?");
}

void scan_keep_begin(struct work *k)
{
	(void)k;
	note("threads listed");
}

void scan_keep_read(struct work *k)
{
	(void)k;
	note("stacks read");
}

void scan_keep_find(struct work *k)
{
	if (!k->retains)
		return;
	note("what keeps found");
	k->keeps.live_bytes = 5;
	k->keeps.kept_bytes = 2;
}

void scan_keep_free(struct work *k)
{
	(void)k;
}

bool kept_say(const struct work *k, char *text, size_t room)
{
	snprintf(text, room, "a keeps 1 B of 2 B");
	return k->retains;
}

const char *kept_state_words(const struct work *k)
{
	(void)k;
	return NULL;
}

void resident_free(struct work *k)
{
	(void)k;
}

uint64_t resident_state(const struct resident *r)
{
	return r->state;
}

bool resident_say(const struct work *k, char *text, size_t room)
{
	bool known = k->resident.state == MS_SCAN_DONE;
	snprintf(text, room, "RSS");
	return known;
}

void scan_put_result(struct work *k)
{
	note(k->request.asker == SCAN_BY_END ? "put the end" : "put");
	will.why = (int)k->state;
}

void scan_trace_over(struct scan_trace *t)
{
	note(t ? "over" : "over?");
}

void samples_held(struct session *s)
{
	(void)s;
	note("held");
}

const char *scan_state_words(uint64_t state)
{
	return state == MS_SCAN_LOST ? "events were lost" : "so";
}

/* ---- the state of things ---- */

static void begin(void)
{
	free(w.threads);
	memset(&will, 0, sizeof will);
	will.prepares = will.copies = will.stops = will.opens = will.answers = will.names = true;
	will.clock = NOW;
	will.threads = 2;
	memset(rings, 0, sizeof rings);
	rings[1].state = MG_RING_TAKEN;
	mem = (struct mg_session){.end_sp = 3, .end_tp = 4};
	pool = (struct pool){.memfd = -1, .head = &head};
	scan_of = (struct scan){.busy = 1};
	session = (struct session){.scan = &scan_of,
				   .mem = &mem,
				   .pool = &pool,
				   .rings.shared = rings,
				   .rings.prepared = 3,
				   .opt = &session_options,
				   .process.pid = 5,
				   .name = "prog"};
	scanner = (struct scanner){.opt = &opt, .until_ns = UINT64_MAX};
	w = (struct work){.scanner = &scanner,
			  .s = &session,
			  .q = &scan_of,
			  .request.asker = SCAN_BY_TELL,
			  .start_ns = NOW,
			  .deadline_ns = NOW + 90 * MS};
	done[0] = '\0';
}
