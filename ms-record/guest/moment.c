/* SPDX-License-Identifier: MIT
 * Holds a thread until ms-record has stopped the process, or forked a copy of it, for a scan: where
 * the program calls ms_retention, and where exit begins, before its handlers run.
 *
 *  M1 The thread writes a mark with a number and waits as long as `moment` is that number. Whoever
 *     ends the wait changes the word to 0. If the guest did, because of M3, ms-record does not
 *     scan: the process is past the moment.
 *  M2 One thread at a time is held; others wait until it is their turn.
 *  M3 It waits for at most `moment_ms`, only while ms-record has a heartbeat and records. A mark
 *     whose thread is not held any more when ms-record sees it has a record that says so.
 *  M4 Until ms-record has found no seccomp filter (MG_MOMENT_NAP) the thread spins: see end.c, E1.
 *  M5 What is below the frame that called exit or ms_retention is ours, and no pointer of the
 *     program's: the entry point has saved the callee-saved registers below `frame`.
 *  M6 A scan at a moment may still be under way when the process ends, and is not given up then:
 *     the end waits for it, too.
 */
#include "record.h"

/* Waits for a change of the word, for some milliseconds at most. */
static void pause_at(const uint32_t *word, uint32_t now)
{
	if (now & MG_MOMENT_NAP)
		mg_futex(word, MG_FUTEX_WAIT, now, 10000000);
	else
		mg_spin();
}

/* M3 */
static bool is_late(const struct mg_session *s, uint64_t start)
{
	return mg_nobody_records(s) || mg_ticks() - start > s->tsc_hz / 1000 * s->moment_ms;
}

/* Tells whether this process records into the session: a child that a signal handler forked
 * meanwhile does not. */
static bool is_own(const struct mg_session *s)
{
	return mg.session == s && __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED);
}

/* Begins the moment `number`; false = other threads took too long. */
static bool begin(struct mg_session *s, uint32_t number, uint64_t start)
{
	for (uint32_t now = 0; !is_late(s, start); now = 0) {
		if (__atomic_compare_exchange_n(&s->moment, &now, number, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return true;
		pause_at(&s->moment, now);
	}
	return false;
}

/* Waits until ms-record has changed the word (M1), or until M3 ends the wait. */
static void wait(struct mg_session *s, uint32_t number, uint64_t start)
{
	uint32_t now;
	while (is_own(s) &&
	       ((now = __atomic_load_n(&s->moment, __ATOMIC_ACQUIRE)) & ~MG_MOMENT_NAP) == number)
		if (!is_late(s, start))
			pause_at(&s->moment, now);
		else
			__atomic_compare_exchange_n(&s->moment, &now, 0, false, __ATOMIC_ACQ_REL,
						    __ATOMIC_RELAXED);
}

/* M5 */
static struct mg_end_frame *note_frame(struct mg_session *s, const uint64_t *frame)
{
	struct mg_end_frame *f = &s->end_frames[MG_END_FRAMES];
	__atomic_store_n(&f->tp, 0, __ATOMIC_SEQ_CST);
	f->sp = MG_FRAME_SP(frame);
	for (int i = 0; i < (int)MG_KEPT; i++)
		f->regs[i] = frame[MG_ENTRY_KEPT - i];
	f->regs[MG_KEPT] = frame[0];
	s->end_tid = mg.backend.tid();
	s->end_sp = (uint64_t)(frame + MG_ENTRY_KEPT + 1 - MG_KEPT);
	s->end_tp = mg_thread_pointer();
	__atomic_store_n(&f->tp, s->end_tp, __ATOMIC_RELEASE);
	return f;
}

void mg_on_moment(const uint64_t *frame, const char *name)
{
	if (!mg_is_open(frame) || mg_is_off())
		return;
	static uint32_t last;
	struct mg_session *s = mg.session;
	uint64_t start = mg_ticks();
	bool scans = s->moment_ms && !mg_waiting();
	uint32_t number = scans ? __atomic_add_fetch(&last, MG_MOMENT_NEXT, __ATOMIC_RELAXED) : 0;
	bool held = scans && begin(s, number, start);
	struct mg_end_frame *f = held ? note_frame(s, frame) : NULL;
	bool marked = name ? mg_on_mark(frame, name, number)
			   : scans && mg_on_mark(frame, "", number | MG_MOMENT_EXIT);
	if (!held)
		return;
	if (s->end_wait_ms && s->end_wait_ms <= s->moment_ms)
		s->end_wait_ms += s->moment_ms; /* M6 */
	if (!marked)
		start -= s->tsc_hz / 1000 * s->moment_ms + 1;
	else if (name) /* at the exit no system call is made before M4 has been looked into */
		mg_wake_recorder();
	wait(s, number, start);
	uint64_t own = mg_thread_pointer(); /* else the next thread has noted its frame already */
	if (is_own(s))
		__atomic_compare_exchange_n(&f->tp, &own, 0, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}

void mg_abandon_hooks(void)
{
	for (struct mg_writer *t = mg_custom_writer(); t; t = t->nested)
		if (t->generation == mg.generation && t->ring != &mg.void_ring)
			__atomic_store_n(&t->ring->pending, 0, __ATOMIC_RELEASE);
}

void mg_on_exit(const uint64_t *frame)
{
	static uint32_t begun;
	if (!mg.session || !mg.session->exit_scan || !mg_is_open(frame) ||
	    __atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED))
		return;
	mg_abandon_hooks();
	mg_on_moment(frame, NULL);
}
