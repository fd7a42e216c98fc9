/* SPDX-License-Identifier: MIT
 * Copies the blocks that are live at a leak scan's stamp from the table of live blocks.
 *
 * However far the merge is behind the process, it stops exactly at the stamp (scan_stamp,
 * scan_reached). The table is copied then; the call stacks, which only the writing thread knows,
 * arrive with the batch that ends at the stamp.
 */
#include <stdlib.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "ms-record/heap/heap.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/session.h"
#include "ms-record/write/batch.h"
#include "ms-record/write/checkpoint.h"
#include "scan_work.h"

#define STEP_US 100
#define WRITER_NS UINT64_C(5000000000)

struct scan *scan_new(void)
{
	return ms_xcalloc(1, sizeof(struct scan));
}

void scan_free(struct scan *q)
{
	if (q)
		MS_FREE(q->live.blocks, q->live.stacks.v, q->live.ignored.v, q->kept_nodes.v, q);
}

/* ---- the scanning thread ---- */

/* Returns the stamp of the present time. Whether the guest's stamps come from its shared counter is
 * read from its own flag, because ms-record may notice that change later. */
uint64_t live_stamp(const struct session *s)
{
	bool blind = __atomic_load_n(&s->mem->blind, __ATOMIC_SEQ_CST);
	return blind ? __atomic_load_n(&s->mem->sequence, __ATOMIC_ACQUIRE)
		     : clock_stamp(&s->clock);
}

void live_ask(struct scan *q, uint64_t stamp)
{
	q->stamp = stamp;
	q->live.stacks_known = 0;
	__atomic_store_n(&q->request, REQUEST_ASKED, __ATOMIC_RELEASE);
}

/* Changes the state of a request from ASKED; false if it was in another state. */
static bool change(struct scan *q, int to)
{
	int asked = REQUEST_ASKED;
	return __atomic_compare_exchange_n(&q->request, &asked, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool live_await(struct scan *q, struct wake *drain, uint64_t deadline_ns, const uint64_t *until)
{
	for (;;) {
		wake_up(drain);
		usleep(STEP_US);
		int r = __atomic_load_n(&q->request, __ATOMIC_ACQUIRE);
		if (r == REQUEST_DONE)
			return true;
		uint64_t now = clock_mono();
		bool late = now > deadline_ns ||
			    (until && now > __atomic_load_n(until, __ATOMIC_RELAXED));
		if (r == REQUEST_FAILED || (late && change(q, REQUEST_FAILED)))
			return false;
	}
}

bool live_await_stacks(const struct session *s)
{
	uint64_t until = clock_mono() + WRITER_NS; /* starts now: the process is no longer held */
	while (!__atomic_load_n(&s->scan->live.stacks_known, __ATOMIC_ACQUIRE)) {
		if (clock_mono() > until || __atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE))
			return false;
		usleep(STEP_US);
	}
	return true;
}

/* ---- the writing thread ---- */

static void note_stack(void *arg, uint64_t number, uint32_t stack)
{
	struct scan_live *v = arg;
	*MS_PUSH(&v->stacks) = (struct number_stack){number, stack};
}

static void take_stacks(void *arg, struct live_list *l)
{
	struct scan_live *v = arg;
	v->stacks.n = 0;
	if (l)
		live_list_stacks(l, note_stack, v);
	__atomic_store_n(&v->stacks_known, 1, __ATOMIC_RELEASE);
}

/* ---- the draining thread ---- */

static void copy_block(void *arg, const struct live_block *b)
{
	struct scan_live *v = arg;
	v->blocks[v->count++] = (struct graph_block){.address = b->address & INT64_MAX,
						     .size = b->size,
						     .number = b->number,
						     .user = b->address >> 63};
}

static void copy_blocks(struct session *s, struct scan_live *v)
{
	free(v->blocks);
	v->count = 0;
	v->blocks = ms_xrealloc(NULL, s->heap->live.count + 1, sizeof *v->blocks);
	live_each(&s->heap->live, copy_block, v);
	ignored_copy(&v->ignored, &s->heap->ignored);
	const struct mg_session *m = s->mem;
	v->lost = s->stats.lost + __atomic_load_n(&m->no_ring_lost, __ATOMIC_RELAXED) +
		  __atomic_load_n(&m->reentry_lost, __ATOMIC_RELAXED);
	uint64_t passed = __atomic_load_n(&m->passed_early, __ATOMIC_RELAXED);
	for (size_t i = 0; i < s->rings.taken.n; i++) {
		const struct reader *r = s->rings.taken.v[i];
		v->lost += __atomic_load_n(&r->ring->lost, __ATOMIC_RELAXED) - r->lost;
		passed += __atomic_load_n(&r->ring->passed, __ATOMIC_RELAXED) - r->passed;
	}
	/* Memory allocated before the recording is in no known block, and may point to blocks. */
	v->wide = s->opt->attached || s->forked || passed || s->stats.paused_allocations ||
		  s->stats.started_late_ns || s->stats.unknown_frees;
}

uint64_t scan_stamp(const struct session *s)
{
	const struct scan *q = s->scan;
	bool asked = __atomic_load_n(&q->request, __ATOMIC_ACQUIRE) == REQUEST_ASKED;
	return asked ? q->stamp : UINT64_MAX;
}

void scan_reached(struct session *s, uint64_t stamp)
{
	struct scan *q = s->scan;
	/* The verdicts are not needed if the trace will not be kept. */
	bool nobody = s->may_drop && !s->kept_for_sure && session_trivial(s);
	if (scan_stamp(s) != stamp || !change(q, nobody ? REQUEST_FAILED : REQUEST_TAKEN) || nobody)
		return;
	q->live.event = s->stats.events;
	q->live.number = s->number;
	q->live.time_ns = clock_ns(&s->clock, stamp);
	copy_blocks(s, &q->live);
	if (q->live.image.wanted)
		scan_keep_copy(s, &q->live.image);
	struct batch *b = session_batch(s);
	b->on_live = take_stacks;
	b->on_live_arg = &q->live;
	session_flush(s);
	__atomic_store_n(&q->request, REQUEST_DONE, __ATOMIC_RELEASE);
}

bool scan_over(struct session *s)
{
	change(s->scan, REQUEST_FAILED);
	scan_keep_look(s);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&s->scan->busy, __ATOMIC_SEQ_CST) != 0;
}
