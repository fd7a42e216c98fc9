/* SPDX-License-Identifier: MIT
 * Ends a trace: writes the losses, then one record with all counts.
 */
#include "recording.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "format/trace.h"
#include "ms-record/attach/hook_elsewhere.h"
#include "ms-record/attach/hook_late.h"
#include "ms-record/session/hook_spec.h"
#include "ms-record/code/interpreter.h"
#include "ms-record/session/losses.h"
#include "libcommon/base/arena.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"
#include "ms-record/write/output.h"

static void add_loss(struct session *s, uint64_t count, unsigned reason)
{
	losses_add(s, 0, session_now(s), count, reason, 0);
	s->stats.lost += count;
}

static void copy_text(char *to, size_t room, const char *shared)
{
	memcpy(to, shared, room);
	to[room - 1] = '\0';
	for (char *p = to; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
}

/* Copies the counters that the guest keeps for the whole program image. */
static void take_session_counters(struct session *s)
{
	const struct mg_session *m = s->mem;
	uint64_t no_ring = __atomic_load_n(&m->no_ring_lost, __ATOMIC_RELAXED);
	add_loss(s, no_ring, MS_LOST_NO_RING);
	s->stats.crowded = s->rings.prepared == s->rings.max ? no_ring : 0;
	add_loss(s, __atomic_load_n(&m->reentry_lost, __ATOMIC_RELAXED), MS_LOST_REENTRY);
	copy_text(s->guest.allocator, sizeof s->guest.allocator, m->allocator);
	if (__atomic_load_n(&m->guest_disabled, __ATOMIC_RELAXED))
		copy_text(s->guest.disabled, sizeof s->guest.disabled, m->disabled_why);
	s->guest.passed_early = __atomic_load_n(&m->passed_early, __ATOMIC_RELAXED);
	s->guest.no_usable = __atomic_load_n(&m->no_usable, __ATOMIC_RELAXED) == 1;
	s->guest.forks = __atomic_load_n(&m->forks, __ATOMIC_RELAXED);
	s->guest.ready = __atomic_load_n(&m->guest_ready, __ATOMIC_RELAXED);
	s->guest.exit_hooked = s->pool->head->exit_hooked;
}

static unsigned reason_of(const struct session *s)
{
	if (__atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE))
		return MS_ENDED_DISK;
	switch (s->ending) {
	case SESSION_EXECED:
		return MS_ENDED_EXEC;
	case SESSION_STOPPED:
		return MS_ENDED_STOP;
	default:
		return MS_ENDED_EXIT;
	}
}

static void add_exit(const struct session *s, struct ms_record_writer *w)
{
	if (s->ending != SESSION_EXITED || s->end.status < 0)
		return;
	if (WIFEXITED(s->end.status))
		ms_record_number(w, MS_END_STATUS, (uint64_t)WEXITSTATUS(s->end.status));
	else if (WIFSIGNALED(s->end.status))
		ms_record_number(w, MS_END_SIGNAL, (uint64_t)WTERMSIG(s->end.status));
}

/* Writes one field per allocator, given a list such as "glibc 2.36, libfast.so". */
static void add_allocators(const struct session *s, struct ms_record_writer *w)
{
	for (const char *p = s->guest.allocator; *p;) {
		size_t n = strcspn(p, ",");
		if (n)
			ms_record_bytes(w, MS_END_ALLOCATOR, p, n);
		p += n + strspn(p + n, ", ");
	}
}

static void add_missed(const struct session *s, struct ms_record_writer *w)
{
	if (s->guest.missed[0])
		ms_record_string(w, MS_END_ALLOCATOR_MISSED, s->guest.missed);
}

static void add_peak_rss(struct session *s, struct ms_record_writer *w)
{
	pthread_mutex_lock(&s->queued.lock);
	struct ms_proc_peak peak = s->queued.peak_rss;
	pthread_mutex_unlock(&s->queued.lock);
	if (peak.known)
		ms_record_number(w, MS_END_PEAK_RSS, peak.bytes);
}

/* Returns an upper bound of the bytes that add_hooks writes. */
static size_t hooks_bytes(const struct session *s)
{
	size_t n = 16;
	for (size_t i = 0; i < s->hooks->n; i++)
		n += strlen(s->hooks->v[i].name) + 16;
	return n;
}

/* Writes the number of --hook functions and the names of those not hooked. Writes nothing for a
 * forked child, which has its parent's hooks, or a process recorded from standby, whose hooks were
 * placed before. */
static void add_hooks(const struct session *s, struct ms_record_writer *w)
{
	if (s->forked || s->standby || !s->hooks->n)
		return;
	ms_record_number(w, MS_END_HOOKS, s->hooks->n);
	for (size_t i = 0; i < s->hooks->n; i++)
		if (hook_late_missing(s, i))
			ms_record_string(w, MS_END_HOOK_MISSING, s->hooks->v[i].name);
}

static size_t left_bytes(const struct session *s)
{
	return 24 + (s->end.left ? s->end.left->n * 24 : 0);
}

static void add_left(pid_t pid, struct ms_record_writer *w)
{
	char text[12];
	snprintf(text, sizeof text, "%d", (int)pid);
	ms_record_string(w, MS_END_LEFT, text);
}

/* Lists the processes that the command left running, and this process if it is still running. */
static void add_all_left(const struct session *s, struct ms_record_writer *w)
{
	for (size_t i = 0; s->end.left && i < s->end.left->n; i++)
		add_left(s->end.left->v[i], w);
	if (s->end.goes_on)
		add_left(s->process.pid, w);
}

/* Returns the end time, in ns since the start. If the process called exec, the program image ends
 * when the next image begins, not later, when ms-record notices the exec. */
static uint64_t end_of(const struct session *s)
{
	uint64_t now = session_now(s), start = s->clock.start_mono;
	return s->end.replaced_ns > start && s->end.replaced_ns - start < now
		       ? s->end.replaced_ns - start
		       : now;
}

void finish_trace(struct session *s)
{
	take_session_counters(s);
	pause_finish(s);
	session_flush(s); /* writes the remaining events, so that the end block is separate */
	hook_elsewhere(s, s->guest.missed, sizeof s->guest.missed);
	struct batch *b = session_batch(s);
	struct ms_record_writer *w =
		batch_record(&b->end, 60 * 20 + 256 + 512 + 256 + hooks_bytes(s) + left_bytes(s));
	ms_record_number(w, MS_END_TIME, end_of(s));
	ms_record_number(w, MS_END_REASON, reason_of(s));
	add_exit(s, w);
	end_counts(&s->stats, w);
	if (s->end.successor)
		ms_record_string(w, MS_END_SUCCESSOR, s->end.successor);
	add_allocators(s, w);
	add_missed(s, w);
	add_hooks(s, w);
	uint64_t unread = __atomic_load_n(&s->mem->python.unread, __ATOMIC_RELAXED);
	if (unread)
		ms_record_number(w, MS_END_CHAINS_UNREAD, unread);
	if (interpreter_unknown(&s->modules))
		ms_record_string(w, MS_END_INTERPRETER_UNKNOWN, interpreter_unknown(&s->modules));
	if (s->launched) {
		ms_record_number(w, MS_END_IMAGES_KEPT, s->end.images_kept);
		ms_record_number(w, MS_END_IMAGES_TRIVIAL, s->end.images_trivial);
		ms_record_number(w, MS_END_IMAGES_MISSED, s->end.images_missed);
	}
	add_all_left(s, w);
	ms_record_number(w, MS_END_CHILDREN_NOT_RECORDED, s->guest.forks);
	add_peak_rss(s, w);
	ms_record_end(w);
	b->close = true;
	session_flush(s);
}
