/* SPDX-License-Identifier: MIT
 * Forked children: each begins a recording of its own, in a slot of the image's memory.
 *
 * The gate is on a page that the kernel wipes in a child, however it was made, so a child's first
 * event comes here. All memory but the session is the child's own copy of its parent's.
 *
 *  F1 Nothing is written to the parent's session: a child that is still inside a hook of its parent
 *     (it was forked by a signal handler) has its writer cut off from it, and only passes through
 *     until that hook is left.
 *
 *  F2 One thread adopts, the others wait for it. It takes a slot, lays the modules down as they
 *     were at the fork, and begins a generation: writers of an earlier one are void. Only the
 *     thread that forked can have such a writer as its own; where another one adopts, ring 0 is
 *     given a writer that was never used, so that no writer is used by two threads.
 *
 *  F3 No system call but futex; gettid where the child was made by a raw system call, because the C
 *     library does not know its number then; getpid where the thread that adopts may not be the one
 *     that forked; mmap for F1; mremap for the slot. None of them under a seccomp filter.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core.h"

#define CLAIM_PASSES 32u
#define NAP_NS 2000000
#define GONE_S 2u             /* without a heartbeat: nobody makes slots */
#define OLD_WRITER UINT64_MAX /* busy with what is over */
#ifndef MG_IMAGE
#define TRIES 50 /* of NAP_NS each, for a slot or for the thread that looks for one */
#define MG_SHUT mg_shut
#else
#define TRIES 1 /* an attached process's children do not wait for us either */
#endif

/* ---- F1 -------------------------------------------------------------------------------------- */

static void cut_off(struct mg_writer *t)
{
	for (; t && t->ring != &mg.void_ring; t = t->nested) {
		uint64_t bytes = mg_window_bytes(t->ring);
		t->ring = &mg.void_ring;
		/* The hook may hold the address of the record that it was about to write. */
		if (t->busy && !mg_filtered())
			mg_syscall(SYS_mmap, (uint64_t)t->window, bytes, PROT_READ | PROT_WRITE,
				   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				   UINT64_MAX, 0);
	}
}

/* Is this thread inside a hook that its parent began? */
static bool inside(const uint64_t *frame)
{
	struct mg_writer *t = mg_own_writer();
	if (*MG_SELF & 1 && *MG_SELF < 2 * CLAIM_PASSES) { /* perhaps it was taking a ring */
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
	/* The parent may be over, or the image: ms-record looks at neither any more then. */
	bool gone =
		mg_heartbeat_timeout(mg.head, GONE_S) && mg_heartbeat_timeout(mg.session, GONE_S);
	for (int i = 0; !d && mg.slot_count && !gone && i < TRIES; i++) {
		uint32_t seen = __atomic_load_n(&mg.head->slots_futex, __ATOMIC_ACQUIRE);
		want_slots();
		if (!(d = take_slot()))
			mg_futex(&mg.head->slots_futex, MG_FUTEX_WAIT, seen, NAP_NS);
		if (__atomic_load_n(&mg.head->state, __ATOMIC_RELAXED) == MG_OFF)
			break;
	}
	return d ? d : take_slot();
}

/* This thread's number. The C library keeps it, and corrects it in a child that it made itself. */
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

/* Returns the process's number: the tid of the thread that forked. If getpid may not be called, the
 * tid of any thread, which leads ms-record there. */
static uint32_t own_pid(void)
{
	uint32_t tid = own_tid();
	if (*MG_SELF || mg_filtered())
		return tid;
	return (uint32_t)mg_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Which writers may be used. */
static void begin_generation(uint32_t rings)
{
	uint32_t used = mg.writers_used, base = 0;
	if (!*MG_SELF) { /* another thread may have forked, and still have its writer */
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

/* On standby: did it fork before its parent's thread began this recording? Then it has nothing of
 * what that recorded. */
static bool forked_asleep(void)
{
	const struct mg_writer *t = mg_own_writer();
	uint32_t wake = __atomic_load_n(&mg.session->wake, __ATOMIC_RELAXED);
	return wake && !(t && t->wake == wake);
}

static void begin(struct mg_fork_slot *d, unsigned char *at)
{
	bool asleep = forked_asleep();
	struct mg_session *s = (struct mg_session *)(void *)at;
	uint64_t now = !mg.sequence ? mg_counter()
				    : __atomic_load_n(&mg.session->sequence, __ATOMIC_SEQ_CST);
	d->pid = own_pid();
	d->parent = asleep ? 0 : mg.serial;
	d->fork_stamp = asleep ? 0 : mg.fork_stamp;
	d->first_stamp = now;
	s->seccomp_seen = mg_filtered();
	s->blind = mg.blind;
	s->ticks = __atomic_load_n(&mg.session->ticks, __ATOMIC_RELAXED);
	s->heartbeat = __atomic_load_n(&mg.head->heartbeat, __ATOMIC_RELAXED);
	s->state = __atomic_load_n(&mg.head->state, __ATOMIC_RELAXED); /* it may be paused by now */
	s->told_paused = __atomic_load_n(&mg.head->told_paused, __ATOMIC_SEQ_CST);
	s->roots = mg.session->roots; /* it has a copy of them */
	mg_user_begin(s);
	s->reentry_lost = mg.missed;
	begin_generation(s->ring_max);
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

/* Counts events of threads that did not wait long enough for the one that adopts, and were not
 * counted by begin. */
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

/* Another thread adopts. A signal handler that interrupts it is not waited for. */
static bool wait_for_adoption(struct mg_gate *g, uint64_t who)
{
	for (int i = 0;; i++) {
		if (__atomic_load_n(&g->on, __ATOMIC_ACQUIRE))
			return true;
		if (__atomic_load_n(&g->counted, __ATOMIC_ACQUIRE))
			return false;
		if (i == TRIES || who == mg_thread_pointer())
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
	/* A child that has recorded nothing: its own child is its parent's, as of the first fork.
	 */
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
	if (stamp) /* another thread's may have come between */
		mg.fork_stamp = stamp;
	inside(frame);
}
