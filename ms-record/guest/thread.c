/* SPDX-License-Identifier: MIT
 * Manages threads' places: a writer for each ring, which a thread takes at its first event and only
 * ms-record frees.
 *
 * Writer i is private memory that belongs to ring i.
 */
#include "record.h"

struct mg_gate mg_closed_gate;
struct mg_core mg = {.gate = &mg_closed_gate};

/* number of events after which a thread without a ring looks for one again */
#define RETRY_EVENTS 256u
/* Limits for hooks called in signal handlers that interrupt another hook: see enter_busy. */
#define NESTED 4u       /* maximum number of nested hooks with rings of their own */
#define NESTED_WALKS 2u /* maximum number of nested hooks that always take their stacks */
#define LOOKS 1u
#define REFUSED 64u

/* Number of padding entries in front of an array, so that it can be compared in whole blocks. */
#define PAD 8u

static void pad(struct mg_writer *t)
{
	for (uint32_t i = 1; i <= PAD; i++) {
		t->slot[-(int)i] = (uint64_t)&t->zero;
		t->ip[-(int)i] = 0;
		t->checks[-(int)i] = (struct mg_slot){.address = (uint64_t)&t->zero};
	}
}

/* Places the arrays for `frames` frames at `at`, largest elements first. Returns their size in
 * bytes. */
static size_t arrays(struct mg_writer *t, uint64_t at, uint32_t frames)
{
	uint64_t n = frames + 8, slot = at + PAD * 8, ip = slot + (n + PAD) * 8;
	uint64_t frame = ip + n * 8, steps = frame + n * sizeof(struct mg_frame);
	uint64_t checks = steps + n * sizeof(struct mg_step) + PAD * sizeof(struct mg_slot);
	if (t) {
		t->ip = (uint64_t *)ip;
		t->slot = (uint64_t *)slot;
		t->frame = (struct mg_frame *)frame;
		t->checks = (struct mg_slot *)checks;
		t->steps = (struct mg_step *)steps;
		t->capacity = t->limit = frames;
		t->frames = 0;
		pad(t);
	}
	return checks + n * 2 * sizeof(struct mg_slot) - at;
}

#define WRITER_HEADER ((sizeof(struct mg_writer) + 63) & ~(size_t)63)
#define OWN_BYTES                                                                                  \
	(MG_OWN_RULES * sizeof(uint64_t) + MG_INDEX * sizeof(uint16_t) + sizeof(union mg_memory))

/* Returns an odd number of pages plus a few cache lines; otherwise the same members of all
 * writers would share a cache set. */
size_t mg_writer_bytes(uint32_t frames)
{
	size_t n = WRITER_HEADER + OWN_BYTES + arrays(NULL, 0, frames);
	return (((n + 4095) & ~(size_t)4095) | 4096) + 192;
}

size_t mg_deep_bytes(void)
{
	return (arrays(NULL, 0, MG_FRAMES_MAX) + 4095) & ~(size_t)4095;
}

static void to_usual(struct mg_writer *t)
{
	if (t->deep)
		__atomic_store_n(&mg.deep_taken[t->deep - 1], 0, __ATOMIC_RELEASE);
	t->deep = 0;
	t->rules = (uint64_t *)((uint64_t)t + WRITER_HEADER);
	uint64_t *index =
		/* cleared, because the index may refer to more frames than the new capacity */
		t->rules + MG_OWN_RULES;
	for (uint32_t i = 0; i < MG_INDEX / 4; i++)
		index[i] = 0;
	arrays(t, (uint64_t)t + WRITER_HEADER + OWN_BYTES, mg.frames);
}

bool mg_deepen(struct mg_writer *t)
{
	for (uint32_t i = 0; !t->deep && i < MG_DEEP_MAX; i++) {
		if ((!mg.deep[i] && mg.deep_none) ||
		    __atomic_exchange_n(&mg.deep_taken[i], 1, __ATOMIC_ACQUIRE))
			continue;
		if (!mg.deep[i] && !(mg.deep[i] = mg_grow_own(mg_deep_bytes()))) {
			mg.deep_none = true;
			__atomic_store_n(&mg.deep_taken[i], 0, __ATOMIC_RELEASE);
			continue;
		}
		t->deep = i + 1;
		arrays(t, (uint64_t)mg.deep[i], MG_FRAMES_MAX);
		return true;
	}
	return false;
}

/* Returns the writer of a ring, emptied if a forked child inherited it. NULL = no memory. */
static struct mg_writer *writer_of(uint32_t ring)
{
	uint32_t i = mg.writer_base + ring;
	struct mg_writer *t = mg_grow(mg.writers, i, mg.writer_bytes);
	if (!t)
		return NULL;
	if (t->generation != mg.generation)
		*t = (struct mg_writer){.generation = mg.generation, .rules_used = t->rules_used};
	uint32_t used = __atomic_load_n(&mg.writers_used, __ATOMIC_RELAXED);
	while (used <= i && !__atomic_compare_exchange_n(&mg.writers_used, &used, i + 1, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
	return t;
}

/* Takes ring `i`, whose bit in `word` this thread has cleared (R9). */
static struct mg_writer *take(uint32_t i, uint64_t *word)
{
	const struct mg_session *s = mg.session;
	unsigned char *window = i < s->wide_count
					? (unsigned char *)s + s->wide_offset + i * s->wide_bytes
					: mg_grow(mg.windows, i, s->window_bytes);
	struct mg_writer *t = window ? writer_of(i) : NULL;
	if (!t) { /* no memory for this ring or any later one */
		mg.writer_count = i;
		__atomic_fetch_or(word, UINT64_C(1) << i % 64, __ATOMIC_RELEASE);
		return NULL;
	}
	t->ring = &mg.rings[i];
	t->window = window;
	t->ring->signal_stack = 0;
	__atomic_store_n(&t->ring->state, MG_RING_TAKEN, __ATOMIC_RELEASE);
	return t;
}

/* Takes the first free ring; NULL = none is free. Used rings are preferred to new ones, so that
 * a program with short-lived threads keeps few rings in memory, which each fork would have to
 * copy. */
static struct mg_writer *claim(void)
{
	if (!__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		return NULL; /* the rings belong to the parent process */
	for (uint32_t first = 0; first < mg.writer_count; first += 64) {
		uint64_t *word = &mg.session->free_rings[first / 64], free;
		while ((free = __atomic_load_n(word, __ATOMIC_RELAXED))) {
			uint64_t bit = free & -free;
			uint32_t i = first + (uint32_t)__builtin_ctzll(free);
			if (i >= mg.writer_count)
				return NULL;
			if (__atomic_fetch_and(word, ~bit, __ATOMIC_ACQUIRE) & bit)
				return take(i, word);
		}
	}
	return NULL;
}

static bool is_new_recording(const struct mg_writer *t)
{
	return t->wake != __atomic_load_n(&mg.session->wake, __ATOMIC_ACQUIRE);
}

/* Restarts the writer's ring for another recording or another thread (R8, R9). */
static void restart(struct mg_writer *t, uint64_t sp)
{
	struct mg_ring *r = t->ring;
	t->wake = __atomic_load_n(&mg.session->wake, __ATOMIC_ACQUIRE);
	t->head = t->offset = t->lap = t->lap_before = t->tail = 0;
	/* lower bound of this thread's stamps */
	t->last = mg.sequence ? 0 : __atomic_load_n(&mg.session->heartbeat, __ATOMIC_RELAXED) - 1;
	t->size = mg_lap_bytes(r);
	t->wrapping = t->holding = false;
	mg_ring_attach(t);
	__atomic_store_n(&r->pending, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->head, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->wake, t->wake, __ATOMIC_RELEASE);
	t->epoch_seen = ~0u;
	t->epoch_sent = __atomic_load_n(&mg.session->epoch, __ATOMIC_ACQUIRE);
	t->last_block = t->freeing = 0;
	t->python = NULL;
	mg_put_words(t, MG_THREAD, (const uint64_t[]){t->tid, sp}, 2, NULL, 0);
}

/* Initializes a claimed writer: arrays, identity, first record. */
static void begin(struct mg_writer *t, uint32_t tid, uint32_t flags, uint64_t sp)
{
	to_usual(t);
	t->nested = NULL;
	t->brief = false;
	t->looking = 0;
	t->custom = NULL;
	t->busy = sp;
	t->tid = tid;
	t->flags = (uint16_t)flags;
	t->epoch = ~0u;
	if (mg.session->sample_bytes)
		mg_sample_begin(t);
	t->low = t->high = 0;
	if (t->ring != mg.rings)
		__atomic_fetch_or(&mg.session->stamps, MG_STAMPS_ALL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->ring->tid, tid, __ATOMIC_RELEASE);
	restart(t, sp);
}

/* Returns how many ticks to wait for ms-record to prepare rings: as many as for space in a ring,
 * but fewer if rings can come only from threads that end. */
static uint64_t ring_patience(const struct mg_session *s)
{
	bool few =
		__atomic_load_n(&s->rings_short, __ATOMIC_RELAXED) || mg.writer_count < s->ring_max;
	return few && s->wait_ticks > UINT64_C(1) << 29 ? UINT64_C(1) << 29 : s->wait_ticks;
}

/* Tells whether ms-record seems to have ended, so that new threads do not wait: its heartbeat is
 * older than a thread waits and than it ever sleeps. Not used in a forked child, whose first
 * heartbeat may be old. */
static bool nobody_makes_rings(const struct mg_session *s)
{
	uint64_t beat = __atomic_load_n(&s->heartbeat, __ATOMIC_RELAXED);
	uint64_t most = s->wait_ticks > s->tsc_hz ? s->wait_ticks : s->tsc_hz; /* a second */
	return s == mg.head && !mg.sequence && beat &&
	       (int64_t)(mg_counter() - beat) > (int64_t)most;
}

static struct mg_writer *claim_waiting(void)
{
	struct mg_session *s = mg.session;
	struct mg_writer *t = claim();
	uint64_t start = mg_ticks(), since = start; /* time at which rings were last made ready */
	while (!t && mg_ticks() - since < ring_patience(s) && !nobody_makes_rings(s) &&
	       __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&s->state, __ATOMIC_RELAXED) != MG_OFF) {
		uint32_t seen = __atomic_load_n(&s->rings_futex, __ATOMIC_ACQUIRE);
		__atomic_fetch_add(&s->rings_wanted, 1, __ATOMIC_SEQ_CST);
		mg_wake_recorder();
		t = claim();
		if (!t)
			mg_futex(&s->rings_futex, MG_FUTEX_WAIT, seen, 100000000);
		if (mg.session == s && __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
			__atomic_fetch_sub(&s->rings_wanted, 1, __ATOMIC_RELAXED);
		if (seen != __atomic_load_n(&s->rings_futex, __ATOMIC_ACQUIRE))
			since = mg_ticks();
		t = t ? t : claim();
		if (t)
			mg_waited(t, mg_ticks() - start);
	}
	return t;
}

/* Takes a writer for a thread without one. *self is 0 before the thread's first event, then 2 *
 * n + 1 after n events without a ring. */
static struct mg_writer *first_event(uintptr_t *self, uint64_t sp)
{
	uintptr_t events = *self >> 1;
	struct mg_writer *t = NULL;
	uint32_t tid = mg.backend.tid(); /* 0: unknown */
	if (!*self) {
		/* a signal handler that runs now records nothing, and does not claim a second
		 * ring */
		*self = 1;
		t = tid ? claim_waiting() : NULL;
	} else if (tid && events && events % RETRY_EVENTS == 0) {
		t = claim();
	}
	if (!t && !__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED)) { /* this process was forked
									 meanwhile, and its gate is
									 shut */
		*self = 0;
		return NULL;
	}
	if (!t) {
		*self += 2;
		__atomic_fetch_add(&mg.session->no_ring_lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	begin(t, tid, 0, sp);
	*self = (uintptr_t)t;
	/* The wake-up comes last: signals arrive at the end of a system call, and a handler that
	 * left by longjmp would otherwise leave this thread without a writer for good. */
	uint32_t i = (uint32_t)(t->ring - mg.rings) % MG_RINGS_MOST;
	if (__atomic_load_n(&mg.head->sleeping, __ATOMIC_RELAXED) == MG_SLEEPS_LONG ||
	    !__atomic_load_n(&mg.session->free_rings[i / 64], __ATOMIC_RELAXED))
		mg_wake_recorder();
	if (t->generation == mg.generation)
		return t;
	*self = 0; /* a signal handler forked meanwhile, and this is the child */
	return NULL;
}

/* Repairs a writer whose hook was left by a longjmp out of a signal handler: discards
 * unpublished data. Marks the writer busy with this frame first, so that a handler that
 * interrupts the repair does not use it half repaired. */
static void recover(struct mg_writer *t, const uint64_t *frame)
{
	__atomic_store_n(&t->busy, mg_frame_id(frame), __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	__atomic_fetch_add(&mg.session->reentry_lost, 1, __ATOMIC_RELAXED);
	mg_ring_recover(t);
	mg_forget(t);
	t->holding = false;
	t->freeing = 0;
	__atomic_store_n(&t->ring->pending, 0, __ATOMIC_RELEASE);
}

/* Takes another writer for this thread, nested in `t`, the innermost of the `n` that are inside
 * a hook; NULL = none is free. */
static struct mg_writer *next_nested(struct mg_writer *t, uint32_t n, const uint64_t *frame)
{
	struct mg_writer *next = n <= NESTED ? claim() : NULL;
	if (!next)
		return NULL;
	begin(next, t->tid, MG_F_SIGNAL, mg_frame_id(frame));
	next->brief = n >= NESTED_WALKS;
	mg_leave(next);
	return t->nested = next;
}

/* Finds the writer for a hook in a signal handler, which may have interrupted other hooks of
 * this thread. Their writers form a list from `own` on: returns the first one whose hook has
 * ended, else one after the busy ones. If the innermost hook is still running, so are all outer
 * ones. */
static struct mg_writer *writer_inside(struct mg_writer *own, const uint64_t *frame)
{
	struct mg_writer *busy[NESTED + 1], *t = own;
	uint32_t n = 0, inside;
	for (; t && t->busy && n <= NESTED; t = t->nested)
		busy[n++] = t;
	for (inside = n; inside && !mg_still_inside(busy[inside - 1], frame);)
		inside--;
	if (inside < n) {
		recover(busy[inside], frame);
		return busy[inside];
	}
	return t ? t : next_nested(busy[n - 1], n, frame);
}

/* Enters a hook while the thread's writer is busy.
 *
 * Signals may arrive faster than a handler finds its writer, or takes its stack for the first
 * time; then the next signal interrupts it before that is done. To keep the work from starting
 * anew at each depth, NESTED_WALKS nested hooks take their stacks unconditionally, and further
 * ones only if they need no new rule; and at most LOOKS handlers look for a writer at a time.
 * The count of a handler that was left by longjmp is reset when a hook is called from further
 * out on the stack; in case that never happens, one in REFUSED handlers looks for a writer all
 * the same. */
static struct mg_writer *enter_busy(struct mg_writer *own, const uint64_t *frame)
{
	uint64_t sp = mg_frame_id(frame), outer = sp < own->looking ? own->looking : 0;
	uint32_t looks = outer ? own->looks : 0;
	struct mg_writer *t = NULL;
	if (looks < LOOKS || ++own->refused % REFUSED == 0) {
		own->looking = sp;
		own->looks = looks + 1;
		t = writer_inside(own, frame);
		own->looking = t == own ? 0 : outer;
		own->looks = t == own ? 0 : looks;
	}
	if (!t)
		__atomic_fetch_add(&mg.session->reentry_lost, 1, __ATOMIC_RELAXED);
	return t;
}

/* Handles an epoch that is new to the thread, or a module being closed: forgets the previous
 * stack. */
static void new_epoch(struct mg_writer *t)
{
	/* The epoch is read first: a thread that sees the first new epoch of a dlclose then sees
	 * that dlclose in progress, or sees another new epoch soon. */
	uint32_t epoch = __atomic_load_n(&mg.session->epoch, __ATOMIC_SEQ_CST);
	uint32_t closing = __atomic_load_n(&mg.closing, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&mg.session->blind, __ATOMIC_SEQ_CST)) /* C4 */
		mg.sequence = mg.blind = true;
	mg_forget(t);
	mg_own_rules_forget(t);
	t->epoch = epoch;
	t->keepable = !closing;
	if (!mg.python)
		mg_python_look();
	/* nothing is remembered until the module is closed */
	t->epoch_seen = closing ? epoch - 1 : epoch;
	if (t->epoch_sent == epoch)
		return;
	uint64_t *w = mg_room(t, 3);
	if (!w) {
		t->epoch_seen = epoch - 1; /* the next event tries again */
		return;
	}
	mg_stamping(t);
	w[0] = mg_word0(MG_EPOCH, 0, 0, 0);
	mg_put_stamp(t, w, mg_stamp(t));
	w[2] = epoch;
	mg_publish(t, 3);
	mg_stamped(t);
	t->epoch_sent = epoch;
}

struct mg_writer *mg_enter_slow(struct mg_writer *t, const uint64_t *frame)
{
	uint64_t sp = mg_frame_id(frame);
	uintptr_t *self = MG_SELF;
	if (t && !((uintptr_t)t & 1) && t->generation != mg.generation) { /* the writer belongs to
									     the parent process */
		*self = 0;
		t = NULL;
	}
	if (!t || (uintptr_t)t & 1) {
		t = first_event(self, sp);
	} else if (t->busy) {
		t = enter_busy(t, frame);
	}
	if (!t)
		return NULL;
	__atomic_store_n(&t->busy, sp, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	t->keepable = true;
	if (MG_UNLIKELY(is_new_recording(t)))
		restart(t, sp);
	if (t->epoch_seen != __atomic_load_n(&mg.session->epoch, __ATOMIC_ACQUIRE))
		new_epoch(t);
	return t;
}
