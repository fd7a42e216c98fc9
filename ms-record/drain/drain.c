/* SPDX-License-Identifier: MIT
 * The draining thread.
 *
 * Each round reads every ring of every session, merges the events below the watermark, and
 * passes on batches that are due. After a round without records it sleeps up to 10 ms, after
 * several up to 100 ms, and later on, or while sampling, up to 400 ms (the end of a process may
 * wait that long: guest/end.c gives up after a second). A thread of the target that has half
 * filled its ring ends the sleep through the futex word `sleeping` of its session; a new thread
 * ends a long sleep, too.
 */
#include "drain.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drain_requests.h"
#include "drained.h"
#include "ms-record/heap/forks.h"
#include "ms-record/attach/hook_late.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "ms-record/heap/merge.h"
#include "ms-record/code/attach_modules.h"
#include "ms-record/session/losses.h"
#include "ms-record/session/pool.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/quiet.h"
#include "ms-record/code/ranges.h"
#include "recording.h"
#include "ring.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/session.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/threads.h"

#define IDLE_NS 10000000
#define BUSY_NS 1000000
/* Sleep between rounds if a process is attached: it drops events instead of waiting. */
#define ATTACHED_NS 2000000
/* Sleep between rounds if attached processes are sampled sparsely and few events arrive. */
#define SPARSE_NS 50000000
#define SPARSE_BYTES (64u << 10)
#define LONG_NS 100000000
#define LONG_AFTER 20u /* rounds without records before sleeps become long */
#define DEEP_NS 400000000
#define JUDGED_NS 25000000 /* if --when depends on what is live: it is to be acted upon in 0.1 s */
#define DEEP_AFTER (LONG_AFTER + 4u)
#define ROUND_MOST (32 * RING_PART) /* maximum bytes read from one session in a round */
#define MANY_BYTES 4096u            /* if a round reads more bytes, the next one follows soon */
#define TRICKLE 1024u /* bytes read after a long sleep up to which the next one stays long */
#define BATCH_NS UINT64_C(100000000)
/* Time between batches while sampling: few bytes arrive, and each batch costs the same work. */
#define BATCH_SAMPLED_NS UINT64_C(500000000)
#define LOOK_NS UINT64_C(20000000)
#define SLACK_NS 100000u
#define WAITERS_MAX 126u
#define FOR_EVER (UINT64_MAX >> 2) /* later than any stamp */

/* ---- one session, one round ---- */

static uint64_t slack(const struct session *s)
{
	return s->clock.tsc ? (uint64_t)((double)SLACK_NS * (double)s->tsc_hz / 1e9) : 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Merges items with stamps up to `limit`. Stops at each stamp at which a request or a scan needs
 * the live blocks of that time. */
static void merge_to(struct session *s, uint64_t limit)
{
	uint64_t stop;
	while ((stop = earlier(drain_requests_stamp(s), scan_stamp(s))) <= limit &&
	       stop != UINT64_MAX) { /* a guest can write any stamp, even UINT64_MAX */
		merge_forks(s, stop);
		merge_until(s, stop);
		drain_requests_reached(s, stop);
		scan_reached(s, stop);
	}
	merge_forks(s, limit);
	merge_until(s, limit);
	s->merged_to = limit;
}

/* Switches to stamps counted in shared memory if the TSC has restarted at 0, as after a suspend:
 * new TSC stamps would be earlier than the old ones until the TSC reaches its former value. */
static void look_at_clock(struct session *s)
{
	uint64_t last = clock_restarted(&s->clock);
	if (last)
		session_count(s, last);
}

/* Reads the session's rings, and merges the events before which no more can arrive. Returns the
 * bytes read. */
static uint64_t round_events(struct session *s)
{
	look_at_clock(s);
	uint64_t now = clock_round(&s->clock), limit;
	__atomic_store_n(&s->mem->heartbeat, now, __ATOMIC_RELAXED);
	__atomic_store_n(&s->mem->ticks, cpu_counter(), __ATOMIC_RELAXED);
	session_update_modules(s);
	if (ranges_look(&s->ranges))
		s->modules.maps_old = true; /* the guest has found an unknown mapping, so the memory
					       map is read again */
	uint64_t last = clock_settled(&s->clock) ? now - slack(s) : s->merged_to;
	uint64_t bytes = ring_read_all(s, last, &limit);
	uint64_t ahead = merge_lookahead(s);
	if (limit > ahead)
		merge_to(s, limit - ahead);
	return bytes;
}

/* Tells whether to flush now. With --max-size, the first flush, which identifies the process in the
 * trace, is made immediately, while there is room for it. */
static bool batch_due(const struct session *s, uint64_t now)
{
	if (!s->drained->flushed_ns && s->writer->limit.max)
		return true;
	const struct batch *b = s->open.batch;
	uint64_t since =
		s->open.events || (b && b->events.n) ? s->open.since : s->drained->flushed_ns;
	return now >= since + (s->opt->sample_bytes ? BATCH_SAMPLED_NS : BATCH_NS);
}

static void round_rest(struct session *s)
{
	uint64_t now = session_now(s);
	if (now >= s->drained->looked_ns + LOOK_NS) {
		s->drained->looked_ns = now;
		threads_look(s, false);
		ring_return(s, false);
		forks_tidy(s);
		for (size_t i = 0; i < s->rings.taken.n && !s->damaged; i++)
			ring_shrink(s->rings.taken.v[i]);
		if (!s->damaged)
			losses_take_all(s);
	}
	ring_prepare(s);
	if (batch_due(s, now)) {
		s->drained->flushed_ns = now;
		session_flush(s);
	}
}

/* Leaves the pool (shared memory of a program image and its forked children), and frees the
 * session's slot in the pool, if it has one. Data that children of this process inherit is kept. */
static void leave_pool(struct session *s)
{
	int how = __atomic_load_n(&s->ending, __ATOMIC_ACQUIRE);
	bool gone = s->known && (how == SESSION_EXITED || how == SESSION_EXECED);
	if (!s->pool)
		return;
	forks_over(s);
	if (s->slot)
		pool_release_slot(s->pool, s->slot - 1, gone);
	else
		pool_release_image(s->pool, gone);
}

/* Finishes the session of an ended program image (process between two execs). Its rings hold
 * everything that the image has written. */
static void conclude(struct session *s)
{
	uint64_t limit = 0, ahead = merge_lookahead(s);
	clock_round(&s->clock);
	if (!s->damaged)
		session_update_modules(s);
	while (!s->damaged) {
		uint64_t bytes = ring_read_all(s, FOR_EVER, &limit);
		if (!bytes && limit == FOR_EVER)
			break;
		merge_until(s, bytes && limit > ahead ? limit - ahead : limit);
	}
	merge_until(s, UINT64_MAX);
	preexisting_look(s, true);
	drain_requests_perform(s);
	threads_look(s, true);
	losses_take_all(s);
	scan_finish(s);
	finish_trace(s);
	leave_pool(s);
	__atomic_store_n(&s->finished, 1, __ATOMIC_RELEASE);
}

/* Makes the guest stamp most events without reading the clock, while many records arrive: rings are
 * then read every millisecond, so stamps stay accurate enough. Not in an attached process: it has
 * threads that we do not know, and the end of some blocks is determined by stamps. */
static void settle_stamps(struct session *s, uint64_t bytes)
{
	bool few = bytes > MANY_BYTES && s->clock.tsc && !s->modules.attached;
	if (few == s->drained->few_stamps)
		return;
	s->drained->few_stamps = few;
	if (few)
		__atomic_fetch_or(&s->mem->stamps, MG_STAMPS_FEW, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&s->mem->stamps, ~MG_STAMPS_FEW, __ATOMIC_RELAXED);
}

static uint64_t round_session(struct session *s)
{
	uint64_t bytes = 0, n = RING_PART;
	while (bytes < ROUND_MOST && n >= RING_PART && !s->damaged)
		bytes += n = round_events(s);
	settle_stamps(s, bytes);
	if (s->may_drop && !s->grown && !session_trivial(s))
		__atomic_store_n(&s->grown, 1, __ATOMIC_RELEASE);
	if (s->damaged) {
		drain_requests_perform(s);
		scan_over(s);
	}
	scan_look(s);
	preexisting_look(s, false);
	pause_look(s);
	round_rest(s);
	if (__atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&s->out->full, __ATOMIC_ACQUIRE))
		__atomic_store_n(&s->mem->state, MG_OFF, __ATOMIC_RELEASE);
	return bytes;
}

/* ---- sleeping ---- */

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

/* Tells whether this session is read in rounds. If it is not, its unread records need not end a
 * sleep. */
static bool is_read(const struct session *s)
{
	return s->settled && !s->damaged &&
	       __atomic_load_n(&s->ending, __ATOMIC_ACQUIRE) == SESSION_RUNS;
}

/* Sets a flag in the shared memory of every program image and its children: this thread sleeps.
 * Returns false if there is new work already. */
static bool announce_idle(struct drain *d, uint32_t how)
{
	for (size_t i = 0; i < d->pools.n; i++)
		__atomic_store_n(&d->pools.v[i]->head->sleeping, how, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < d->pools.n; i++)
		if (pool_slot_wanted(d->pools.v[i]))
			return false;
	for (size_t i = 0; i < d->sessions.n; i++)
		if (is_read(d->sessions.v[i]) &&
		    (ring_wanted(d->sessions.v[i]) || ranges_due(&d->sessions.v[i]->ranges) ||
		     scan_is_held(d->sessions.v[i])))
			return false;
	return true;
}

/* Waits on the futex words of all program images and on our own word at the same time. A kernel
 * without futex_waitv waits only on the first image's word. Returns false if nobody woke us. */
static bool wait_all(struct drain *d, uint32_t ours, uint32_t how, long ns)
{
	struct futex_waitv v[WAITERS_MAX + 1] = {0};
	size_t n = 0;
	v[n++] = (struct futex_waitv){.val = ours,
				      .uaddr = (uintptr_t)&d->wake.word,
				      .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG};
	for (size_t i = 0; i < d->pools.n && n <= WAITERS_MAX; i++)
		v[n++] = (struct futex_waitv){.val = how,
					      .uaddr = (uintptr_t)&d->pools.v[i]->head->sleeping,
					      .flags = FUTEX_32};
	struct timespec until = ms_timespec(clock_mono() + (uint64_t)ns);
	if (syscall(SYS_futex_waitv, v, n, 0, &until, CLOCK_MONOTONIC) >= 0)
		return true;
	if (errno != ENOSYS)
		return errno != ETIMEDOUT;
	struct timespec shorter = {0, ns > 1000000 ? 1000000 : ns};
	if (d->pools.n)
		futex(&d->pools.v[0]->head->sleeping, FUTEX_WAIT, how, &shorter);
	else
		futex(&d->wake.word, FUTEX_WAIT_PRIVATE, ours, &shorter);
	return true;
}

static void sleep_a_while(struct drain *d, uint32_t ours, long ns)
{
	uint32_t how = ns > IDLE_NS ? MG_SLEEPS_LONG : MG_SLEEPS;
	d->called = !announce_idle(d, how) || wait_all(d, ours, how, ns);
	for (size_t i = 0; i < d->pools.n; i++)
		__atomic_store_n(&d->pools.v[i]->head->sleeping, 0, __ATOMIC_SEQ_CST);
}

/* Returns the longest sleep allowed, in ns. Long sleeps are safe because threads wake us before a
 * ring is full. Sleeps are shorter if a batch waits to be written, and without the processor's
 * clock, since events then get the time at which they are read. */
static long longest(const struct drain *d)
{
	long most = DEEP_NS;
	for (size_t i = 0; i < d->sessions.n; i++) {
		const struct session *s = d->sessions.v[i];
		if (session_seccomp(s))
			return IDLE_NS;                      /* the process's threads cannot wake
								us */
		bool waits = s->open.left || s->open.events; /* a batch must be written after
								BATCH_NS */
		if (!s->clock.tsc || !s->settled || (waits && !s->opt->sample_bytes))
			most = LONG_NS;
	}
	return most;
}

/* Tells whether a process is attached. Threads of such a process neither wait for us nor wake us.
 * *late is set if threads of some process wait until modules that they open are hooked. */
static bool any_attached(const struct drain *d, bool *late)
{
	bool any = *late = false;
	for (size_t i = 0; i < d->sessions.n; i++) {
		any |= d->sessions.v[i]->modules.attached != NULL;
		*late |= __atomic_load_n(&d->sessions.v[i]->mem->late_wanted, __ATOMIC_RELAXED);
	}
	return any;
}

/* Returns the smallest mean sampling distance of all sessions, in bytes; 0 = a session is not
 * sampled. If all are sampled, few events arrive, and a thread that fills its ring wakes us. */
static uint64_t all_sampled(const struct drain *d)
{
	uint64_t least = d->sessions.n ? UINT64_MAX : 0;
	for (size_t i = 0; i < d->sessions.n; i++)
		least = earlier(least, d->sessions.v[i]->opt->sample_bytes);
	return least;
}

/* Tells whether a ring was left unread until the merge has advanced. Its thread may be waiting for
 * us, and cannot wake us again. */
static bool any_left(const struct drain *d)
{
	for (size_t i = 0; i < d->sessions.n; i++)
		if (d->sessions.v[i]->drained->left)
			return true;
	return false;
}

/* Reports to the control thread that a process is active again. */
static void report_activity(struct drain *d)
{
	__atomic_store_n(&d->active, 1, __ATOMIC_RELEASE);
	wake_event(d->event);
}

/* Returns how long to sleep, in ns, after a round that read `bytes` bytes. */
static long patience(struct drain *d, uint64_t bytes)
{
	bool trickle = d->idle > LONG_AFTER && !d->called && bytes <= TRICKLE;
	if (bytes && d->idle > LONG_AFTER)
		report_activity(d);
	if (bytes)
		d->idle = trickle ? LONG_AFTER + 1 : 0;
	else
		d->idle++;
	uint64_t sampled = all_sampled(d);
	bool late, attached = any_attached(d, &late);
	bool sparse = sampled >= SPARSE_BYTES && bytes <= MANY_BYTES && !late;
	if (any_left(d) || (bytes > MANY_BYTES && (d->called || attached || !sampled)))
		return BUSY_NS;
	if (attached)
		return sparse ? SPARSE_NS : sampled ? IDLE_NS : ATTACHED_NS;
	bool judged = d->sessions.n && d->sessions.v[0]->opt->judged;
	long most = judged                            ? JUDGED_NS
		    : d->idle > DEEP_AFTER || sampled ? DEEP_NS
		    : d->idle > LONG_AFTER            ? LONG_NS
						      : IDLE_NS;
	return most > IDLE_NS && most > longest(d) ? longest(d) : most;
}

/* ---- the thread ---- */

static void add_pool(struct drain *d, struct pool *p)
{
	pool_ref(p);
	*MS_PUSH(&d->pools) = p;
}

static void adopt(struct drain *d)
{
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->arrived.n; i++) {
		struct session *s = *MS_PUSH(&d->sessions) = d->arrived.v[i];
		if (s->pool && !s->slot)
			add_pool(d, s->pool);
	}
	d->arrived.n = 0;
	pthread_mutex_unlock(&d->lock);
	drain_requests_take(d);
}

/* Creates the session of a forked child that has taken a slot (memory for one child) of the pool.
 * The control thread then finds the child's process. */
static void add_child(void *arg, struct pool *p, uint32_t slot)
{
	struct drain *d = arg;
	struct session *s = recording_of_child(p, slot);
	pthread_mutex_lock(&d->lock);
	*MS_PUSH(&d->children) = s;
	wake_event(d->child_event);
	pthread_mutex_unlock(&d->lock);
}

/* Wakes the control thread if a thread of the target waits for hooks to be installed. */
static void report_late_hooks(struct drain *d, struct session *s)
{
	if (!hook_late_asked(s))
		return;
	if (s->modules.attached) { /* the module table is needed for the first stacks in the new
				      module, too */
		attach_modules_opened(&s->modules);
		session_update_modules(s);
		__atomic_store_n(&s->late_modules, 1, __ATOMIC_RELEASE);
	}
	wake_event(d->event);
}

static uint64_t round_all(struct drain *d)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < d->sessions.n;) {
		struct session *s = d->sessions.v[i];
		bool over = __atomic_load_n(&s->ending, __ATOMIC_ACQUIRE) != SESSION_RUNS;
		if (!s->settled && !forks_settle(s)) {
			i++; /* the session of the process's parent must be settled first */
		} else if (over && scan_over(s)) {
			i++; /* the scan's results belong in the trace */
		} else if (over) {
			conclude(s);
			d->sessions.v[i] = d->sessions.v[--d->sessions.n];
		} else {
			bytes += round_session(s);
			report_late_hooks(d, s);
			i++;
		}
	}
	return bytes;
}

/* Creates the sessions of forked children that have taken pool slots, and drops pools that are no
 * longer used. */
static void round_pools(struct drain *d)
{
	uint64_t now = clock_mono();
	for (size_t i = 0; i < d->pools.n;) {
		struct pool *p = d->pools.v[i];
		if (!pool_unused(p, now)) {
			pool_round(p, add_child, d);
			i++;
			continue;
		}
		pthread_mutex_lock(&d->lock);
		d->pools.v[i] = d->pools.v[--d->pools.n];
		pthread_mutex_unlock(&d->lock);
		forks_forget(p);
		pool_unref(p);
	}
}

static void free_pools(struct drain *d)
{
	for (size_t i = 0; i < d->pools.n; i++) {
		pool_shut(d->pools.v[i]);
		forks_forget(d->pools.v[i]);
		pool_unref(d->pools.v[i]);
	}
	free(d->pools.v);
}

static void *run(void *arg)
{
	struct drain *d = arg;
	prctl(PR_SET_TIMERSLACK, 1000);
	for (;;) {
		uint32_t ours = __atomic_load_n(&d->wake.word, __ATOMIC_ACQUIRE);
		bool stop = __atomic_load_n(&d->stop, __ATOMIC_ACQUIRE);
		quiet_wait();
		adopt(d);
		uint64_t bytes = round_all(d);
		round_pools(d);
		__atomic_add_fetch(&d->wake.rounds, 1, __ATOMIC_RELEASE);
		drain_requests_answer(d);
		if (stop && !d->sessions.n) {
			free_pools(d);
			return NULL;
		}
		sleep_a_while(d, ours, patience(d, bytes));
	}
}

int drain_start(struct drain *d, struct writer *writer, int event)
{
	memset(d, 0, sizeof *d);
	d->writer = writer;
	d->event = event;
	d->child_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&d->lock, NULL);
	int e = pthread_create(&d->thread, NULL, run, d);
	d->started = e == 0;
	errno = e;
	return e ? -1 : 0;
}

void drain_add(struct drain *d, struct session *s)
{
	pthread_mutex_lock(&d->lock);
	*MS_PUSH(&d->arrived) = s;
	pthread_mutex_unlock(&d->lock);
	wake_up(&d->wake);
}

struct session *drain_next_child(struct drain *d)
{
	struct session *s = NULL;
	uint64_t count;
	pthread_mutex_lock(&d->lock);
	if (d->children.n) {
		s = d->children.v[0];
		memmove(d->children.v, d->children.v + 1, --d->children.n * sizeof *d->children.v);
	} else if (read(d->child_event, &count, sizeof count) < 0) {
		s = NULL; /* the eventfd was not written to: no new child */
	}
	pthread_mutex_unlock(&d->lock);
	return s;
}

bool drain_has_pool(struct drain *d, uint64_t inode)
{
	bool has = false;
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->pools.n; i++)
		has |= d->pools.v[i]->shape.slot_max && (!inode || d->pools.v[i]->inode == inode);
	pthread_mutex_unlock(&d->lock);
	return has;
}

void drain_stop(struct drain *d)
{
	if (!d->started)
		return;
	__atomic_store_n(&d->stop, true, __ATOMIC_RELEASE);
	wake_up(&d->wake);
	pthread_join(d->thread, NULL);
	d->started = false;
	for (size_t i = 0; i < d->children.n; i++)
		recording_free(d->children.v[i]);
	MS_FREE(d->children.v, d->sessions.v, d->arrived.v);
	close(d->child_event);
}
