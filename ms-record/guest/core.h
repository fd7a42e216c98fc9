/* SPDX-License-Identifier: MIT
 * The freestanding core of the guest: its state, and what its files offer each other and a backend.
 *
 * The core is the unwinder (unwind.c, walk.c), the rules that it steps by (rules.c, eh_frame.c),
 * the writer's side of a ring (ring.c), the threads' places (thread.c) and what a hook does
 * (hooks.c). It calls nothing outside itself but the functions of `struct mg_backend`. A backend
 * (preload/, or image/ where the process runs already) maps memory, fills `mg` once, and calls
 * the hooks. Nothing here changes errno, allocates, prints, exits, or takes a lock that somebody
 * waits for.
 */
#pragma once

#include "cpu.h"
#include "layout.h"
#include "rules.h"

#define MG_FRAMES_USUAL 1024u /* frames that a writer has room for */
#define MG_FRAMES_MAX 16384u  /* frames of one stack that are followed: room from a pool */
#define MG_DEEP_MAX 32u       /* rooms in that pool */
#define MG_FRAMES_SHORT 512u  /* frames followed when the last stack was deeper than all that */
#define MG_FRAMES_RECORD MG_RECORD_FRAMES
#define MG_COPY_MAX 65536u /* bytes of a stack copy */
#define MG_COPIES_A_SECOND 1000u

/* ---- threads ------------------------------------------------------------------------------- */

/* Describes a remembered frame; its ip and slot are in arrays of the writer. */
struct mg_frame {
	uint64_t bp;
	uint32_t checks_to; /* entries of `checks` up to and with this frame */
	uint32_t need;      /* is bp part of its state? */
};

/* A frame found by stepping, innermost first, and the step from it. */
struct mg_step {
	uint64_t ip, slot, bp; /* slot: where ip was read, which is the frame's sp - 8 */
	uint64_t rule;         /* one of the thread's own, or MG_STEP_OTHER | enum mg_rule_need */
	/* With MG_STEP_OTHER, else undefined: where the next frame's bp and sp were read, 0 =
	 * nowhere. */
	uint64_t bp_slot, cfa_slot;
};
#define MG_STEP_OTHER (UINT64_C(1) << 63)

/* One writer: a thread's place, with a ring of its own. Index = index of the ring. What every event
 * needs comes first and fills two cache lines, what a sample needs three. */
struct mg_writer {
	uint64_t busy;       /* frame address of the hook that runs, 0 = none */
	uint32_t epoch_seen; /* when it is not the session's, the next hook takes the slow way in */
	uint32_t frames;     /* of the previous stack, outermost first: see unwind.c */
	uint64_t last;       /* the last stamp taken */
	struct mg_ring *ring;
	unsigned char *window; /* the ring: see ring.c */
	uint64_t offset, mark, head;

	uint64_t last_block; /* see mg_nesting_begin */
	uint64_t *ip, *slot;
	struct mg_frame *frame;
	struct mg_step *steps;
	uint64_t *rules; /* MG_OWN_RULES of them, MG_INDEX entries, a union mg_memory */
	uint32_t keep, limit;
	uint16_t root_flags; /* MG_F_TRUNCATED or 0 */
	uint16_t flags;      /* MG_F_SIGNAL for a nested writer */
	bool keepable;       /* the stack being taken may be compared with later */
	bool holding;    /* a stamp of realloc is taken and not yet published: `pending` stays */
	bool rules_used; /* there may be rules in `rules` */
	bool careful;    /* of the stack that it was last on less may be there now: see stack.c */
	uint64_t sent;   /* R7: the stamp of the last record with one, MG_NOT_SENT = not sure */

	uint64_t low, high; /* of the stack it was last on, if that is known: see stack.c */
	struct mg_slot *checks;
	uint64_t freeing; /* see mg_nesting_begin */
	uint64_t random;  /* sampling: state of the thread's generator, 0 = not started */
	uint32_t epoch_sent;
	uint32_t capacity;
	uint32_t tries; /* events since the limit was cut */

	uint32_t epoch;
	uint32_t generation; /* of mg.generation: another one is a writer of the parent */
	uint64_t tail;
	uint64_t lap, lap_before; /* values of head where this lap and the one before began */
	uint64_t size;
	uint64_t wrap_head, wrap_lap; /* head and lap before the wrap under way */
	bool wrapping;
	bool brief;          /* takes no stack that needs a rule which is not at hand: thread.c */
	uint64_t stuck_tail; /* the tail at which waiting was given up, ~0 = none */

	struct mg_writer *nested; /* for a signal handler that interrupts a hook of this thread */
	uint64_t looking;        /* the innermost such handler that finds that out; see thread.c, */
	uint32_t looks, refused; /* how many do, and those that were too many */
	uint32_t tid;
	uint32_t wake; /* the recording that head and offset are of: R8 */
	uint64_t copy_second;
	uint32_t copies;
	uint32_t deep; /* 1 + its room in the pool, or 0 */

	/* A hooked function of the program that runs: see custom.c. */
	const uint64_t *custom; /* its frame, NULL = none */
	const struct mg_hook *custom_hook;
	uint64_t custom_size, custom_old, custom_pool, custom_before;
	uint64_t custom_out;                       /* where its block is put, 0 = it is returned */
	uint64_t custom_inner, custom_inner_bytes; /* what malloc gave out inside last */
	uint32_t custom_known;                     /* sampling: enum mg_sampled, of the old block */

	int64_t until_sample; /* see MG_UNTIL_SAMPLE */

	struct mg_python_stack *python; /* see python.c */
	uint64_t zero;                  /* what the padding in front of the arrays points at */
};

MG_INLINE union mg_memory *mg_memory_of(const struct mg_writer *t)
{
	return (union mg_memory *)(void *)(t->rules + MG_OWN_RULES + MG_INDEX / 4);
}

/* Bytes of a writer for `frames` frames, and of a room in the pool. */
size_t mg_writer_bytes(uint32_t frames);
size_t mg_deep_bytes(void);
/* Moves a writer whose stacks are too deep for it to a room of the pool; false = none is free. The
 * previous stack is lost. */
bool mg_deepen(struct mg_writer *t);

/* ---- the process --------------------------------------------------------------------------- */

/* On a page that the kernel wipes in a fork's child: there `on` is 0, so the child records nothing.
 */
enum mg_gate_state {
	MG_GATE_SHUT = 0,
	MG_GATE_ALL = 1,      /* every event is recorded */
	MG_GATE_SAMPLING = 2, /* sample.c says which */
	MG_GATE_HOOKED = 3,   /* every event; functions of the program are hooked: see custom.c */
	MG_GATE_PYTHON = 5,   /* every event; an interpreter's frames are read: see python.c */
};
/* Is every event recorded? */
#define MG_GATE_WHOLE(on) ((on)&1)
struct mg_gate {
	uint32_t on;       /* enum mg_gate_state */
	uint32_t counted;  /* nothing more to count while shut */
	uint64_t adopting; /* thread pointer of the thread that looks for a slot: see fork.c */
};

/* Lists what the core needs from its backend. None of these may allocate, lock or block. */
struct mg_backend {
	/* The module that holds `ip`; false = none is known. */
	bool (*find_unwind_info)(uint64_t ip, struct mg_unwind_info *info);
	/* This thread's tid. */
	uint32_t (*tid)(void);
	/* In a forked child: the table of modules as it was at the fork goes into the new session.
	 */
	void (*modules_forked)(void);
};

/* Rings and writers are mapped in chunks, each as large as all before it. */
#define MG_CHUNKS 10u
_Static_assert(MG_CHUNK_FIRST << (MG_CHUNKS - 1) == MG_RINGS_MOST, "the chunks hold all rings");

#define MG_HELD_MAX 96u /* of mg_core.held: what MG_OWN_MAX has, and windows */

/* See sample.c. */
#define MG_SAMPLE_TABLES 3u
struct mg_sample_table {
	uint8_t *counts;
	uint64_t *slots;
	uint32_t shift; /* 64 - log2(buckets) */
};

/* First what nearly every call looks at. */
struct mg_core {
	struct mg_gate *gate;
	struct mg_session *session;
	uint8_t *sample_pages; /* the blocks that were sampled: see sample.c */
	bool sequence;         /* stamps are from the shared counter */
	bool blind;            /* and no other clock may be read: see confine.c */
	bool verify;           /* options of the session, as they were at the start */
	bool free_stacks;
	bool hooked;         /* functions of the program are hooked */
	bool python;         /* an interpreter's frames are read */
	bool pools_sampled;  /* blocks in pools were: what is noted may be gone */
	uint8_t sample_last; /* of sample_tables */
	/* The usable size of a block of the allocator behind malloc; NULL = not asked for, or it
	 * does not tell. Like a backend's functions it may not allocate, lock or block. */
	uint64_t (*usable)(const void *block);
	struct mg_sample_table sample_tables[MG_SAMPLE_TABLES];
	bool mapping;               /* --mmap, here and in forked children */
	struct mg_session *head;    /* of the image; another one in a forked child */
	struct mg_fork_slot *slots; /* slot_count of them; see fork.c */
	uint32_t slot_count;
	unsigned char *slot_memory; /* the first page of it, or all: see grow.c */
	bool slots_mapped;
	uint32_t generation;   /* grows when a forked child begins its own recording */
	uint32_t writer_base;  /* the writer of ring 0 */
	uint32_t writers_used; /* writers below were claimed in this or an earlier generation */
	uint32_t writers_all;
	uint32_t serial;     /* of `session`, as long as it was ours */
	uint64_t fork_stamp; /* of the MG_FORK record of a fork under way, 0 = none */
	uint64_t missed;     /* events of a forked child before it had a slot */
	uint64_t raw_tp;     /* thread whose number the C library has wrong */
	uint32_t raw_tid;
	struct mg_ring void_ring; /* for writers that shall not reach the parent's memory */
	struct mg_module *modules;
	struct mg_ring *rings;
	/* The rings' windows, and the writers: see grow.c. */
	unsigned char *windows[MG_CHUNKS], *writers[MG_CHUNKS];
	size_t writer_bytes;
	uint32_t writer_count;
	uint32_t frames;                  /* of each writer */
	unsigned char *deep[MG_DEEP_MAX]; /* the pool, as far as it is mapped */
	uint32_t deep_taken[MG_DEEP_MAX];
	bool deep_none;   /* no more can be mapped */
	uint32_t closing; /* dlclose calls under way */
	uint32_t epoch;   /* the session's, as far as this process made it */
	/* See stack.c. main_low: as far down as the main stack was seen to reach. stack_field:
	 * where in the C library's thread block the start of the thread's stack stands, then its
	 * size; 0 = glibc's, not looked for yet, MG_NO_FIELD = nowhere. */
	uint64_t main_tp, main_low, main_high, stack_field;
	uint64_t main_entry; /* sp at the program's entry, or 0 */
	struct mg_rule_table tables[MG_RULE_TABLES];
	struct mg_rule_table *table;
	uint64_t rule_overflow;
	uint64_t early;   /* calls before the guest was ready */
	bool filtered;    /* a seccomp filter was installed since the start: see confine.c */
	uint32_t calling; /* threads about to make a system call */
	struct mg_backend backend;
	/* All that is mapped for us; pages of `seeds` that were not used: see grow.c, G4. */
	uint64_t held[MG_HELD_MAX][2], seeds;
	uint32_t held_count, seed_count;
};
extern struct mg_core mg __attribute__((visibility("hidden")));
extern struct mg_gate mg_closed_gate __attribute__((visibility("hidden")));

/* A hook's caller: a pointer to its frame {saved bp, return address}. */
#define MG_FRAME ((const uint64_t *)__builtin_frame_address(0))

/* Holds this thread's writer in `self`: 0 = none yet; odd = 2 x events + 1 of a thread that found
 * no ring. A backend without thread-local storage of its own defines MG_SELF. MG_UNTIL_SAMPLE:
 * bytes up to and with the thread's next sample point; while it has no writer it is 0, or what is
 * left from a recording before. */
#ifndef MG_SELF
struct mg_own {
	uintptr_t self;
	int64_t until_sample;
	const void *passed; /* the block that entry.c passed over last: see cxx.c */
};
extern __thread struct mg_own mg_own
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
#define MG_SELF (&mg_own.self)
#define MG_UNTIL_SAMPLE(t) (&mg_own.until_sample)
#else
#define MG_UNTIL_SAMPLE(t) (&(t)->until_sample)
#endif

/* This thread's writer, or NULL. */
MG_INLINE struct mg_writer *mg_own_writer(void)
{
	uintptr_t self = *MG_SELF;
	return self & 1 ? NULL : (struct mg_writer *)self;
}

/* The rare ways into a hook: no writer yet, or busy, or another epoch. The writer, marked busy, or
 * NULL: record nothing. */
struct mg_writer *mg_enter_slow(struct mg_writer *t, const uint64_t *frame);
/* The gate is shut: counts calls before the guest was ready; a forked child begins a recording of
 * its own, then true, or is counted, once. */
bool mg_shut(const uint64_t *frame);
#ifdef MG_IMAGE
bool mg_shut_forked(const uint64_t *frame);
#endif
/* Is this process recorded? A forked child begins to be. */
MG_INLINE bool mg_is_open(const uint64_t *frame)
{
	if (MG_LIKELY(__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE)))
		return true;
	return !mg.gate->counted && mg_shut(frame);
}
/* Around the real fork: the stamp of the record that says so, 0 = none was written. */
uint64_t mg_fork_begin(const uint64_t *frame);
void mg_fork_end(const uint64_t *frame, uint64_t stamp, bool child);
/* Leaves a hook. */
MG_INLINE void mg_leave(struct mg_writer *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

/* ---- unwinding (unwind.c, whole.c, walk.c) ------------------------------------------------- */

/* Takes the stack of the hook with this frame. Afterwards ip[0..frames) is the stack, of which the
 * first `keep` frames are those of the previous one. False = it has to be sent as a copy.
 *
 * If a record of `words` words and the frames not kept, which are at most MG_FRAMES_RECORD, has
 * room in the ring at once, they are there, behind those words. */
bool mg_unwind(struct mg_writer *t, const uint64_t *frame, uint32_t words);
/* whole.c: the same while sampling. Or in two parts: the first has memory that the second will look
 * at come into the caches, and says where a stack like this one would be remembered. */
bool mg_unwind_sampled(struct mg_writer *t, const uint64_t *frame, uint32_t words);
struct mg_whole *mg_whole_ahead(const struct mg_writer *t, const uint64_t *frame);
/* Is it the stack that stands there: would a walk read what was read then? */
bool mg_whole_holds(const struct mg_writer *t, const struct mg_whole *m, const uint64_t *frame);
bool mg_unwind_whole(struct mg_writer *t, struct mg_whole *m, const uint64_t *frame,
		     uint32_t words);
/* Counts a mismatch when the stack just taken is not what a walk from the same frame finds that
 * uses nothing remembered, neither frames nor rules. `cut`: its root part was not taken. */
void mg_verify(struct mg_writer *t, const uint64_t *frame, bool cut)
	__attribute__((visibility("hidden")));
/* stack.c: bounds of the stack that holds `sp`. Own: it is the one that the thread was started on.
 * Find: any; false = it is not known, and if a hook's caller has this sp the rest of its page may
 * be read. New: the same for a hook, whose thread notes it for the next ones; its end. Block: the part
 * of glibc's block of this thread that holds what pthread_setspecific was given first, or none. */
bool mg_own_stack(uint64_t sp, struct mg_range *stack);
bool mg_find_stack(uint64_t sp, struct mg_range *stack);
struct mg_range mg_thread_block(void);
uint64_t mg_new_stack(struct mg_writer *t, uint64_t sp);
/* Is the hook in which `t` is busy still on the stack below the one with this frame? In doubt, yes.
 */
bool mg_still_inside(struct mg_writer *t, const uint64_t *frame);
/* Reads the word at `address`, a slot of a stack. */
MG_INLINE uint64_t load(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

/* Forgets the previous stack: the next one is sent whole. */
MG_INLINE void mg_forget(struct mg_writer *t)
{
	t->frames = 0;
}

/* ---- memory as threads come (grow.c) ------------------------------------------------------- */

/* Bytes of address space that a mapping may take now: a part of what the program may have. */
uint64_t mg_grow_budget(void);
/* Private memory, noted as ours; NULL = none. */
void *mg_grow_own(uint64_t bytes);
/* Notes a mapping of ours, private or shared. */
void mg_note_ours(const void *start, uint64_t bytes);
/* Makes ready what G4 needs. */
void mg_grow_init(void);
/* Returns the address of element `i`, of `each` bytes; NULL = it is not mapped. */
void *mg_grown(unsigned char *const *chunks, uint32_t i, size_t each);
/* Sets the chunks to `count` elements of `each` bytes that are mapped in one piece, at `base`. */
void mg_grow_whole(unsigned char **chunks, void *base, uint32_t count, size_t each);
/* Returns the address of element `i`, and maps its chunk if need be; NULL = it cannot be mapped. */
void *mg_grow(unsigned char **chunks, uint32_t i, size_t each);
/* Returns the memory of a fork's slot, or NULL. */
unsigned char *mg_grow_slot(uint32_t i);
/* Maps all that can be had, before a seccomp filter that may forbid it. Not `here`: in a forked
 * child that has not begun, only slots. */
void mg_grow_ahead(bool here);

/* Returns the size in bytes of the window of a ring of the session. */
MG_INLINE uint64_t mg_window_bytes(const struct mg_ring *r)
{
	const struct mg_session *s = mg.session;
	return (uint64_t)(r - mg.rings) < s->wide_count ? s->wide_bytes : s->window_bytes;
}

/* Returns the bytes of a lap that begins. */
MG_INLINE uint64_t mg_lap_bytes(const struct mg_ring *r)
{
	uint64_t allowed = __atomic_load_n(&r->size_allowed, __ATOMIC_RELAXED);
	uint64_t largest = mg_window_bytes(r) - MG_SLACK;
	return allowed < largest ? allowed : largest;
}

/* ---- records (ring.c) ---------------------------------------------------------------------- */

/* Room for a record of `words` words, or NULL: it has to be dropped. May wait. */
uint64_t *mg_room_slow(struct mg_writer *t, uint32_t words);
void mg_lost(struct mg_writer *t, uint64_t stamp);
/* Counts a wait. */
void mg_waited(struct mg_writer *t, uint64_t ticks);
/* Wakes ms-record if it sleeps. */
void mg_wake_recorder(void);
void mg_ring_attach(struct mg_writer *t);
/* After a longjmp out of a hook: what was published stays, the rest is void. */
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

/* No stamp is as little after it as fits into a short record. */
#define MG_NOT_SENT (UINT64_C(1) << 63)

/* Puts the stamp into a record at `w`. */
MG_INLINE void mg_put_stamp(struct mg_writer *t, uint64_t *w, uint64_t stamp)
{
	w[1] = t->sent = stamp;
}

/* R4: the record that was written at the last mg_room becomes visible. A child made by a fork
 * inside the hook stops here. */
MG_INLINE void mg_publish(struct mg_writer *t, uint32_t words)
{
	t->offset += words * 8;
	t->head += words * 8;
	if (MG_LIKELY(__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED)))
		__atomic_store_n(&t->ring->head, t->head, __ATOMIC_RELEASE);
}

/* R5: from here until mg_stamped, ms-record merges nothing younger than the stamps that this thread
 * may still publish. The bound is the stamp after this thread's last one: older than a time read
 * here, and saves reading one. */
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
MG_INLINE uint64_t mg_stamp(struct mg_writer *t)
{
	return t->last = mg_clock();
}
/* The stamp of an allocation whose real call is over, or of a free whose real call is to come.
 *
 * As long as one ring alone is in use its order is the order of events, and a clock is read for
 * their time only: the first after each round of ms-record reads it, and of those that follow one in
 * 64; the others take the next number, which is in the past, since none takes less than a tick. A second thread sets MG_STAMPS_ALL in its first
 * event, before it takes its own stamp from the clock. What this thread does because of that event
 * (it got the block from it, or the allocator gave it an address again) comes after the real call
 * that told it, so the word read here has the bit, and the stamp is a later one. And what it had
 * done before is stamped in the past. `pending` holds up the merge for what is under way (R5). */
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

/* Both: the event is over. */
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

/* How the gate opens for this session. */
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

/* Is there an interpreter, as ms-record says? Then its frames are read from now on. */
void mg_python_look(void);
/* Puts them into the stack that was just taken for a record of `words` words. It may take a new
 * stamp. */
void mg_python_merge(struct mg_writer *t, uint32_t words, struct mg_stack *s, uint64_t *stamp);
/* The next stack is without them: memory that they may be in was just unmapped. */
void mg_python_skip(struct mg_writer *t);
/* Returns the bytes that each writer needs for Python, on a backend that cannot map memory later;
 * mg_python_lay says where they are when a session begins, NULL = nowhere. */
size_t mg_python_bytes(void);
void mg_python_lay(void *memory);

/* ---- copies (copy.c) ----------------------------------------------------------------------- */

/* Sends the registers as they are here and the stack from here on. Returns the event's flags. */
uint32_t mg_send_copy(struct mg_writer *t, const uint64_t *frame);

/* ---- hooks (hooks.c): each is called by an entry point with the frame of that ---------------- */

void mg_on_alloc(const uint64_t *frame, const void *block, uint64_t size);
/* A block that does not come from the allocator behind malloc. */
void mg_on_foreign_alloc(const uint64_t *frame, const void *block, uint64_t size);
void mg_on_failed(const uint64_t *frame, uint64_t size);
void mg_on_free(const uint64_t *frame, const void *block);
/* realloc of a block: begin before the real call, then exactly one of the ends. `t` may be NULL. */
struct mg_writer *mg_realloc_begin(const uint64_t *frame, const void *old, uint64_t *before);
void mg_realloc_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, const void *old,
		    const void *block, uint64_t size);
/* Around a call out that may come back to the hooks for the block that the caller records itself.
 * Begin: frees of `freeing` are ignored from here on. End: was `block` recorded as an allocation
 * since? */
void mg_nesting_begin(const void *freeing);
bool mg_nesting_end(const void *block);
struct mg_span {
	uint64_t address, bytes;
};
/* Address space was taken, with MG_MAP_*; `from` = 0, or what an mremap made a second mapping of.
 */
void mg_on_map(const uint64_t *frame, struct mg_span span, uint64_t flags, uint64_t from);
/* Something else was mapped there. */
void mg_on_cover(const uint64_t *frame, struct mg_span span);
/* Address space is given back, or moved: begin before the real call, then
 * exactly one of the ends. `done`: it succeeded; else nothing is recorded. */
struct mg_writer *mg_unmap_begin(const uint64_t *frame, uint64_t *before);
void mg_unmap_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, struct mg_span span,
		  uint64_t flags, bool done);
void mg_remap_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, struct mg_span old,
		  struct mg_span now, bool done);
void mg_on_mark(const uint64_t *frame, const char *name);
/* Writes MG_FORK; its stamp, or 0. */
uint64_t mg_on_fork(const uint64_t *frame);
uint64_t mg_user_size(uint64_t size);
void mg_on_user_alloc(const uint64_t *frame, const void *block, uint64_t size);
void mg_on_user_free(const uint64_t *frame, const void *block);

/* ---- user.c: memscope.h besides these -------------------------------------------------------- */

void mg_on_user_realloc(const uint64_t *frame, const void *old, const void *block, uint64_t size);
/* ms_pause or ms_resume: they nest. */
void mg_on_pause(const uint64_t *frame, bool pause);
/* Writes MG_IGNORE. */
void mg_on_ignore(const uint64_t *frame, const void *block);
/* A forked child's session begins: as its parent was at the fork. */
void mg_user_begin(struct mg_session *s);

/* ---- custom.c: functions of the program that are hooked, and memscope.h's pools -------------- */

/* Tells whether an allocation was made inside a hooked function, when the gate is MG_GATE_HOOKED.
 * If so, it is recorded as backing or not at all. */
bool mg_custom_backing(const uint64_t *frame, const void *block, uint64_t size);
/* Tells whether an allocation is hidden while sampling: made inside a hooked function, it is not
 * recorded. */
bool mg_custom_hides(const uint64_t *frame);
/* Tells whether a free is by a hooked function that frees that block, when the gate is
 * MG_GATE_HOOKED. */
bool mg_custom_freeing(const uint64_t *frame, const void *block);
/* Does the hooked function run still, in which this writer's thread was last? `frame`: of a hook
 * that was called now. */
bool mg_custom_within(const struct mg_writer *t, const uint64_t *frame);
void mg_on_pool(const uint64_t *frame, uint32_t step, const void *pool, const char *name);
void mg_on_pool_alloc(const uint64_t *frame, const void *pool, const void *block, uint64_t size);
/* Tells whether this call of a hooked function is to be recorded. The backend defines it. */
bool mg_custom_is_open(const uint64_t *frame);
/* This thread's writer as it is, or NULL. */
struct mg_writer *mg_custom_writer(void);
/* Notes that the dynamic linker changes its list of modules, by a function hooked for that. The
 * backend defines it. */
void mg_custom_linker(const uint64_t *frame);
/* late.c: has its heartbeat stopped, or is nothing to be recorded? Then nobody waits for it. */
bool mg_nobody_records(const struct mg_session *s);
/* late.c: has ms-record look for functions to hook in modules that were opened just now, and waits
 * for that. */
void mg_late_ask(void);
/* Anonymous memory of our own, and a page for slots at `at` and nowhere else. 0 = it cannot be had. */
uint64_t mg_map(uint64_t at, uint64_t bytes, uint64_t prot, uint64_t flags);
uint64_t mg_map_near(uint64_t at);
/* Opens the gate for functions of the program, if any of these hooks is of one. */
void mg_custom_open(const struct mg_hook *hooks, uint32_t count);
/* NAME_custom.S: where slots of hooked functions go. */
void mg_entry_custom(void);

/* ---- what is ours stays apart (apart.c) ------------------------------------------------------ */

/* Finds the next part of [*start, end) that is not ours, and moves *start behind it; false = there
 * is none. */
bool mg_next_apart(uint64_t *start, uint64_t end, struct mg_span *part);
/* Does mlockall with these flags, but not for our memory: 0 or an error as the kernel's; or 1: the
 * kernel has to be asked, and our memory unlocked afterwards. Not under a filter. */
long mg_lock_all(uint64_t flags);
void mg_unlock_ours(void);

/* ---- what the program forbids itself (confine.c) --------------------------------------------- */

/* Returns mg_counter for waits. If the program forbade to read the clock, it is a count that goes
 * on about as fast, if mg_spin is called in between. */
uint64_t mg_ticks(void);
void mg_spin(void);
/* Is ms-record's last heartbeat older than that? Not told where stamps are counted. */
bool mg_heartbeat_timeout(const struct mg_session *s, uint64_t seconds);
/* May system calls be forbidden? */
bool mg_filtered(void);
/* The system call, without a result; under a filter a wait is a spin. */
#define MG_FUTEX_WAIT 0
#define MG_FUTEX_WAKE 1
void mg_futex(const uint32_t *word, uint32_t op, uint32_t value, uint64_t ns);
/* The program is about to install a filter, or to forbid a thread to read the clock. */
void mg_confine(bool calls, bool clock);
