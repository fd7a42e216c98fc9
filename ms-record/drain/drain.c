/* SPDX-License-Identifier: MIT
 * The draining thread.
 *
 * One round: look at every ring of every session, merge what is below the watermark, hand on what
 * is due. When nothing came it sleeps up to 10 ms, up to 100 ms once nothing came for a while, and
 * up to 400 ms later on (what the end of a process may have to wait for: guest/end.c gives up after
 * a second). A thread of the target that has half filled its ring wakes it earlier, through the
 * futex word `sleeping` of its session, and out of a long sleep a thread that begins, too.
 */
#include "drain.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "drain_requests.h"
#include "finish.h"
#include "ms-record/heap/forks.h"
#include "ms-record/attach/hook_late.h"
#include "libcommon/base/arena.h"
#include "ms-record/heap/merge.h"
#include "ms-record/session/modules.h"
#include "ms-record/session/pool.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/session/ranges.h"
#include "ring.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/session.h"
#include "ms-record/session/threads.h"

#define IDLE_NS 10000000
#define BUSY_NS 1000000
#define ATTACHED_NS 2000000 /* who is not waited for cannot wait either */
#define LONG_NS 100000000
#define LONG_AFTER 20u /* rounds in which nothing came */
#define DEEP_NS 400000000
#define DEEP_AFTER (LONG_AFTER + 4u)
#define TRICKLE 1024u /* bytes that came in a long sleep, and are no reason to sleep less */
#define BATCH_NS UINT64_C(100000000)
#define LOOK_NS UINT64_C(20000000)
#define SLACK_NS 100000u
#define WAITERS_MAX 126u
#define SETTLE_LEAST_NS 400000u
#define SETTLE_MOST_NS UINT64_C(100000000)
#define FOR_EVER (UINT64_MAX >> 2) /* later than any stamp */

/* ---- one session, one round ---- */

static uint64_t slack(const struct session *s)
{
	return s->clock.tsc ? (uint64_t)((double)SLACK_NS * (double)s->tsc_hz / 1e9) : 0;
}

/* Reads and merges. Returns the bytes read. */
static uint64_t round_events(struct session *s)
{
	uint64_t now = clock_round(&s->clock), limit;
	__atomic_store_n(&s->mem->heartbeat, now, __ATOMIC_RELAXED);
	__atomic_store_n(&s->mem->ticks, __rdtsc(), __ATOMIC_RELAXED);
	modules_update(s);
	ranges_look(s);
	uint64_t last = clock_settled(&s->clock) ? now - slack(s) : s->merged_to;
	uint64_t bytes = ring_read_all(s, last, &limit);
	uint64_t ahead = merge_lookahead(s);
	if (limit > ahead) {
		drain_requests_merge(s, limit - ahead);
		scan_merge(s, limit - ahead);
		forks_merge(s, limit - ahead);
		merge_until(s, limit - ahead);
		s->merged_to = limit - ahead;
	}
	return bytes;
}

/* Under --max-size what says whose trace it is goes first, while there is room for it. */
static bool batch_due(const struct session *s, uint64_t now)
{
	if (!s->flushed_ns && s->writer->limit.max)
		return true;
	const struct batch *b = s->batch;
	if (s->block_events || (b && b->events.n))
		return now >= s->batch_since + BATCH_NS;
	return now >= s->flushed_ns + BATCH_NS;
}

static void round_rest(struct session *s)
{
	uint64_t now = session_now(s);
	if (now >= s->looked_ns + LOOK_NS) {
		s->looked_ns = now;
		threads_look(s, false);
		ring_return(s, false);
		forks_tidy(s);
		for (size_t i = 0; i < s->taken.n && !s->damaged; i++) {
			ring_shrink(s->taken.v[i]);
			ring_counters(s, s->taken.v[i]);
		}
	}
	ring_prepare(s);
	if (batch_due(s, now)) {
		s->flushed_ns = now;
		session_flush(s);
	}
}

/* What children of this process inherit stays; its slot, if it had one, is free again. */
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

/* The image is over: all that it wrote is in the rings. */
static void conclude(struct session *s)
{
	uint64_t limit = 0;
	clock_round(&s->clock);
	if (!s->damaged)
		modules_update(s);
	while (!s->damaged) {
		uint64_t bytes = ring_read_all(s, FOR_EVER, &limit);
		if (!bytes && limit == FOR_EVER)
			break;
		merge_until(s, limit);
	}
	merge_until(s, UINT64_MAX);
	preexisting_look(s, true);
	drain_requests_perform(s);
	threads_look(s, true);
	for (size_t i = 0; i < s->taken.n; i++)
		ring_counters(s, s->taken.v[i]);
	scan_finish(s);
	finish_trace(s);
	leave_pool(s);
	__atomic_store_n(&s->finished, 1, __ATOMIC_RELEASE);
}

static uint64_t round_session(struct session *s)
{
	uint64_t bytes = s->damaged ? 0 : round_events(s);
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

/* Tells every image and its children that we sleep; false when something came in meanwhile. */
static bool announce_idle(struct drain *d, uint32_t how)
{
	for (size_t i = 0; i < d->pool_count; i++)
		__atomic_store_n(&d->pools[i]->head->sleeping, how, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < d->pool_count; i++)
		if (pool_slot_wanted(d->pools[i]))
			return false;
	for (size_t i = 0; i < d->count; i++)
		if (!d->sessions[i]->damaged &&
		    (ring_half_full(d->sessions[i]) || ranges_due(d->sessions[i])))
			return false;
	return true;
}

/* Waits on the words of all images and our own at once; where the kernel cannot, on the first
 * image's. False: nobody called. */
static bool wait_all(struct drain *d, uint32_t ours, uint32_t how, long ns)
{
	struct futex_waitv v[WAITERS_MAX + 1] = {0};
	size_t n = 0;
	v[n++] = (struct futex_waitv){
		.val = ours, .uaddr = (uintptr_t)&d->wake, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG};
	for (size_t i = 0; i < d->pool_count && n <= WAITERS_MAX; i++)
		v[n++] = (struct futex_waitv){.val = how,
					      .uaddr = (uintptr_t)&d->pools[i]->head->sleeping,
					      .flags = FUTEX_32};
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	if (syscall(SYS_futex_waitv, v, n, 0, &until, CLOCK_MONOTONIC) >= 0)
		return true;
	if (errno != ENOSYS)
		return errno != ETIMEDOUT;
	struct timespec shorter = {0, ns > 1000000 ? 1000000 : ns};
	if (d->pool_count)
		futex(&d->pools[0]->head->sleeping, FUTEX_WAIT, how, &shorter);
	else
		futex(&d->wake, FUTEX_WAIT_PRIVATE, ours, &shorter);
	return true;
}

static void sleep_a_while(struct drain *d, uint32_t ours, long ns)
{
	uint32_t how = ns > IDLE_NS ? MG_SLEEPS_LONG : MG_SLEEPS;
	d->called = !announce_idle(d, how) || wait_all(d, ours, how, ns);
	for (size_t i = 0; i < d->pool_count; i++)
		__atomic_store_n(&d->pools[i]->head->sleeping, 0, __ATOMIC_SEQ_CST);
}

/* How often nobody has to look: somebody wakes us before a ring is full, and nothing is under way.
 * Without the processor's clock stamps get their time by when they were read. */
static long longest(const struct drain *d)
{
	long most = DEEP_NS;
	for (size_t i = 0; i < d->count; i++) {
		const struct session *s = d->sessions[i];
		if (session_seccomp(s))
			return IDLE_NS; /* nobody wakes us */
		if (!s->clock.tsc || !s->settled || s->batch_left || s->block_events)
			most = LONG_NS;
	}
	return most;
}

/* A process that does not wait for us, and does not wake us. */
static bool any_attached(const struct drain *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->sessions[i]->attach_modules)
			return true;
	return false;
}

/* The control thread looks at a process that does something again. */
static void report_activity(struct drain *d)
{
	uint64_t one = 1;
	__atomic_store_n(&d->active, 1, __ATOMIC_RELEASE);
	if (write(d->event, &one, sizeof one) < 0)
		return; /* it is set already */
}

/* How long, after a round that read so many bytes. */
static long patience(struct drain *d, uint64_t bytes)
{
	bool trickle = d->idle > LONG_AFTER && !d->called && bytes <= TRICKLE;
	if (bytes && d->idle > LONG_AFTER)
		report_activity(d);
	if (bytes)
		d->idle = trickle ? LONG_AFTER + 1 : 0;
	else
		d->idle++;
	if (bytes > 4096)
		return BUSY_NS;
	if (any_attached(d))
		return ATTACHED_NS;
	long most = d->idle > DEEP_AFTER ? DEEP_NS : d->idle > LONG_AFTER ? LONG_NS : IDLE_NS;
	return most > IDLE_NS && most > longest(d) ? longest(d) : most;
}

/* ---- the thread ---- */

static void add_pool(struct drain *d, struct pool *p)
{
	pool_ref(p);
	if (d->pool_count == d->pool_room) {
		d->pool_room = d->pool_room ? d->pool_room * 2 : 8;
		d->pools = ms_xrealloc(d->pools, d->pool_room, sizeof(struct pool *));
	}
	d->pools[d->pool_count++] = p;
}

static void adopt(struct drain *d)
{
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->arrived_count; i++) {
		if (d->count == d->room) {
			d->room = d->room ? d->room * 2 : 8;
			d->sessions = ms_xrealloc(d->sessions, d->room, sizeof *d->sessions);
		}
		d->sessions[d->count++] = d->arrived[i];
		if (d->arrived[i]->pool && !d->arrived[i]->slot)
			add_pool(d, d->arrived[i]->pool);
	}
	d->arrived_count = 0;
	pthread_mutex_unlock(&d->lock);
	drain_requests_take(d);
}

/* A child took a slot: the control thread looks for its process. */
static void add_child(void *arg, struct pool *p, uint32_t slot)
{
	struct drain *d = arg;
	uint64_t one = 1;
	struct session *s = forks_child_session(p, slot);
	pthread_mutex_lock(&d->lock);
	if (d->child_count == d->child_room) {
		d->child_room = d->child_room ? d->child_room * 2 : 8;
		d->children = ms_xrealloc(d->children, d->child_room, sizeof(struct session *));
	}
	d->children[d->child_count++] = s;
	if (write(d->child_event, &one, sizeof one) < 0)
		errno = 0; /* it is signalled already */
	pthread_mutex_unlock(&d->lock);
}

/* A thread waits for hooks, which are the control thread's. */
static void report_late_hooks(struct drain *d, const struct session *s)
{
	uint64_t one = 1;
	if (hook_late_asked(s) && write(d->event, &one, sizeof one) < 0)
		errno = 0; /* it is signalled already */
}

static uint64_t round_all(struct drain *d)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < d->count;) {
		struct session *s = d->sessions[i];
		bool over = __atomic_load_n(&s->ending, __ATOMIC_ACQUIRE) != SESSION_RUNS;
		if (!s->settled && !forks_settle(s)) {
			i++; /* its parent comes first */
		} else if (over && scan_over(s)) {
			i++; /* what it finds belongs into the trace */
		} else if (over) {
			conclude(s);
			d->sessions[i] = d->sessions[--d->count];
		} else {
			bytes += round_session(s);
			report_late_hooks(d, s);
			i++;
		}
	}
	return bytes;
}

/* Children that took a slot; images of which nothing is left. */
static void round_pools(struct drain *d)
{
	uint64_t now = clock_mono();
	for (size_t i = 0; i < d->pool_count;) {
		struct pool *p = d->pools[i];
		if (!pool_unused(p, now)) {
			pool_round(p, add_child, d);
			i++;
			continue;
		}
		forks_forget(p);
		pool_unref(p);
		d->pools[i] = d->pools[--d->pool_count];
	}
}

static void free_pools(struct drain *d)
{
	for (size_t i = 0; i < d->pool_count; i++) {
		pool_shut(d->pools[i]);
		forks_forget(d->pools[i]);
		pool_unref(d->pools[i]);
	}
	free(d->pools);
}

static void *run(void *arg)
{
	struct drain *d = arg;
	prctl(PR_SET_TIMERSLACK, 1000);
	for (;;) {
		uint32_t ours = __atomic_load_n(&d->wake, __ATOMIC_ACQUIRE);
		bool stop = __atomic_load_n(&d->stop, __ATOMIC_ACQUIRE);
		adopt(d);
		uint64_t bytes = round_all(d);
		round_pools(d);
		__atomic_add_fetch(&d->rounds, 1, __ATOMIC_RELEASE);
		drain_requests_answer(d);
		if (stop && !d->count) {
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

void drain_wake(struct drain *d)
{
	__atomic_add_fetch(&d->wake, 1, __ATOMIC_SEQ_CST);
	futex(&d->wake, FUTEX_WAKE_PRIVATE, 1, NULL);
}

void drain_add(struct drain *d, struct session *s)
{
	pthread_mutex_lock(&d->lock);
	if (d->arrived_count == d->arrived_room) {
		d->arrived_room = d->arrived_room ? d->arrived_room * 2 : 8;
		d->arrived = ms_xrealloc(d->arrived, d->arrived_room, sizeof(struct session *));
	}
	d->arrived[d->arrived_count++] = s;
	pthread_mutex_unlock(&d->lock);
	drain_wake(d);
}

uint32_t drain_rounds(const struct drain *d)
{
	return __atomic_load_n(&d->rounds, __ATOMIC_ACQUIRE);
}

void drain_settle(struct drain *d)
{
	uint64_t start = clock_mono(), now = start;
	uint32_t rounds = drain_rounds(d);
	while ((drain_rounds(d) - rounds < 2 || now < start + SETTLE_LEAST_NS) &&
	       now < start + SETTLE_MOST_NS) {
		drain_wake(d);
		usleep(100);
		now = clock_mono();
	}
}

struct session *drain_next_child(struct drain *d)
{
	struct session *s = NULL;
	uint64_t count;
	pthread_mutex_lock(&d->lock);
	if (d->child_count) {
		s = d->children[0];
		memmove(d->children, d->children + 1, --d->child_count * sizeof(struct session *));
	} else if (read(d->child_event, &count, sizeof count) < 0) {
		s = NULL; /* none came */
	}
	pthread_mutex_unlock(&d->lock);
	return s;
}

void drain_stop(struct drain *d)
{
	if (!d->started)
		return;
	__atomic_store_n(&d->stop, true, __ATOMIC_RELEASE);
	drain_wake(d);
	pthread_join(d->thread, NULL);
	d->started = false;
	for (size_t i = 0; i < d->child_count; i++)
		session_free(d->children[i]);
	free(d->children);
	free(d->sessions);
	free(d->arrived);
	close(d->child_event);
}
