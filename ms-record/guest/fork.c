/* SPDX-License-Identifier: MIT
 * Handles forked children: each begins a recording of its own, in a slot of the image's memory.
 *
 * The gate is on a page that the kernel zeroes in a child, however it was made, so a child's first
 * event comes here. All memory except the session is the child's own copy of its parent's.
 *
 *  F1 Nothing is written to the parent's session: if a child is still inside a hook of its parent
 *     (it was forked by a signal handler), its writer is disconnected from the session, and its
 *     events only pass through until that hook is left.
 *
 *  F2 One thread adopts the process, the others wait for it. It takes a slot, copies the list of
 *     modules as it was at the fork, and begins a generation: writers of an earlier one are void.
 *     Only the thread that forked can own such a writer; if another thread adopts, ring 0 gets a
 *     writer that was never used, so that no writer is used by two threads.
 *
 *  F3 System calls are futex and getpid; gettid if the child was made by a raw system call, because
 *     then the C library does not know its tid; mmap for F1; mremap for the slot. None of them under
 *     a seccomp filter.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core.h"

#define CLAIM_PASSES 32u
#define NAP_NS 2000000
/* seconds without a heartbeat after which ms-record counts as gone, and no thread waits for a pool
 * slot */
#define GONE_S 2u
#define OLD_WRITER UINT64_MAX /* `busy` of a writer of an earlier generation */
#ifndef MG_IMAGE
#define SLOT_TRIES 50 /* number of waits, of NAP_NS each (0.1 s in all), for a free pool slot */
#define MG_SHUT mg_shut
#else
#define SLOT_TRIES 1 /* children of an attached process do not wait for ms-record */
#endif
/* number of waits, of NAP_NS each (0.1 s in all), for a thread taking a pool slot */
#define ADOPTION_TRIES 50

/* ---- F1 -------------------------------------------------------------------------------------- */

static void cut_off(struct mg_writer *t)
{
	for (; t && t->ring != &mg.void_ring; t = t->nested) {
		uint64_t bytes = mg_window_bytes(t->ring);
		t->ring = &mg.void_ring;
		/* The interrupted hook may still write to the address of its record, so private
		 * memory replaces the window there. */
		if (t->busy && !mg_filtered())
			mg_syscall(SYS_mmap, (uint64_t)t->window, bytes, PROT_READ | PROT_WRITE,
				   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				   UINT64_MAX, 0);
	}
}

/* Tells whether this thread is inside a hook that began in its parent process. */
static bool inside(const uint64_t *frame)
{
	struct mg_writer *t = mg_own_writer();
	if (*MG_SELF & 1 && *MG_SELF < 2 * CLAIM_PASSES) { /* the thread may be taking a ring */
		*MG_SELF += 2;
		return true;
	}
	if (!t || t->generation != mg.generation || !t->busy || !mg_still_inside(t, frame))
		return false;
	cut_off(t);
	return true;
}

/* ---- F2 -------------------------------------------------------------------------------------- */

static struct mg_fork_slot *take_slot(void)
{
	for (uint32_t i = 0; i < mg.slot_count; i++) {
		struct mg_fork_slot *d = &mg.slots[i];
		uint32_t is_free = MG_SLOT_FREE;
		if (__atomic_load_n(&d->state, __ATOMIC_RELAXED) == MG_SLOT_FREE &&
		    __atomic_compare_exchange_n(&d->state, &is_free, MG_SLOT_TAKEN, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return d;
	}
	return NULL;
}

static void want_slots(void)
{
	__atomic_store_n(&mg.head->slots_wanted, 1, __ATOMIC_SEQ_CST);
	mg_wake_recorder();
}

static struct mg_fork_slot *wait_for_slot(void)
{
	struct mg_fork_slot *d = take_slot();
	/* If both the parent process and the process that owns the pool have ended or called
	 * exec, ms-record reads neither session any more. */
	bool gone =
		mg_heartbeat_timeout(mg.head, GONE_S) && mg_heartbeat_timeout(mg.session, GONE_S);
	for (int i = 0; !d && mg.slot_count && !gone && i < SLOT_TRIES; i++) {
		uint32_t seen = __atomic_load_n(&mg.head->slots_futex, __ATOMIC_ACQUIRE);
		want_slots();
		if (!(d = take_slot()))
			mg_futex(&mg.head->slots_futex, MG_FUTEX_WAIT, seen, NAP_NS);
		if (__atomic_load_n(&mg.head->state, __ATOMIC_RELAXED) == MG_OFF)
			break;
	}
	return d ? d : take_slot();
}

/* Returns this thread's tid. In a forked child, the tid that the C library stores is correct
 * only if the C library itself forked. */
static uint32_t own_tid(void)
{
	const struct mg_writer *t = mg_own_writer();
	bool raw = mg.raw_tp == mg_thread_pointer();
	mg.raw_tp = 0;
	uint32_t tid = mg.backend.tid();
	if (mg_filtered() || (!raw && (mg.fork_stamp || (t && t->tid != tid))))
		return tid;
	uint32_t real = (uint32_t)mg_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	if (real != tid) {
		mg.raw_tp = mg_thread_pointer();
		mg.raw_tid = real;
	}
	return real;
}

/* Returns the process's pid, which equals the tid of the thread that forked. *forked tells whether
 * this thread is the one that forked. If getpid may not be called, returns this thread's tid
 * instead, from which ms-record finds the process, and *forked tells whether the thread has a
 * writer. In an attached process, that may be the writer of an ended thread whose control block is
 * reused. */
static uint32_t own_pid(bool *forked)
{
	uint32_t tid = own_tid();
	*forked = *MG_SELF;
	if (!mg_may_call())
		return tid;
	uint32_t pid = (uint32_t)mg_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	*forked = pid == tid && *MG_SELF;
	return pid;
}

/* Begins a new generation of writers: determines which writers a forked child may use. */
static void begin_generation(uint32_t rings, bool forked)
{
	uint32_t used = mg.writers_used, base = 0;
	if (!forked) { /* this thread did not fork: the thread that did may still use its writer, so
			  no inherited writer is reused */
		base = used;
		for (uint32_t i = 0; i < used; i++) {
			struct mg_writer *t = mg_grown(mg.writers, i, mg.writer_bytes);
			if (t)
				t->busy = OLD_WRITER;
		}
	}
	*MG_SELF = 0;
	mg.generation++;
	mg.writer_base = base;
	mg.writer_count = mg.writers_all - base < rings ? mg.writers_all - base : rings;
	mg.closing = 0;
	for (uint32_t i = 0; i < MG_DEEP_MAX; i++)
		mg.deep_taken[i] = 0;
}

/* Tells whether this child was forked before the parent's thread took part in the recording (on
 * standby), so that the child inherited no recorded blocks. */
static bool forked_asleep(void)
{
	const struct mg_writer *t = mg_own_writer();
	uint32_t wake = __atomic_load_n(&mg.session->wake, __ATOMIC_RELAXED);
	return wake && !(t && t->wake == wake);
}

static void begin(struct mg_fork_slot *d, unsigned char *at)
{
	bool asleep = forked_asleep(), forked;
	struct mg_session *s = (struct mg_session *)(void *)at;
	uint64_t now = !mg.sequence ? mg_counter()
				    : __atomic_load_n(&mg.session->sequence, __ATOMIC_SEQ_CST);
	d->pid = own_pid(&forked);
	d->parent = asleep ? 0 : mg.serial;
	d->fork_stamp = asleep ? 0 : mg.fork_stamp;
	d->first_stamp = now;
	s->seccomp_seen = mg_filtered();
	s->blind = mg.blind;
	s->ticks = __atomic_load_n(&mg.session->ticks, __ATOMIC_RELAXED);
	s->heartbeat = __atomic_load_n(&mg.head->heartbeat, __ATOMIC_RELAXED);
	/* recording may be paused by now */
	s->state = __atomic_load_n(&mg.head->state, __ATOMIC_RELAXED);
	s->told_paused = __atomic_load_n(&mg.head->told_paused, __ATOMIC_SEQ_CST);
	s->late_missed = __atomic_load_n(&mg.session->late_missed, __ATOMIC_RELAXED);
	s->roots = mg.session->roots; /* the child has a copy of the parent's roots */
	mg_user_begin(s);
	s->reentry_lost = mg.missed;
	begin_generation(s->ring_max, forked);
	mg.fork_stamp = mg.missed = 0;
	mg.session = s;
	mg.serial = s->serial;
	mg.modules = (struct mg_module *)(void *)(at + s->modules_offset);
	mg.rings = (struct mg_ring *)(void *)(at + s->rings_offset);
	mg_grow_whole(mg.windows, at + s->data_offset,
		      mg.slots_mapped ? s->ring_max : MG_CHUNK_FIRST, s->window_bytes);
	mg.backend.modules_forked();
	__atomic_store_n(&s->guest_ready, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&d->ready, 1, __ATOMIC_RELEASE);
}

/* Counts as lost the events of threads that waited in vain for this process to get a pool slot,
 * unless begin() has counted them. */
static void count_missed(void)
{
	uint64_t missed = __atomic_exchange_n(&mg.missed, 0, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&mg.session->reentry_lost, missed, __ATOMIC_RELAXED);
}

static bool adopt(struct mg_gate *g)
{
	struct mg_fork_slot *d = wait_for_slot();
	unsigned char *at = d ? mg_grow_slot((uint32_t)(d - mg.slots)) : NULL;
	if (!at) {
		if (d)
			__atomic_store_n(&d->state, MG_SLOT_FREE, __ATOMIC_RELEASE);
		__atomic_fetch_add(&mg.head->forks, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&g->counted, 1, __ATOMIC_RELEASE);
		return false;
	}
	begin(d, at);
	__atomic_store_n(&g->on, mg_gate_open(), __ATOMIC_SEQ_CST);
	count_missed();
	mg_wake_recorder();
	return true;
}

/* Waits until another thread has taken a pool slot for this process. Does not wait in a signal
 * handler that interrupted that thread. */
static bool wait_for_adoption(struct mg_gate *g, uint64_t who)
{
	for (int i = 0;; i++) {
		if (__atomic_load_n(&g->on, __ATOMIC_ACQUIRE))
			return true;
		if (__atomic_load_n(&g->counted, __ATOMIC_ACQUIRE))
			return false;
		if (i == ADOPTION_TRIES || who == mg_thread_pointer())
			break;
		mg_futex(&g->on, MG_FUTEX_WAIT, 0, NAP_NS);
	}
	__atomic_fetch_add(&mg.missed, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&g->on, __ATOMIC_SEQ_CST))
		count_missed();
	return false;
}

bool MG_SHUT(const uint64_t *frame)
{
	struct mg_gate *g = mg.gate;
	uint64_t nobody = 0;
	if (!mg.session) {
		mg.early++;
		return false;
	}
	if (__atomic_load_n(&mg.head->state, __ATOMIC_RELAXED) == MG_OFF)
		return false;
	if (inside(frame)) {
		mg.missed++;
		return false;
	}
	if (!__atomic_compare_exchange_n(&g->adopting, &nobody, mg_thread_pointer(), false,
					 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return wait_for_adoption(g, nobody);
	return adopt(g);
}

/* ---- fork() ---------------------------------------------------------------------------------- */

uint64_t mg_fork_begin(const uint64_t *frame)
{
	/* Treats a process forked by a child that has not recorded anything yet as forked by the
	 * child's own parent. */
	if (!mg.slot_count || !__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		return 0;
	uint64_t stamp = mg_on_fork(frame);
	mg.fork_stamp = stamp;
	__atomic_store_n(&mg.head->slots_wanted, 1, __ATOMIC_SEQ_CST); /* soon */
	return stamp;
}

void mg_fork_end(const uint64_t *frame, uint64_t stamp, bool child)
{
	if (!child) {
		if (stamp && mg.fork_stamp == stamp)
			mg.fork_stamp = 0;
		return;
	}
	if (!mg.slot_count || __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		return;
	if (stamp) /* another thread's fork may have changed the stamp */
		mg.fork_stamp = stamp;
	inside(frame);
}
