/* SPDX-License-Identifier: MIT
 * Replays all processes in step.
 *
 * The process with the earliest next event always continues, up to the next event of any other
 * process. So the sum of their live bytes is known at every moment, its peak is exact (to a
 * tick), and each trace is still read once. When a process ends, its live bytes leave the sum.
 */
#include "snapshot_build.h"

#include "libcommon/base/arena.h"

/* ---- replay in step ---- */

static bool earlier(const struct running *a, const struct running *b)
{
	return a->next_ns != b->next_ns ? a->next_ns < b->next_ns
					: a->keep.offset_ns < b->keep.offset_ns;
}

void ms_build_enqueue(struct build *b, struct running *p)
{
	*MS_PUSH(&b->queue) = p;
	struct running **v = b->queue.v;
	for (size_t i = b->queue.n - 1; i && earlier(v[i], v[(i - 1) / 2]); i = (i - 1) / 2) {
		struct running *t = v[i];
		v[i] = v[(i - 1) / 2];
		v[(i - 1) / 2] = t;
	}
}

static struct running *dequeue(struct build *b)
{
	struct running **v = b->queue.v, *first = v[0];
	v[0] = v[--b->queue.n];
	for (size_t i = 0, c; (c = 2 * i + 1) < b->queue.n; i = c) {
		if (c + 1 < b->queue.n && earlier(v[c + 1], v[c]))
			c++;
		if (!earlier(v[c], v[i]))
			break;
		struct running *t = v[i];
		v[i] = v[c];
		v[c] = t;
	}
	return first;
}

/* Returns the time from which a process counts: the time of --from, or MS_NEVER if the process
 * ended before it. If --from is an event, the count begins with the tick of that event: the replay
 * then forgets earlier events, but not later events of the same tick. */
static uint64_t counts_from(const struct ms_kept_process *k)
{
	if (!k->counted_from)
		return 0;
	if (k->from.kind != MS_KEPT_MOMENT)
		return MS_NEVER;
	uint64_t ns = k->from.time_ns;
	return k->offset_ns + ns - (k->from_event ? ns % k->rec->head->tick_ns : 0);
}

/* Ends a process. If no event followed `from`, its live bytes at the end count from `from` on. */
static void end_turn(struct build *b, struct running *p, uint64_t now, uint64_t from)
{
	struct ms_sum_share *share = &p->keep.share;
	uint64_t live = p->keep.rec->replay.live_bytes;
	if (share->in || from > now) {
		ms_sum_leave(&b->sum, share, now);
		return;
	}
	ms_sum_change(&b->sum, share, now, live, live, now);
	p->next_ns = p->keep.offset_ns + ms_recording_reached(p->keep.rec);
	ms_build_enqueue(b, p);
}

/* Replays one process up to `until`, or to its end. Returns 0 or -1. */
static int turn(struct build *b, struct running *p, uint64_t until)
{
	struct ms_replay *r = &p->keep.rec->replay;
	uint64_t now = p->next_ns, next = 0, from = counts_from(&p->keep);
	bool counts = now >= from;
	if (p->ended) {
		end_turn(b, p, now, from);
		return 0;
	}
	if (!counts && until >= from)
		until = from - p->keep.from_event;
	r->run_max = r->live_bytes;
	r->run_max_tick = (now - p->keep.offset_ns) / p->keep.rec->head->tick_ns;
	int rc = ms_recording_run(p->keep.rec, until - p->keep.offset_ns, &next, b->err);
	if (rc < 0)
		return -1;
	/* The next event starts the count, so a maximum before it is not part of the span. */
	if (counts && p->keep.counted_from && !r->moments[p->keep.from.moment].taken)
		r->run_max = r->live_bytes;
	if (counts)
		ms_sum_change(&b->sum, &p->keep.share, now, r->live_bytes, r->run_max,
			      p->keep.offset_ns + r->run_max_tick * p->keep.rec->head->tick_ns);
	p->ended = rc == 0;
	p->next_ns = p->keep.offset_ns + (rc ? next : ms_recording_reached(p->keep.rec));
	if (!counts && p->next_ns > from)
		p->next_ns = from;
	ms_build_enqueue(b, p);
	if (p->ended) {
		ms_replay_settle(r);
		ms_recording_park(p->keep.rec);
		ms_points_ended(b, p);
		return ms_build_successor(b, p);
	}
	return 0;
}

int ms_build_replay(struct build *b)
{
	while (b->queue.n) {
		struct running *p = dequeue(b);
		uint64_t until = ms_sum_until(&b->sum, p->next_ns);
		if (b->queue.n && b->queue.v[0]->next_ns < until)
			until = b->queue.v[0]->next_ns;
		if (until < p->next_ns)
			until = p->next_ns;
		if (turn(b, p, until) != 0)
			return -1;
	}
	for (size_t i = 0; i < b->all.n; i++)
		ms_sum_settle(&b->sum, &b->all.v[i]->keep.share);
	return 0;
}
