/* SPDX-License-Identifier: MIT
 * The freestanding core of the guest: its state, and what its files offer each other and a backend.
 *
 * The core is the unwinder (unwind.c, walk.c), the rules that it steps by (rules.c, eh_frame.c),
 * the writer's side of a ring (ring.c), the threads' places (thread.c) and what a hook does
 * (hooks.c). It calls nothing outside itself but the functions of `struct mg_backend`. A backend
 * (preload/, or image/ where the process runs already) maps memory, fills `mg` once, and calls
 * the hooks. Nothing here changes errno, allocates, prints, exits, or takes a lock that other
 * threads wait for.
 */
#pragma once

#include "cpu.h"
#include "layout.h"
#include "rules.h"

#define MG_FRAMES_USUAL 1024u /* maximum frames of a stack that fits into a writer */
/* maximum frames walked in one stack; stacks above MG_FRAMES_USUAL need memory from the pool for
 * deep stacks (a room) */
#define MG_FRAMES_MAX 16384u
#define MG_DEEP_MAX 32u /* number of rooms in the pool for deep stacks, each for one thread */
/* maximum frames walked after a stack that did not even fit into a room */
#define MG_FRAMES_SHORT 512u
#define MG_FRAMES_RECORD MG_RECORD_FRAMES
#define MG_COPY_MAX 65536u /* maximum bytes of a stack copy */
#define MG_COPIES_A_SECOND 1000u

/* ---- threads --------------------------------------------------------------------------------- */

/* Describes a remembered frame of the previous stack. Its ip, and the address (slot) from which ip
 * was read, are in arrays of the writer. */
struct mg_frame {
	uint64_t bp;
	uint32_t checks_to; /* number of entries of `checks` for this frame and all frames before
			       it */
	uint32_t need;      /* bit 0: bp belongs to the frame's state and is compared; above it,
			       mg_above of the frame */
};

/* Describes a frame found by a walk, and the step from the frame to its caller. Walks begin at the
 * innermost frame. */
struct mg_step {
	/* slot: address from which ip was read (mg_slot_of) */
	uint64_t ip, slot, bp;
	/* a rule in the thread's own table, or MG_STEP_OTHER | enum mg_rule_need; with
	 * MG_STEP_ABOVE of mg_above of the frame */
	uint64_t rule;
	/* addresses from which bp and sp of the caller's frame were read, 0 = none; undefined
	 * without MG_STEP_OTHER */
	uint64_t bp_slot, cfa_slot;
};
#define MG_STEP_OTHER (UINT64_C(1) << 63)
#define MG_STEP_ABOVE(above) ((uint64_t)(above) << 32)
#define MG_ABOVE_END (UINT32_C(1) << 31)

/* Holds a thread's data for recording, with its ring, which has the same index. The members that
 * every event needs come first and fill two cache lines; the members that a sample needs fill
 * three. */
struct mg_writer {
	uint64_t busy; /* mg_frame_id of the hook that uses this writer now, 0 = none */
	/* epoch (state of the module list) that this writer knows; if it is not the session's, the
	 * next hook calls mg_enter_slow */
	uint32_t epoch_seen;
	/* number of frames of the previous stack, which is stored outermost first: see unwind.c */
	uint32_t frames;
	uint64_t last; /* latest stamp that this thread took */
	struct mg_ring *ring;
	unsigned char *window; /* the ring's memory: see ring.c */
	uint64_t offset, mark, head;

	uint64_t last_block; /* last block recorded: see mg_nesting_begin */
	uint64_t *ip, *slot;
	struct mg_frame *frame;
	struct mg_step *steps;
	/* array of MG_OWN_RULES rules, followed by MG_INDEX index entries and a union mg_memory */
	uint64_t *rules;
	uint32_t keep, limit;
	uint16_t root_flags; /* flags of the stack's outermost end: MG_F_TRUNCATED or 0 */
	uint16_t flags;      /* MG_F_SIGNAL in a nested writer, else 0 */
	bool keepable;       /* the stack being taken may be remembered for comparison with the next
				one */
	/* a realloc's stamp is taken but not yet published, so `pending` stays set */
	bool holding;
	bool rules_used; /* `rules` is not empty */
	bool careful;    /* part of the last stack's memory may be unmapped by now: see stack.c */
	uint64_t sent;   /* R7: stamp of the last record with a stamp; MG_NOT_SENT = unknown */

	/* bounds of the stack that the thread used last, 0 = unknown: see stack.c */
	uint64_t low, high;
	struct mg_slot *checks;
	uint64_t freeing; /* block whose free is ignored: see mg_nesting_begin */
	/* sampling: state of the thread's random number generator, 0 = not seeded */
	uint64_t random;
	uint32_t epoch_sent;
	uint32_t capacity;
	uint32_t tries; /* events since `limit` was last reduced */

	uint32_t epoch;
	/* value of mg.generation when the writer was claimed; if older than mg.generation, the
	 * writer belongs to the parent process */
	uint32_t generation;
	uint64_t tail;
	uint64_t lap, lap_before; /* values of head at which the current lap (pass through the
				     window) and the previous lap began */
	uint64_t size;
	uint64_t wrap_head, wrap_lap; /* values of head and lap before the wrap in progress */
	bool wrapping;
	/* takes a stack only if all unwind rules needed are in the table already: see thread.c */
	bool brief;
	uint64_t stuck_tail; /* value of tail at which the last wait timed out, ~0 = none */

	/* writer for signal handlers that interrupt a hook of this thread */
	struct mg_writer *nested;
	/* sp of the innermost signal handler that is looking for a writer: see thread.c */
	uint64_t looking;
	uint32_t looks, refused; /* number of signal handlers that are looking for a writer, and of
				    those that got none */
	uint32_t tid;
	uint32_t wake; /* number of the recording to which head and offset belong: see R8 */
	uint64_t copy_second;
	uint32_t copies;
	uint32_t deep; /* 1 + index of this writer's room in the pool for deep stacks, 0 = none */

	/* The program's hooked function that this thread is executing: see custom.c. */
	const uint64_t *custom; /* frame at the function's entry, NULL = none */
	const struct mg_hook *custom_hook;
	uint64_t custom_size, custom_old, custom_pool, custom_before;
	/* address at which the function stores the block, 0 = it returns the block */
	uint64_t custom_out;
	uint64_t custom_inner, custom_inner_bytes; /* last block that malloc returned inside the
						      function, and its size */
	uint32_t custom_known;                     /* sampling: enum mg_sampled of the old block */

	int64_t until_sample; /* bytes until the next sample: see MG_UNTIL_SAMPLE */

	struct mg_python_stack *python; /* Python frames of the previous stack: see python.c */
	/* word to which the padding pointers before the arrays point */
	uint64_t zero;
};

MG_INLINE union mg_memory *mg_memory_of(const struct mg_writer *t)
{
	return (union mg_memory *)(void *)(t->rules + MG_OWN_RULES + MG_INDEX / 4);
}

/* mg_writer_bytes returns the size in bytes of a writer for `frames` frames, mg_deep_bytes that of
 * a room in the pool for deep stacks. */
size_t mg_writer_bytes(uint32_t frames);
size_t mg_deep_bytes(void);
/* Moves a writer's arrays to a room in the pool for deep stacks, because a stack is too deep for
 * the writer. The previous stack is lost. Returns false if no room is free. */
bool mg_deepen(struct mg_writer *t);

/* ---- the process ----------------------------------------------------------------------------- */

/* Lists the states of the gate, the word that each hook reads first: how much the hooks record. The
 * gate is in a page that the kernel clears in a forked child (MADV_WIPEONFORK), so a child starts
 * with MG_GATE_SHUT. */
enum mg_gate_state {
	MG_GATE_SHUT = 0,
	MG_GATE_ALL = 1,      /* every event is recorded */
	MG_GATE_SAMPLING = 2, /* sample.c selects the events to record */
	/* every event is recorded, and functions of the program are hooked: see custom.c */
	MG_GATE_HOOKED = 3,
	/* every event is recorded, with an interpreter's frames: see python.c */
	MG_GATE_PYTHON = 5,
};
/* Tells whether every event is recorded. */
#define MG_GATE_WHOLE(on) ((on)&1)
struct mg_gate {
	uint32_t on;      /* enum mg_gate_state */
	uint32_t counted; /* 1 = calls need not be counted any more while the gate is shut */
	/* thread pointer of the thread that is claiming a slot of the pool for this forked child:
	 * see fork.c */
	uint64_t adopting;
};

/* Lists the functions that the core needs from its backend. None of them may allocate, lock or
 * block. */
struct mg_backend {
	/* Finds the module that contains `ip`; false = none is known. */
	bool (*find_unwind_info)(uint64_t ip, struct mg_unwind_info *info);
	/* Returns this thread's tid, 0 = unknown. */
	uint32_t (*tid)(void);
	/* In a forked child: copies the table of modules, as it was at the fork, into the new
	 * session. */
	void (*modules_forked)(void);
};

/* Number of chunks in which windows and writers of rings are mapped. Each chunk is as large as all
 * earlier chunks together. */
#define MG_CHUNKS 10u
_Static_assert(MG_CHUNK_FIRST << (MG_CHUNKS - 1) == MG_RINGS_MOST, "the chunks hold all rings");

#define MG_HELD_MAX 96u /* entries of mg_core.held: up to MG_OWN_MAX mappings, and the windows */

/* Number of hash tables of sampled blocks: see sample.c. */
#define MG_SAMPLE_TABLES 3u
struct mg_sample_table {
	uint8_t *counts;
	uint64_t *slots;
	uint32_t shift; /* 64 - log2(number of buckets): shifting a hash right by it gives an
			   index */
};

/* Holds the core's state. The members that nearly every call reads come first. */
struct mg_core {
	struct mg_gate *gate;
	struct mg_session *session;
	uint8_t *sample_pages; /* number of sampled blocks per page: see sample.c */
	bool sequence;         /* stamps are taken from the shared counter, not from the clock */
	/* the clock must not be read at all, not even to measure waits: see confine.c */
	bool blind;
	bool verify; /* option of the session, copied at the start */
	bool free_stacks;
	bool hooked; /* functions of the program are hooked */
	bool python; /* an interpreter's frames are read */
	/* blocks in pools were sampled: a block noted as sampled may be freed already */
	bool pools_sampled;
	uint8_t sample_last; /* index of the last table in use */
	/* Returns the usable size in bytes of a block of the allocator behind malloc; NULL = not
	 * requested, or the allocator does not report usable sizes. Like a backend's functions
	 * it must not allocate, lock or block. */
	uint64_t (*usable)(const void *block);
	struct mg_sample_table sample_tables[MG_SAMPLE_TABLES];
	bool mapping; /* --mmap is set, for this process and forked children */
	/* session of the program image (process between two execs); a forked child has another
	 * session */
	struct mg_session *head;
	struct mg_fork_slot *slots; /* array of slot_count slots for forked children: see fork.c */
	uint32_t slot_count;
	/* address of the memory of these slots, of which the first page or everything is mapped:
	 * see grow.c */
	unsigned char *slot_memory;
	bool slots_mapped;
	uint32_t generation;  /* incremented when a forked child begins a recording of its own */
	uint32_t writer_base; /* index of the writer of ring 0 */
	/* number of writers claimed so far, in this generation or earlier ones */
	uint32_t writers_used;
	uint32_t writers_all;
	uint32_t serial;     /* serial of the session that this process last recorded to */
	uint64_t fork_stamp; /* stamp of the MG_FORK record of a fork in progress, 0 = none */
	uint64_t missed;     /* events that a forked child lost before it had a pool slot */
	/* raw_tp, raw_tid: thread pointer and real tid of a thread whose tid the C library reports
	 * wrongly */
	uint64_t raw_tp;
	uint32_t raw_tid;
	struct mg_ring void_ring; /* ring for writers that must not write to the parent's memory */
	struct mg_module *modules;
	struct mg_ring *rings;
	/* Chunks of the rings' windows and of the writers: see grow.c. */
	unsigned char *windows[MG_CHUNKS], *writers[MG_CHUNKS];
	size_t writer_bytes;
	uint32_t writer_count;
	uint32_t frames;                  /* frames that fit into each writer */
	unsigned char *deep[MG_DEEP_MAX]; /* memory of the rooms for deep stacks, NULL = not mapped
					     yet */
	uint32_t deep_taken[MG_DEEP_MAX];
	bool deep_none;   /* no more rooms can be mapped */
	uint32_t closing; /* dlclose calls in progress */
	uint32_t epoch;   /* epoch that this process last stored in the session */
	/* Bounds of the main thread's stack: see stack.c. main_low: lowest address that the stack
	 * was seen to reach. stack_field: offset, in the C library's thread control block, of the
	 * start of a thread's stack, followed by the stack's size; 0 = glibc, offset not searched
	 * for yet; MG_NO_FIELD = unknown. */
	uint64_t main_tp, main_low, main_high, stack_field;
	uint64_t main_entry; /* sp at the program's entry, 0 = unknown */
	struct mg_rule_table tables[MG_RULE_TABLES];
	struct mg_rule_table *table;
	uint64_t rule_overflow;
	uint64_t early;   /* calls before the guest was ready */
	bool filtered;    /* the program has installed a seccomp filter: see confine.c */
	uint32_t calling; /* number of threads about to make a system call */
	struct mg_backend backend;
	/* held: mappings of the guest (address, bytes). seeds: address of the reserved pages, of
	 * which seed_count are unused: see G4 in grow.c. */
	uint64_t held[MG_HELD_MAX][2], seeds;
	uint32_t held_count, seed_count;
};
extern struct mg_core mg __attribute__((visibility("hidden")));
extern struct mg_gate mg_closed_gate __attribute__((visibility("hidden")));

/* Holds this thread's writer in `self`; 0 = none yet; odd = the thread found no ring, and the value
 * is 2 x its lost events + 1. A backend without thread-local storage defines MG_SELF itself.
 * MG_UNTIL_SAMPLE is the number of bytes up to and including the thread's next sample point; in a
 * thread without a writer it is 0, or left from an earlier recording. */
#ifndef MG_SELF
struct mg_own {
	uintptr_t self;
	int64_t until_sample;
	const void *passed; /* last block that entry.c returned but did not record: see cxx.c */
	uint32_t labels;    /* number of labels that the program has set */
};
extern __thread struct mg_own mg_own
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
#define MG_SELF (&mg_own.self)
#define MG_UNTIL_SAMPLE(t) (&mg_own.until_sample)
#else
#define MG_UNTIL_SAMPLE(t) (&(t)->until_sample)
#endif

/* Returns this thread's writer, or NULL. */
MG_INLINE struct mg_writer *mg_own_writer(void)
{
	uintptr_t self = *MG_SELF;
	return self & 1 ? NULL : (struct mg_writer *)self;
}

/* Enters a hook when the fast path cannot: the thread has no writer yet, its writer is busy, or the
 * epoch changed. Returns the writer, marked busy; NULL = do not record. */
struct mg_writer *mg_enter_slow(struct mg_writer *t, const uint64_t *frame);
/* Handles a call of a hook while the gate (the word that each hook reads first) is shut. If the
 * guest is not ready yet, counts the call. In a forked child, begins the child's recording and
 * returns true, or counts the child (once) as not recorded. */
bool mg_shut(const uint64_t *frame);
#ifdef MG_IMAGE
bool mg_shut_forked(const uint64_t *frame);
#endif
/* Tells whether this process is recorded. In a forked child, the first call may begin the child's
 * recording. */
MG_INLINE bool mg_is_open(const uint64_t *frame)
{
	if (MG_LIKELY(__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE)))
		return true;
	return !mg.gate->counted && mg_shut(frame);
}
/* Called before and after the C library's fork. mg_fork_begin returns the stamp of the MG_FORK
 * record, 0 = none was written. */
uint64_t mg_fork_begin(const uint64_t *frame);
void mg_fork_end(const uint64_t *frame, uint64_t stamp, bool child);
/* Leaves a hook. */
MG_INLINE void mg_leave(struct mg_writer *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

/* ---- unwinding (unwind.c, whole.c, walk.c) --------------------------------------------------- */

/* Takes the call stack of the hook whose frame is `frame`. Afterwards ip[0..frames) is the stack;
 * its first `keep` frames are the same as in the previous stack. Returns false if the stack must be
 * sent as a copy. * If the ring has room without waiting for a record of `words` words followed by
 * the new frames (at most MG_FRAMES_RECORD), the new frames are already in the ring, after those
 * words. */
bool mg_unwind(struct mg_writer *t, const uint64_t *frame, uint32_t words);
/* whole.c: takes a stack as mg_unwind does, while sampling. mg_whole_ahead and mg_unwind_whole do
 * this in two steps: the first returns the cache entry for stacks like this one, and prefetches the
 * memory that the second will read. */
bool mg_unwind_sampled(struct mg_writer *t, const uint64_t *frame, uint32_t words);
struct mg_whole *mg_whole_ahead(const struct mg_writer *t, const uint64_t *frame);
/* Tells whether the stack in cache entry `m` is still that of the hook with frame `frame`: a walk
 * would read the same words. */
bool mg_whole_holds(const struct mg_writer *t, const struct mg_whole *m, const uint64_t *frame);
bool mg_unwind_whole(struct mg_writer *t, struct mg_whole *m, const uint64_t *frame,
		     uint32_t words);
/* Counts a mismatch if the stack just taken differs from that of a new walk without remembered
 * frames and rules. `cut`: the outermost part of the stack was not taken. */
void mg_verify(struct mg_writer *t, const uint64_t *frame, bool cut)
	__attribute__((visibility("hidden")));
/* stack.c: functions that find the bounds of stacks. mg_own_stack: of the stack on which the thread
 * was started; false = `sp` is not in it. mg_find_stack: of the stack that contains `sp`; false =
 * not known, but if `sp` is that of a hook's caller, the rest of the page may be read. mg_find_data:
 * of the mapping that contains `at`; of the stack on which the thread was started, only of what is
 * in use; false = not known.
 * mg_thread_block: returns the part of glibc's control block of this thread that has the first
 * pthread_setspecific values; empty = not known. mg_new_stack: finds the bounds as mg_find_stack
 * does, stores them in `t` for the next hooks, and returns the end of the stack. */
bool mg_own_stack(uint64_t sp, struct mg_range *stack);
bool mg_find_stack(uint64_t sp, struct mg_range *stack);
bool mg_find_data(uint64_t at, struct mg_range *mapping);
struct mg_range mg_thread_block(void);
uint64_t mg_new_stack(struct mg_writer *t, uint64_t sp);
/* Tells whether the hook in which `t` is busy is still active, as an outer function of the hook
 * with frame `frame`. Returns true if not sure. */
bool mg_still_inside(struct mg_writer *t, const uint64_t *frame);
/* Reads the word at `address` in a stack. */
MG_INLINE uint64_t load(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

/* Returns the address by which a writer knows the hook that uses it. */
MG_INLINE uint64_t mg_frame_id(const uint64_t *frame)
{
	return MG_FRAME_SP(frame) - 16;
}

/* Returns the slot of a frame's ip, which is `slot` unless the frame's sp says where it is. */
MG_INLINE uint64_t mg_slot_of(uint64_t sp, uint64_t slot)
{
	return MG_RETURN_BELOW ? sp - MG_RETURN_BELOW : slot;
}

/* Returns the distance in words from a frame's slot to its sp, times 2: with the slot it tells the
 * sp; 0 = the slot does so alone. */
MG_INLINE uint32_t mg_above(uint64_t sp, uint64_t slot)
{
	return MG_RETURN_BELOW ? 0 : (uint32_t)((sp - slot) >> 2) & (MG_ABOVE_END - 2);
}

/* Tells whether two such distances, whose lowest bit may be something else, are equal. */
MG_INLINE bool mg_same_above(uint32_t a, uint32_t b)
{
	return MG_RETURN_BELOW || (a ^ b) < 2;
}

/* Tells whether what was read of a module's code or unwind tables may be kept: no dlclose was in
 * progress while it was read. Memory that was unmapped meanwhile was so after `closing` was
 * changed, and the fence makes who read it see that. */
MG_INLINE bool mg_may_keep(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !__atomic_load_n(&mg.closing, __ATOMIC_RELAXED);
}

/* Forgets the previous stack, so that the next one is sent completely. */
MG_INLINE void mg_forget(struct mg_writer *t)
{
	t->frames = 0;
}

/* ---- memory mapped on demand (grow.c) -------------------------------------------------------- */

/* Returns how many bytes of address space a mapping may take now: a share of the program's
 * limit. */
uint64_t mg_grow_budget(void);
/* Maps private memory and records it as belonging to the guest; NULL = it cannot be mapped. */
void *mg_grow_own(uint64_t bytes);
/* Records that a mapping, private or shared, belongs to the guest. */
void mg_note_ours(const void *start, uint64_t bytes);
/* Prepares the reserve that G4 in grow.c describes. */
void mg_grow_init(void);
/* Returns the address of element `i` in memory mapped in chunks, with elements of `each` bytes;
 * NULL = not mapped. */
void *mg_grown(unsigned char *const *chunks, uint32_t i, size_t each);
/* Makes the chunks refer to `count` elements of `each` bytes that are already mapped contiguously
 * at `base`. */
void mg_grow_whole(unsigned char **chunks, void *base, uint32_t count, size_t each);
/* Returns the address of element `i`, mapping its chunk if needed; NULL = it cannot be mapped. */
void *mg_grow(unsigned char **chunks, uint32_t i, size_t each);
/* Returns the memory of slot `i` of the pool for forked children, or NULL. */
unsigned char *mg_grow_slot(uint32_t i);
/* Maps as much memory as possible now, because a seccomp filter that the program installs may
 * forbid mmap. `here`: also for this process; false in a forked child whose recording has not
 * begun, where only slots for forked children are mapped. */
void mg_grow_ahead(bool here);

/* Returns the size in bytes of the window of a ring of the session. */
MG_INLINE uint64_t mg_window_bytes(const struct mg_ring *r)
{
	const struct mg_session *s = mg.session;
	return (uint64_t)(r - mg.rings) < s->wide_count ? s->wide_bytes : s->window_bytes;
}

/* Returns the size in bytes of a lap (pass through the ring's window) that begins now. */
MG_INLINE uint64_t mg_lap_bytes(const struct mg_ring *r)
{
	uint64_t allowed = __atomic_load_n(&r->size_allowed, __ATOMIC_RELAXED);
	uint64_t largest = mg_window_bytes(r) - MG_SLACK;
	return allowed < largest ? allowed : largest;
}

/* ---- records (ring.c) ------------------------------------------------------------------------ */

/* Returns space in the ring for a record of `words` words; NULL = the record must be dropped. May
 * wait. */
uint64_t *mg_room_slow(struct mg_writer *t, uint32_t words);
void mg_lost(struct mg_writer *t, uint64_t stamp);
/* Counts a wait for ms-record, which took `ticks` ticks. */
void mg_waited(struct mg_writer *t, uint64_t ticks);
/* Wakes ms-record if it sleeps. */
void mg_wake_recorder(void);
void mg_ring_attach(struct mg_writer *t);
/* Repairs the ring after a longjmp out of a hook: keeps published records and discards the rest. */
void mg_ring_recover(struct mg_writer *t);

MG_INLINE bool mg_has_room(const struct mg_writer *t, uint32_t words)
{
	return t->offset + words * UINT64_C(8) <= t->mark;
}
MG_INLINE uint64_t *mg_room(struct mg_writer *t, uint32_t words)
{
	if (MG_LIKELY(mg_has_room(t, words)))
		return (uint64_t *)(void *)(t->window + t->offset);
	return mg_room_slow(t, words);
}

/* Value of `sent` if unknown: so far from any stamp that the difference does not fit into a short
 * record. */
#define MG_NOT_SENT (UINT64_C(1) << 63)

/* Stores the stamp in the record at `w`. */
MG_INLINE void mg_put_stamp(struct mg_writer *t, uint64_t *w, uint64_t stamp)
{
	w[1] = t->sent = stamp;
}

/* R4: publishes the record that was written where the last mg_room returned. Has no effect in a
 * child that was forked inside the hook. */
MG_INLINE void mg_publish(struct mg_writer *t, uint32_t words)
{
	t->offset += words * 8;
	t->head += words * 8;
	if (MG_LIKELY(__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED)))
		__atomic_store_n(&t->ring->head, t->head, __ATOMIC_RELEASE);
}

/* R5: until mg_stamped, ms-record merges no events from this thread's last stamp + 1 on, because
 * this thread may still publish one. That bound is earlier than the current time, and needs no
 * reading of the clock. */
MG_INLINE void mg_stamping(struct mg_writer *t)
{
	__atomic_store_n(&t->ring->pending, t->last + 1, __ATOMIC_RELEASE);
	__asm__ volatile("" ::: "memory");
}
MG_INLINE uint64_t mg_clock(void)
{
	return MG_LIKELY(!mg.sequence)
		       ? mg_counter()
		       : __atomic_fetch_add(&mg.session->sequence, 1, __ATOMIC_SEQ_CST);
}
/* Takes a stamp, which is later than the thread's last one: where a tick of the counter may be
 * longer than an event (MG_TICKS_LONG), also if the counter is not. */
MG_INLINE uint64_t mg_stamp(struct mg_writer *t)
{
	uint64_t now = mg_clock();
	return t->last = MG_TICKS_LONG && now <= t->last ? t->last + 1 : now;
}
/* Returns the stamp of an allocation whose real call has returned, or of a free whose real call
 * follows.
 *
 * While only one ring is in use, the order of its records is the order of events, and the clock is
 * needed only for the time. So only the first event after each round of ms-record, and every 64th
 * event after that, reads the clock. The others get the previous stamp + 1, which is not later than
 * now, since no event takes less than a unit of the clock. A second thread sets MG_STAMPS_ALL in
 * its first event, before it takes its own stamp from the clock. If an event of this thread depends
 * on that first event (it got the block from there, or the allocator returned the address again),
 * the dependence arose in a real call, so the word read here has MG_STAMPS_ALL set, and the stamp
 * is later. Earlier events of this thread have earlier stamps. `pending` makes the merge wait for
 * events in progress (R5). */
MG_INLINE uint64_t mg_stamp_or_next(struct mg_writer *t)
{
	const struct mg_session *s = mg.session;
	uint64_t how = __atomic_load_n(&s->stamps, __ATOMIC_ACQUIRE), next = t->last + 1;
	bool recent = t->last > __atomic_load_n(&s->heartbeat, __ATOMIC_RELAXED);
	return how == MG_STAMPS_FEW && recent && next % 64 ? (t->last = next) : mg_stamp(t);
}
MG_INLINE void mg_stamped(struct mg_writer *t)
{
	if (MG_LIKELY(__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED)))
		__atomic_store_n(&t->ring->pending, 0, __ATOMIC_RELEASE);
}

/* Ends the event: publishes its record, and clears `pending`. */
MG_INLINE void mg_publish_stamped(struct mg_writer *t, uint32_t words)
{
	t->offset += words * 8;
	t->head += words * 8;
	if (MG_UNLIKELY(!__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED)))
		return;
	struct mg_ring *r = t->ring;
	__atomic_store_n(&r->head, t->head, __ATOMIC_RELEASE);
	__atomic_store_n(&r->pending, 0, __ATOMIC_RELEASE);
}

MG_INLINE uint64_t mg_word0(uint32_t kind, uint32_t flags, uint32_t count, uint32_t keep)
{
	return kind | flags << 8 | count << 16 | (uint64_t)keep << 32;
}

/* Returns the state (enum mg_gate_state) that the gate has while this session records. */
MG_INLINE uint32_t mg_gate_open(void)
{
	return mg.session->sample_bytes ? MG_GATE_SAMPLING
	       : mg.hooked              ? MG_GATE_HOOKED
	       : mg.python              ? MG_GATE_PYTHON
					: MG_GATE_ALL;
}

/* ---- an interpreter's frames (python.c) ------------------------------------------------------ */

struct mg_stack {
	uint32_t flags, keep, count;
	const uint64_t *frames;
};

/* Enables reading an interpreter's frames if ms-record has found an interpreter. */
void mg_python_look(void);
/* Inserts Python's frames into the stack just taken for a record of `words` words. May take a
 * new stamp. */
void mg_python_merge(struct mg_writer *t, uint32_t words, struct mg_stack *s, uint64_t *stamp);
/* Omits Python's frames from the next stack, because memory that may have contained some was just
 * unmapped. */
void mg_python_skip(struct mg_writer *t);
/* mg_python_bytes returns the number of bytes that each writer needs for Python, for a backend that
 * cannot map memory later. mg_python_lay sets the address of this memory when a session begins,
 * NULL = none. */
size_t mg_python_bytes(void);
void mg_python_lay(void *memory);

/* ---- copies (copy.c) ------------------------------------------------------------------------- */

/* Sends the registers and a copy of the stack from frame `frame` outward. Returns the event's
 * flags. */
uint32_t mg_send_copy(struct mg_writer *t, const uint64_t *frame);

/* ---- hooks (hooks.c): each is called by an entry point, with the entry point's frame --------- */

void mg_on_alloc(const uint64_t *frame, const void *block, uint64_t size);
/* Records a block that was not allocated by the allocator behind malloc. */
void mg_on_foreign_alloc(const uint64_t *frame, const void *block, uint64_t size);
void mg_on_failed(const uint64_t *frame, uint64_t size);
void mg_on_free(const uint64_t *frame, const void *block);
/* Records a realloc: mg_realloc_begin is called before the real call, then mg_realloc_end exactly
 * once. `t` may be NULL. */
struct mg_writer *mg_realloc_begin(const uint64_t *frame, const void *old, uint64_t *before);
void mg_realloc_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, const void *old,
		    const void *block, uint64_t size);
/* Called before and after a call that may re-enter the hooks for a block that the caller itself
 * records. After mg_nesting_begin, frees of `freeing` are ignored. mg_nesting_end tells whether
 * `block` was recorded as an allocation since mg_nesting_begin. */
void mg_nesting_begin(const void *freeing);
bool mg_nesting_end(const void *block);
struct mg_span {
	uint64_t address, bytes;
};
/* Records a mapping. `flags`: MG_MAP_*. `from`: if an mremap created a second mapping of the same
 * memory, the address of the first, else 0. */
void mg_on_map(const uint64_t *frame, struct mg_span span, uint64_t flags, uint64_t from);
/* Records that a new mapping replaced earlier mappings in the address range `span`. */
void mg_on_cover(const uint64_t *frame, struct mg_span span);
/* Records that address space is unmapped or moved: mg_unmap_begin is called before the real call,
 * then exactly one of mg_unmap_end and mg_remap_end. `done`: the call succeeded; else nothing is
 * recorded. */
struct mg_writer *mg_unmap_begin(const uint64_t *frame, uint64_t *before);
void mg_unmap_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, struct mg_span span,
		  uint64_t flags, bool done);
void mg_remap_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, struct mg_span old,
		  struct mg_span now, bool done);
/* Writes an MG_MARK record. `moment`: number of a moment, 0 = none. Returns whether it was written. */
bool mg_on_mark(const uint64_t *frame, const char *name, uint32_t moment);
/* Writes an MG_LABEL record. `depth`: number of labels from now on; name "" = labels were taken
 * off. */
void mg_on_label(const uint64_t *frame, const char *name, uint32_t depth);
/* Writes an MG_FORK record. Returns its stamp, or 0 if it was not written. */
uint64_t mg_on_fork(const uint64_t *frame);
uint64_t mg_user_size(uint64_t size);
void mg_on_user_alloc(const uint64_t *frame, const void *block, uint64_t size);
void mg_on_user_free(const uint64_t *frame, const void *block);

/* ---- user.c: the other functions of memscope.h ----------------------------------------------- */

void mg_on_user_realloc(const uint64_t *frame, const void *old, const void *block, uint64_t size);
/* Handles calls of ms_pause and ms_resume, which may be nested. */
void mg_on_pause(const uint64_t *frame, bool pause);
/* Writes an MG_IGNORE record for a call of ms_ignore. */
void mg_on_ignore(const uint64_t *frame, const void *block);
/* Begins a forked child's session, paused if its parent was paused at the fork. */
void mg_user_begin(struct mg_session *s);

/* ---- moment.c: scans at a moment, for which the thread is held. The callee-saved registers are
 * right below `frame`, as entry points in NAME_preload.S and hooks store them. -------------------- */

/* Writes a mark and has ms-record scan the process; NULL = at exit, without a mark. */
void mg_on_moment(const uint64_t *frame, const char *name);
/* Clears what hooks of this thread that signal handlers interrupted have left pending: the thread
 * exits, and they will never publish their events. */
void mg_abandon_hooks(void);
/* Called at the begin of exit. */
void mg_on_exit(const uint64_t *frame);

/* ---- custom.c: functions of the program that are hooked, and memscope.h's pools -------------- */

/* Tells whether an allocation was made inside a hooked function of the program, if the gate is
 * MG_GATE_HOOKED. Then it is recorded as backing of a custom heap, or not at all. */
bool mg_custom_backing(const uint64_t *frame, const void *block, uint64_t size);
/* Tells whether an allocation is made inside a hooked function of the program. If so, the caller,
 * which has chosen the allocation by sampling, does not record it. */
bool mg_custom_hides(const uint64_t *frame);
/* Tells whether a free is called by a hooked function of the program that frees the same block, if
 * the gate is MG_GATE_HOOKED. */
bool mg_custom_freeing(const uint64_t *frame, const void *block);
/* Tells whether the hooked function of the program that this writer's thread entered last is still
 * running. `frame`: frame of the hook that was called now. */
bool mg_custom_within(const struct mg_writer *t, const uint64_t *frame);
void mg_on_pool(const uint64_t *frame, uint32_t step, const void *pool, const char *name);
void mg_on_pool_alloc(const uint64_t *frame, const void *pool, const void *block, uint64_t size);
/* Tells whether this call of a hooked function is to be recorded. The backend defines it. */
bool mg_custom_is_open(const uint64_t *frame);
/* Returns this thread's writer without marking it busy, or NULL. */
struct mg_writer *mg_custom_writer(void);
/* Called by the hook on the dynamic linker's debugger function: the list of modules changes. The
 * backend defines it. */
void mg_custom_linker(const uint64_t *frame);
/* late.c: tells whether threads should not wait for the session's ms-record: its heartbeat has
 * stopped, or it records nothing. */
bool mg_nobody_records(const struct mg_session *s);
/* late.c: asks ms-record to hook functions in modules that were just opened, and waits until it
 * has. */
void mg_late_ask(void);
/* mg_map maps anonymous memory for the guest. mg_map_near maps a page for hook slots, at address
 * `at` only. 0 = it cannot be mapped. */
uint64_t mg_map(uint64_t at, uint64_t bytes, uint64_t prot, uint64_t flags);
uint64_t mg_map_near(uint64_t at);
/* Switches the open gate to MG_GATE_HOOKED if any of these hooks is on a function of the
 * program. */
void mg_custom_open(const struct mg_hook *hooks, uint32_t count);
/* NAME_custom.S: the code that slots of hooked functions jump to. */
void mg_entry_custom(void);

/* ---- the guest's memory, kept apart from the program's (apart.c) ----------------------------- */

/* Finds the next part of [*start, end) that does not belong to the guest, and sets *start to the
 * part's end. Returns false if there is none. */
bool mg_next_apart(uint64_t *start, uint64_t end, struct mg_span *part);
/* Performs mlockall with these flags, but does not lock the guest's memory. Returns 0 or the
 * kernel's error; 1 = the caller must call mlockall itself, and then mg_unlock_ours. Must not be
 * called under a seccomp filter. */
long mg_lock_all(uint64_t flags);
void mg_unlock_ours(void);

/* ---- system calls and clocks that the program forbids itself (confine.c) --------------------- */

/* Returns a tick count for measuring waits: mg_counter, or, if the program forbade reading the
 * clock, a count that grows about as fast if mg_spin is called between two readings. */
uint64_t mg_ticks(void);
void mg_spin(void);
/* Tells whether ms-record's last heartbeat is more than `seconds` old; false if stamps are not
 * from a clock. */
bool mg_heartbeat_timeout(const struct mg_session *s, uint64_t seconds);
/* Tells whether system calls must be avoided, because a seccomp filter may forbid them. */
bool mg_filtered(void);
/* Tells whether a system call may be made. In an attached process, mg_filtered is always true, so
 * that system calls are avoided where possible; but they may be made there if no thread has a
 * seccomp filter. */
bool mg_may_call(void);
/* Makes the futex system call, without returning its result. If system calls may be forbidden, a
 * wait polls the word instead. */
#define MG_FUTEX_WAIT 0
#define MG_FUTEX_WAKE 1
void mg_futex(const uint32_t *word, uint32_t op, uint32_t value, uint64_t ns);
/* Called before the program installs a seccomp filter (`calls`), or forbids a thread to read the
 * clock (`clock`). */
void mg_confine(bool calls, bool clock);
