/* SPDX-License-Identifier: MIT
 * What the guest (in the target) and ms-record share: session memory, rings, records. The one
 * header of the guest that others may include.
 *
 *   session memory (one memfd per process image, allocated by ms-record, mapped once by the guest)
 *
 *   +------------+----------------+--------------+---------------+----------------+---------------+
 *   | struct     | struct         | struct       | struct        | struct         | data windows, |
 *   | mg_session | mg_module[]    | mg_ring[]    | mg_frames[]   | mg_range[2][]  | one for each  |
 *   +------------+----------------+--------------+---------------+----------------+---------------+
 *   0            modules_offset   rings_offset   frames_offset   ranges_offset    data_offset +
 *                                                                                 i * window
 *
 * In front of the windows the first `wide_count` rings have others, larger ones, at wide_offset + i
 * * wide_bytes, and theirs behind data_offset are not used: few threads may be ahead of ms-record by
 * much, many cannot all be.
 *
 * The guest maps all in front of the windows and the first of these, and the others as threads
 * come: see grow.c. ms-record puts memory behind a ring and the first of its window when it makes
 * the ring ready, and behind more of the window when it raises size_allowed.
 *
 * A ring is written by one thread and read by ms-record. Invariants:
 *
 *  R1 `head` and `tail` count bytes and only grow; head - tail <= the size of the lap(s) in use.
 *
 *  R2 Records lie whole, below `size`: none is longer than half of the smallest lap, what would be
 *     is split. Where the next one does not fit it starts at offset 0. A MG_WRAP record (one word)
 *     says so; ms-record follows records and wraps only there, so it never needs to know the
 *     writer's lap size. The writer keeps 8 bytes in hand for it.
 *
 *  R3 The writer takes a new lap size (`size_allowed`, which ms-record may raise while the thread
 *     stalls) only at a wrap, and until tail has passed into that lap it keeps to the smaller of
 *     both sizes.
 *
 *  R4 head is stored with release after the record is whole: a crash loses at most the record
 *     being written.
 *
 *  R5 Before it takes a stamp the writer stores `pending` = a time read at hook entry (0 when out
 *     of hooks), so everything it may still publish is stamped at or after that. Watermark of the
 *     merge: ms-record reads now, then pending and head of every ring in that order; the least of
 *     now - 100 us and all pendings bounds what is merged. (pending is cleared with release after
 *     head is stored.) A pending that has not changed for half a second, in which its thread was not kept
 *     from running, bounds nothing: its hook was left by a longjmp, or takes long; what still comes
 *     of it is a violation, and counted.
 *
 *  R6 A thread that could not record counts it in `lost` with the first and last stamps; ms-record
 *     reads and reports.
 *
 *  R7 A short record's stamp is a difference to the stamp of the record before it in this ring
 *     (MG_PUSH and MG_WRAP have none), whatever was dropped between. Where the writer is not sure
 *     of that one it writes a full record.
 *
 *  R8 A process on standby is recorded several times, each time by another ms-record, in the same
 *     memory. In between the session is OFF. Whoever records next sets all tails to 0, then adds 1
 *     to `wake` and to `epoch`. The epoch sends each writer the slow way at its next event, where
 *     it begins its ring anew: head and offset 0, then `wake` of the ring, with release. Until then
 *     the ring is not looked at: what a thread still publishes there that was stopped in a hook of
 *     the recording before is nobody's.
 *
 *  R9 A ring that is free has its bit in `free_rings`. Who clears the bit has it, and says so by
 *     MG_RING_TAKEN. ms-record alone gives it back, when it is drained and the thread is gone: head
 *     and tail 0, the lap as it was at first, then the state, then the bit. Every writer begins it
 *     anew, as in R8.
 *
 * Times are the processor's counter when MG_CLOCK_TSC, until the program forbids that (`blind`); else the values of
 * a shared counter.
 *
 * Forks. Behind an image's windows lies a pool of slots, each laid out like the whole: session,
 * modules, rings, windows. All processes that fork from the image, or from one another, without an
 * exec have the pool mapped. Such a child takes a slot by compare-and-swap at its first event and
 * writes there from then on; the memory of its parent it never touches. The directory of the slots
 * lies between rings and windows of the image.
 */
#pragma once

#include <stdint.h>

#include MG_CPU_LAYOUT_H

/* Identifies the layout and its version: guest and ms-record must be of one build. */
#define MG_MAGIC UINT64_C(0x32747365754753d0)
#define MG_LAYOUT_VERSION 12u
#define MG_OWN_MAX 58u /* chunks of writers, rooms for deep stacks, and a few */
#define MG_ARENAS 64u
#define MG_NEAR_BYTES 8192u /* of slots, near a module; at a multiple of it */

/* The environment variable that names the recorder's socket (abstract, without the leading NUL). */
#define MG_ENV_SOCKET "MEMSCOPE_SOCKET"
#define MG_SOCKET_BYTES 80u /* of its name */

/* Handshake, SOCK_SEQPACKET: the guest's constructor sends mg_handshake, ms-record answers
 * mg_handshake_reply, with the session memory's descriptor (and no other) as SCM_RIGHTS when
 * `accept` is 1. The guest maps it and closes both. ms-record takes pid and uid from SO_PEERCRED,
 * opens a pidfd, and answers within five seconds or the guest goes on unrecorded. */
struct mg_handshake {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t exec;  /* enum mg_exec, */
	uint32_t tid;   /* and the thread that is about to do it */
	char exe[1024]; /* program_invocation_name, cut; or the path of what it is about to exec */
};
/* Not a handshake, but word of a program that will make none (exec.c); the answer is "not wanted", and
 * comes when ms-record is ready for that program. */
enum mg_exec { MG_EXEC_NONE = 0, MG_EXEC_SELF = 1, MG_EXEC_CHILD = 2 };
struct mg_handshake_reply {
	uint64_t magic;
	uint32_t version;
	uint32_t accept; /* 0 = not wanted: stay out */
	uint64_t bytes;  /* size of the session memory to map */
};

/* Memory that the allocator mapped for itself: see arenas.c. Nothing in it when busy or unsure. */
struct mg_arenas {
	uint32_t busy, unsure, count;
	uint32_t brk; /* 1 = the end of the heap was moved by sbrk or brk, not by the C library */
	uint64_t span[MG_ARENAS][2]; /* start, end */
};

/* Memory that the program says is a root: see roots.c. */
#define MG_ROOTS 4096u
struct mg_root {
	uint64_t start; /* ~ of its address, so that it is no pointer; 0 = free, MG_ROOT_BUSY */
	uint64_t bytes; /* 0 = taken back */
};
struct mg_roots {
	uint32_t used;    /* entries that ever were */
	uint32_t refused; /* ranges for which there was none */
	struct mg_root v[MG_ROOTS];
};
#define MG_ROOT_BUSY 1u

enum mg_clock { MG_CLOCK_TSC = 0, MG_CLOCK_SEQUENCE = 1 };

/* Session state, written by ms-record; at the start mark the guest itself goes from WAITING to ON,
 * and between ON and PAUSED both go by mg_settle. OFF is for good, but on standby. */
enum mg_state {
	MG_OFF = 0, /* hooks pass through; on standby: until somebody wakes it */
	MG_ON = 1,
	MG_PAUSED = 2,  /* allocations are counted only; frees are recorded, without stacks, so that
			   live figures of what was recorded stay right */
	MG_WAITING = 3, /* --start-after: allocations are counted only, frees pass through */
};

/* How ms-record sleeps: from a long sleep a thread that begins wakes it too, or it could be gone
 * before its name was read. */
#define MG_SLEEPS 1u
#define MG_SLEEPS_LONG 2u

/* Tells how threads stamp their records (mg_session.stamps). FEW: ms-record reads the ring again
 * and again, so a stamp that is up to 64 events old is right to a fraction of a millisecond. ALL: a
 * second ring is in use, or the clock changed (guest; for good). ALL_NOW: ms-record wants a moment
 * that splits the events. */
#define MG_STAMPS_FEW UINT64_C(1)
#define MG_STAMPS_ALL UINT64_C(2)
#define MG_STAMPS_ALL_NOW UINT64_C(4)

#define MG_RINGS_MOST 8192u
#define MG_CHUNK_FIRST 16u /* windows that are there from the start; see grow.c */

/* How a table of lines is written: pairs of steps, behind which the new line holds (to 3.9), before
 * which it holds (3.10), or entries with columns. */
enum mg_code_lines { MG_LINES_BEHIND, MG_LINES_BEFORE, MG_LINES_COLUMNS };

/* An interpreter whose frames are read: see python.c. ms-record fills it in, once, then sets `ready`
 * with release. */
struct mg_python {
	uint64_t code_type; /* address of PyCode_Type */
	uint64_t eval[2]
		     [2]; /* start and end of _PyEval_EvalFrameDefault, and of its cold part or 0 */
	/* Offsets: in _PyCFrame, in _PyInterpreterFrame, in PyCodeObject, in a str and a bytes. */
	uint16_t root;  /* of a thread's outermost _PyCFrame in its state, */
	uint16_t chunk; /* of the address of the newest chunk of frames, */
	uint8_t now;    /* of that of the _PyCFrame that runs, from 3.13 on of the frame, */
	uint8_t thread; /* and from then on of the thread's pthread_self(); 0: before */
	uint8_t current, outer;
	uint8_t code, previous, instruction;
	uint8_t entry; /* of what says that a frame is the entered one; 0: the one behind it does, */
	uint8_t owner; /* which the C stack owns; 0: each */
	uint8_t unit;  /* loop has one frame (to 3.10), which says how far it has come, in these */
	uint8_t lines; /* enum mg_code_lines */
	uint8_t first_line, object[3], traceable, instructions; /* object: by mg_code_part */
	uint8_t length, state, ascii, compact, bytes;
	uint32_t ready;
	uint64_t unread; /* guest: chains of frames that could not be read */
};

/* Does the frame with that return address run the interpreter's loop? */
static inline bool mg_python_is_loop(const struct mg_python *p, uint64_t ip)
{
	return ip - 1 - p->eval[0][0] < p->eval[0][1] - p->eval[0][0] ||
	       ip - 1 - p->eval[1][0] < p->eval[1][1] - p->eval[1][0];
}

/* Describes a thread that ends the process: below `sp` its stack has nothing of the program's any
 * more, and its registers are these, bp last. */
struct mg_end_frame {
	uint64_t tp, sp; /* tp: 0 = none */
	uint64_t regs[MG_KEPT + 1];
};
#define MG_END_FRAMES 4u

struct mg_session {
	uint64_t magic;
	uint32_t version;
	uint32_t clock; /* enum mg_clock */
	uint64_t modules_offset;
	uint64_t rings_offset;
	uint64_t data_offset;
	uint64_t window_bytes; /* distance of data windows: largest lap + MG_SLACK, whole pages */
	uint32_t module_max;   /* entries of mg_module[] */
	uint32_t ring_max;     /* entries of mg_ring[], at most MG_RINGS_MOST */
	uint64_t tsc_hz;       /* for waits; 0 = unknown */
	uint64_t wait_ticks; /* --buffer=wait: a waiting thread gives up when the tail has not moved
				  for this long; 0 = never wait */
	uint32_t free_stacks; /* 1: frees carry stacks too */
	uint32_t verify;      /* 1: compare each stack with an uncached walk, count in
				  ring->verified/mismatched */
	uint32_t usable_size; /* 1: allocations carry their usable size (MG_F_USABLE) */
	uint32_t mapped;      /* 1: MG_MAP and MG_UNMAP are recorded */
	uint64_t sample_seed;
	uint32_t rings_short; /* ms-record: 1 = no further ring can be made ready (--buffer,
				 ring_max) */
	uint32_t end_wait_ms; /* a thread that ends the process is held for so long at most, for
				 ms-record to look at its memory; 0 = not at all */
	uint32_t range_max;   /* entries of mg_range[2][] */
	uint32_t unfiltered;  /* ms-record: attached, 1 = no thread has a seccomp filter; else 0 */
	uint64_t ranges_offset;
	uint64_t wide_offset, wide_bytes;
	uint32_t wide_count; /* rings that have such a window */

	/* One line, of what each event looks at. A forked child's session begins as a copy of what
	 * is before `state`. */
	_Alignas(64) uint64_t sample_bytes; /* mean distance of sample points; 0 = every event */
	uint32_t state;                     /* enum mg_state; ms-record -> guest */
	uint32_t sleeping;  /* futex word: MG_SLEEPS* while ms-record sleeps; the guest that fills
			       half a ring sets it to 0 and wakes it */
	uint64_t stamps;    /* MG_STAMPS_*, atomic; see mg_stamp_or_next */
	uint64_t heartbeat; /* stamp of ms-record's last round, */
	uint64_t ticks;     /* and the TSC */
	/* Who wants MG_PAUSED: see mg_settle. */
	uint32_t told_paused; /* ms-record: it was told to */
	uint32_t user_paused; /* guest: the program asked for it (ms_pause)... */
	uint32_t user_began;  /* ...and had already when the session began: a forked child */
	uint32_t wake;  /* ms-record: how often it was woken (--standby); grows while it is OFF */
	uint32_t epoch; /* guest: grows at every dlclose (before and after) */

	_Alignas(64) uint64_t sequence; /* MG_CLOCK_SEQUENCE: atomic counter */
	uint32_t module_count;          /* published entries; guest -> ms-record, release */
	uint32_t guest_ready;           /* 1 after the constructor */
	uint32_t guest_disabled;        /* 1: the guest gave up; reason below */
	uint32_t seccomp_seen; /* not 0: there may be a seccomp filter; ms-record may set it */
	uint32_t blind;        /* 1: stamps are from `sequence`, whatever the clock; for good */
	uint32_t forks;        /* children that noticed that they are not the recorded process */
	uint32_t own_count;    /* guest: of `own`, and what was too many */
	uint32_t no_usable; /* 1: usable sizes were asked for and the allocator does not tell them
			     */
	uint64_t no_ring_lost; /* their events */
	uint64_t passed_early; /* allocations before the guest was ready (no thread
				  pointer) */
	uint64_t reentry_lost; /* events of signal handlers inside a hook that could not be kept */
	uint64_t
		not_taken; /* stacks not taken because of the rate limit, or below too many handlers */
	char disabled_why[96];

	/* Allocators found, as "glibc 2.36" or a module's base name; guest writes once at start. */
	char allocator[128];

	/* --start-after mark:NAME, NUL-terminated; "" = none. Written before the guest maps this.
	 */
	char start_mark[256];

	/* Program-defined marks (ms_mark) travel in the rings: MG_MARK. */

	/* Forks. Written by ms-record, once, but the last two words, which are the image's. */
	_Alignas(64) uint64_t slots_offset; /* of mg_fork_slot[slot_max]; 0 in a slot */
	uint64_t slots_start;               /* of the first slot's memory */
	uint64_t slot_bytes;
	uint64_t slot_first; /* with MG_CHUNK_FIRST windows: the rest is mapped when it is needed */
	uint32_t slot_max;
	uint32_t serial;       /* of this session: no two of a run have the same; never 0 */
	uint32_t slots_wanted; /* guest: 1 = it found none free */
	uint32_t slots_futex;  /* ms-record adds 1 and wakes when slots have become free */

	/* The end of the process: see end.c. */
	_Alignas(64) uint32_t end_state; /* enum mg_end_state; futex word */
	uint32_t end_status;  /* guest: what it exits with, + 1; 0 = it has not come there */
	uint32_t end_unheard; /* guest: it came to its end without ms-record's heartbeat */
	uint32_t end_tid;     /* the thread that is held, */
	uint64_t end_sp;      /* its registers, and above them its stack, */
	uint64_t end_tp;      /* its thread pointer */
	struct mg_end_frame end_frames[MG_END_FRAMES];
	uint64_t main_entry, main_tp; /* sp at the program's entry, its thread; 0 = not known */
	/* Private memory of the guest, start and end; in the image's session. Nothing there belongs
	 * to the program. */
	uint64_t own[MG_OWN_MAX][2];
	uint64_t arenas; /* address of a struct mg_arenas in the guest's memory; 0 = none */
	uint64_t roots;  /* and of a struct mg_roots */

	/* Attached: ms-record keeps the table of modules. */
	_Alignas(64) uint32_t modules_wanted; /* guest: grows when the linker changed something */
	uint32_t modules_closing;             /* guest: the linker is about to take modules away */
	uint32_t modules_epoch;               /* ms-record: the table is right as of this epoch */
	uint32_t modules_first; /* ms-record: entries that were there when it attached */

	/* Launched: a thread that is about to close modules has ms-record look at them first. */
	_Alignas(64) uint32_t modules_asked; /* guest: grows with each such question */
	uint32_t
		modules_looked; /* ms-record: the number of the last that is answered; futex word */

	/* Launched, with functions to hook: when all else is mapped the guest says so over the
	 * socket. ms-record finds the functions and replaces their entries. Where it needs a page
	 * for slots it answers with late_page; the guest maps it and says so. Its last answer is
	 * without. */
	_Alignas(64) uint32_t hooks_wanted; /* ms-record: enum mg_hooks_wanted */
	uint32_t hook_count;                /* ms-record: that there are; the image's */
	uint64_t hooks;        /* guest: where MG_HOOKS_MAX hooks go; 0 = it could not */
	uint64_t enter_custom; /* guest: where slots go */
	uint64_t malloc_at;    /* guest: the malloc that it calls; ms-record: the program's own */

	/* Modules that are opened later: see late.c. The last two are of the image's session. */
	uint32_t late_state;  /* enum mg_late_state; futex word */
	uint32_t late_wanted; /* ms-record: 1 = it looks for functions to hook in them */
	uint64_t late_page;   /* ms-record: where a page for slots is wanted; guest: 0 = it cannot
				 be had there */
	uint64_t debug_state; /* ms-record: address of r_state of the dynamic linker */

	/* Mappings: see struct mg_range. */
	_Alignas(64) uint32_t ranges_wanted; /* guest: 1 = something was in none */
	uint32_t ranges_round;               /* ms-record; lowest bit: which list is in use */
	uint32_t ranges_count[2];            /* of either */

	/* offset of mg_frames[MG_LISTS_MAX], which ms-record fills; the image's, for its forked
	 * children too */
	_Alignas(64) uint64_t frames_offset;
	uint32_t frames_count; /* with release */

	uint32_t rings_wanted; /* guest: threads that wait for a ring */
	uint32_t rings_futex;  /* ms-record adds 1 and wakes when there are more for them */

	/* The image's, for its forked children too; but `unread`. */
	struct mg_python python;

	/* R9: bit i of word i / 64. */
	_Alignas(64) uint64_t free_rings[MG_RINGS_MOST / 64];
};

/* 0 = there is nothing to hook. Refused: the program ends itself, with 125, before it begins. One
 * that waited no longer reads it too, or runs with `guest_ready`. */
enum mg_hooks_wanted { MG_HOOKS_WANTED = 1, MG_HOOKS_REFUSED = 2 };

/* Tracks a thread that opens a module, and waits in the dynamic linker for functions in it to be
 * hooked. ms-record goes from ASKED to TAKEN, from there to PAGE, and from TAKEN or MAPPED to
 * NONE. */
enum mg_late_state {
	MG_LATE_NONE = 0,
	MG_LATE_ASKED = 1,  /* guest */
	MG_LATE_TAKEN = 2,  /* ms-record looks */
	MG_LATE_PAGE = 3,   /* ms-record wants a page (late_page), */
	MG_LATE_MAPPED = 4, /* guest: which is there, or not */
	MG_LATE_GONE = 5,   /* guest: it does not wait any more; nothing may be written */
};

/* The guest goes from NONE to HELD; ms-record from HELD to SEEN or NAP, and from any but NONE to
 * OVER, or back to NONE when it was not an end. */
enum mg_end_state {
	MG_END_NONE = 0,
	MG_END_TAKEN = 1, /* a thread is about to be held */
	MG_END_HELD = 2,  /* it is; it spins */
	MG_END_SEEN = 3,  /* ms-record looks; it goes on spinning, because of a seccomp filter */
	MG_END_NAP = 4,   /* ms-record looks; it may sleep */
	MG_END_OVER = 5,  /* whoever ends the process is not held (any more) */
	MG_END_LATE = 6,  /* guest: it waited in vain */
};

/* The end_status of a program that exits with that. */
static inline uint32_t mg_end_status(int status)
{
	return ((uint32_t)status & 0xff) + 1;
}

/* Names the states of a slot, the part of the pool in which a forked child writes. */
enum mg_slot_state {
	MG_SLOT_UNREADY = 0, /* no memory behind it */
	MG_SLOT_FREE = 1,    /* ms-record prepared it; a child may take it by compare-and-swap */
	MG_SLOT_TAKEN = 2,   /* only ms-record gives it back, when its process is gone */
};
struct mg_fork_slot {
	_Alignas(64) uint32_t state; /* enum mg_slot_state */
	uint32_t ready;  /* the child, with release: what follows is true, and its session begun */
	uint32_t pid;    /* or a thread's, in its own namespace; 0 = it cannot tell */
	uint32_t parent; /* serial of the session of the process that forked */
	uint64_t fork_stamp;  /* of the MG_FORK record before the fork; 0 = there was none */
	uint64_t first_stamp; /* when it was taken, by the parent's clock */
};

/* Modules: written by the guest (constructor, after dlopen, on first sight of an unknown ip), each
 * entry once. ms-record finds path and build-id by /proc/PID/maps at `start`. A closed module keeps
 * its entry with `closed` set. */
#define MG_BUILD_ID_MOST 64u
struct mg_module {
	uint64_t start, end; /* lowest address, one past the highest */
	uint64_t bias;
	uint64_t eh_frame_hdr; /* address, 0 = none */
	uint64_t eh_frame_hdr_bytes;
	uint64_t loaded, closed; /* stamps; closed 0 = still there */
	uint32_t epoch_loaded, epoch_closed;
	uint32_t flags;  /* MG_MODULE_* */
	uint32_t frames; /* index of its mg_frames, + 1; 0 = none */
	uint32_t taken;  /* by ms-record, once it knows `closed`: the entry may be used again */
	char path[256];  /* dlpi_name, cut; "" = the executable */
	/* GNU build-id, as it lies in the module's memory; one that is longer counts as none. */
	uint8_t build_id[MG_BUILD_ID_MOST];
	uint32_t build_id_bytes; /* 0 = none */
	/* Attached: what the guest may read of it: the segment that holds .eh_frame_hdr, and one of
	 * code. */
	uint64_t low, high, code_low, code_high;
};
/* The functions of a module that has no .eh_frame_hdr, as that would list them. Nothing of it ever
 * changes. */
#define MG_LISTS_MAX 64u
struct mg_frames {
	uint64_t start;     /* of the module */
	uint64_t low, high; /* .eh_frame */
	uint64_t offset;    /* of mg_frames_entry[count], from the image's session */
	uint32_t count, reserved;
};
struct mg_frames_entry {
	int32_t start, fde; /* from the module's start; sorted */
} __attribute__((packed));

#define MG_MODULE_EXE 1u
#define MG_MODULE_GUEST 2u
#define MG_MODULE_VDSO 4u

enum mg_ring_state {
	MG_RING_UNREADY = 0, /* no memory behind it yet */
	MG_RING_FREE = 1,    /* ms-record prepared it; a thread may take it (R9) */
	MG_RING_TAKEN = 2,   /* has a writer; only ms-record returns it: drained and the thread gone
				from /proc */
};

struct mg_ring {
	_Alignas(64) uint64_t head; /* writer */
	uint64_t pending;           /* writer: see R5 */
	_Alignas(64) uint64_t tail; /* ms-record */
	uint32_t tail_futex; /* ms-record adds 1 and wakes when `waiting` was set and it moved tail
			      */
	uint32_t size_allowed;       /* bytes of a lap, at most window_bytes - MG_SLACK */
	_Alignas(64) uint32_t state; /* enum mg_ring_state */
	uint32_t tid;
	uint32_t waiting;                     /* writer: 1 while it waits for space */
	uint32_t stalls;                      /* writer: waits so far */
	uint64_t waited, waited_max;          /* ticks */
	uint64_t lost, lost_first, lost_last; /* R6: count, stamps */
	uint64_t verified, mismatched;
	uint64_t copies; /* stacks sent as copies */
	uint64_t passed; /* allocations that were counted only (MG_PAUSED, MG_WAITING) */
	uint32_t wake;   /* writer: what it holds is of that recording; see R8 */
	uint32_t reserved[7];
	uint64_t
		signal_stack; /* writer: what the thread has as its alternate signal stack; 0 = none */
};

/* A mapping that can be read, and be written to or executed: a stack or code can be there. Of these
 * ms-record reads a list from /proc/PID/maps: when the process begins, and whenever the guest met
 * what is in none. There is room for two, and the one in use is never written to. A reader looks up
 * `ranges_round` before and after: it has grown when what was read may be of another list. */
struct mg_range {
	uint64_t start, end; /* sorted; `end` with MG_RANGE_* */
};
#define MG_RANGE_CODE UINT64_C(1)   /* executable */
#define MG_RANGE_FILE UINT64_C(2)   /* of a file */
#define MG_RANGE_FRAMED UINT64_C(4) /* code that keeps a frame pointer; not all can be read */
#define MG_RANGE_FLAGS UINT64_C(4095)

/* Laps. A reader may look at the word behind a record. */
#define MG_SLACK 64u
#define MG_RING_FIRST (8192u - MG_SLACK) /* the first size_allowed, and the least */
#define MG_RING_LARGEST (131072u - MG_SLACK)
#define MG_WIDE_RINGS 4u
#define MG_WIDE_BYTES (2u << 20) /* of a window */
#define MG_RECORD_FRAMES 480u    /* frames, or words of a copy, in one record */
#define MG_RECORD_MOST 4032u     /* bytes of a record: R2 */

/* Records: 8-byte words. Word 0: kind (8 bits) | flags (8) | count (16) | keep (31) | 0.
 *
 * Stacks are deltas against the stack of this thread's previous record that had one: the new stack
 * is its `keep` outermost frames, then `count` frames from the end of this record, outermost first.
 * A frame is a return address; bit 63 set: the exact address of an interrupted instruction. A stack
 * too long for one record is sent by MG_PUSH records first (keep, then frames), which only change
 * "previous stack". */
enum mg_kind {
	MG_ALLOC = 1,   /* stamp, address, size, frames */
	MG_FREE = 2,    /* stamp, address[, frames if MG_F_STACK] */
	MG_REALLOC = 3, /* stamp after, new address, size, old address, stamp before, frames */
	MG_FAILED = 4,  /* stamp, size, frames */
	MG_PUSH = 5,    /* frames */
	MG_THREAD = 6,  /* stamp, tid, stack pointer: first record of a writer; previous stack is
			   empty */
	MG_EPOCH = 7,   /* stamp, epoch: modules changed; previous stack is empty */
	MG_MARK = 8,    /* stamp, length in bytes, then the name in whole words */
	MG_COPY = 9,  /* part of a stack copy: keep = offset in bytes in the copy; stamp; address of
		       * the copy's first byte (the stack  pointer); bytes in this part; then words.
		       * The first part (keep 0) starts with MG_COPY_REGS registers after  `bytes`,
		       * not counted in it. The event that follows has MG_F_COPIED and no frames of
		       * its own */
	MG_WRAP = 10, /* go on at offset 0 */
	MG_USER_ALLOC = 11, /* memscope.h ms_alloc: as MG_ALLOC, kept apart */
	MG_USER_FREE = 12,
	/* Address space (`mapped`): whole pages, but bytes with MG_MAP_BRK. What a file was mapped
	 * over is an MG_UNMAP too; that it was never mapped is for ms-record to find out. */
	MG_MAP = 13,   /* stamp after, address, bytes, MG_MAP_*, old address of an mremap or 0,
			  frames */
	MG_UNMAP = 14, /* stamp before, address, bytes, MG_MAP_*[, frames if MG_F_STACK] */
	MG_FORK = 15,  /* stamp: this thread is about to fork */
	MG_ALLOC_SHORT = 16, /* see MG_SHORT_* */
	MG_PAUSE =
		17, /* stamp, number of the change: odd = the program paused, even = it resumed */
	MG_USER_REALLOC = 18, /* memscope.h ms_realloc: as MG_REALLOC, kept apart */
	/* Heaps of the program's own: by hooked functions (struct mg_custom), or memscope.h's.
	 * Heap: its number, 0 = that of the pool, or of malloc if there is none. */
	MG_HEAP_ALLOC = 19,   /* stamp, address (0: it failed), size, heap, pool or 0, frames */
	MG_HEAP_REALLOC = 20, /* stamp after, new address, size, old address, stamp before, heap,
				 pool or 0, frames. The stamp before may be one of the past.
				   With MG_F_UNSURE, while sampling: only the old block is given
				   back, if it was recorded; the new one is none of ours */
	MG_HEAP_BACKING = 21, /* stamp, address, size, heap | MG_HEAP_HIDDEN: of malloc's, made
				 inside a hooked function */
	/* MG_ALLOC whose frames are the whole stack, which stands at place `keep`, below MG_WHOLES,
	 * from now on; without frames it is the stack that stands there, and "previous stack" is
	 * unchanged. */
	MG_ALLOC_WHOLE = 24,
	MG_IGNORE = 25, /* stamp, address: memscope.h ms_ignore */
	MG_CODE = 23, /* keep = slot; first line | part << 32 | bytes of a character << 40, bytes of
			 that part, those before this piece, then its `count` words */
	MG_POOL = 22, /* stamp, enum mg_pool_step, heap, pool, bytes of its name, then that in whole
			 words */
};
#define MG_WHOLES 64u
#define MG_HEAP_HIDDEN (UINT64_C(1) << 32)
/* A code object of an interpreter, as MG_CODE records: name, file and line table, each in pieces of
 * which the last one ends with the whole. All of a slot's before a frame of it. */
enum mg_code_part { MG_CODE_NAME = 0, MG_CODE_FILE = 1, MG_CODE_LINES = 2 };
#define MG_CODE_SLOTS 512u
#define MG_CODE_TEXT_MOST 2048u /* bytes of name and file, cut */
#define MG_CODE_LINES_MOST (1u << 20)
/* In a stack, where a return address would be: a frame of an interpreter, which runs in the frame of
 * C behind it. Code's slot << 24 | 1 + its instruction, 0 = before the first. MG_NOT_READ: one or
 * more that could not be read. */
#define MG_INTERPRETED (UINT64_C(1) << 47)
#define MG_INSTRUCTION_BITS 24u
#define MG_NOT_READ (MG_INTERPRETED | (uint64_t)MG_CODE_SLOTS << MG_INSTRUCTION_BITS)
#define MG_HEAP_PLAIN (UINT64_C(1) << 33) /* a block of malloc's heap, in a pool */
#define MG_POOL_NAME_MOST 255u
enum mg_pool_step {
	MG_POOL_MADE = 1,  /* what may be live of a pool that was there is gone */
	MG_POOL_RESET = 2, /* all its blocks are freed */
	MG_POOL_GONE = 3,  /* and it is no more */
};
/* Short records, which nearly all allocations and frees fit into; what does not is sent in full.
 *
 *   MG_ALLOC_SHORT, with a stack and no other flag:
 *      63      62..32       31..16     15..8      7..0
 *     | 0 | stamp: + (31) | keep (16) | count (8) | kind |    | size (17) | address (47) |  frames
 *
 *   a free without a stack, one word:
 *      63      62..43       42..0
 *     | 1 | stamp: + (20) | address / 16 (43) |
 */
#define MG_SHORT_FREE (UINT64_C(1) << 63)
#define MG_SHORT_FREE_SHIFT 43u /* of the stamp */
#define MG_SHORT_FREE_STAMP 20u /* bits */
#define MG_SHORT_ALLOC_STAMP 31u
#define MG_SHORT_ADDRESS 47u
#define MG_SHORT_SIZE 17u
#define MG_SHORT_COUNT 8u
#define MG_SHORT_KEEP 16u

#define MG_F_STACK                                                                                 \
	1u /* the record has a stack (else keep and count are 0 and "previous stack" is unchanged) \
	    */
#define MG_F_TRUNCATED                                                                             \
	2u /* the outermost frame sent is not the root: callers beyond could not be found */
#define MG_F_COPIED 4u    /* the stack is in the MG_COPY records just before */
#define MG_F_NOT_TAKEN 8u /* rate limit: no stack */
#define MG_F_CUT_COPY 16u /* the copy ends before the stack does */
#define MG_F_SIGNAL 32u   /* emitted by a signal handler that interrupted a hook of this thread */
#define MG_F_UNSURE 64u   /* MG_FREE while sampling: the block may not be one that was recorded */
#define MG_F_USABLE 128u  /* MG_ALLOC, MG_REALLOC: the usable size stands before the frames */

#define MG_MAP_BRK 1u   /* by brk or sbrk */
#define MG_MAP_REMAP 2u /* MG_UNMAP of an mremap, whose MG_MAP is the next one of this thread */

#define MG_EXACT_IP (UINT64_C(1) << 63)

/* ---- attaching ------------------------------------------------------------------------------
 *
 * For a process that runs already ms-record maps the guest by hand: an image, which is position
 * independent and is relocated by ms-record, a gate (a page that is wiped in forked children),
 * private memory, the session, and near each module that is hooked a page of slots. An entry jumps
 * to its slot, the slot into the image, and the image calls the function through the displaced
 * instructions, which stand in the slot too. All of it is in the manifest, by which a later
 * ms-record finds what an earlier one left.
 *
 * Image, gate and slots stay for good. Session and private memory go when no thread is inside any
 * more.
 */
#define MG_MANIFEST_MAGIC UINT64_C(0x317473654d4753d1)
#define MG_MANIFEST_NAME "mg_manifest" /* its symbol; the only one of the image */
#define MG_IMAGE_NAME "memscope-image" /* of the memory file that holds the image */
#define MG_HOOKS_MAX 256u
#define MG_PLACES 16384u /* threads that can be told apart */
#define MG_PLACE_BYTES 64u

/* Names what is hooked; the first are functions of allocators, by their form in format/functions.def. */
enum mg_hook_kind {
	MG_HOOK_NONE = 0,
	MG_HOOK_MALLOC = 1,         /* (size) */
	MG_HOOK_CALLOC = 2,         /* (n, size) */
	MG_HOOK_REALLOC = 3,        /* (old, size) */
	MG_HOOK_REALLOCARRAY = 4,   /* (old, n, size) */
	MG_HOOK_MEMALIGN = 5,       /* (align, size) */
	MG_HOOK_POSIX_MEMALIGN = 6, /* (&block, align, size) */
	MG_HOOK_FREE = 8,           /* (block) */
	MG_HOOK_LINKER = 9,    /* the dynamic linker says that it changes the list of modules */
	MG_HOOK_CUSTOM = 10,   /* as its `custom` says */
	MG_HOOK_FORK = 11,     /* () */
	MG_HOOK_PRCTL = 12,    /* (option, argument) */
	MG_HOOK_MADVISE = 13,  /* (address, bytes, advice) */
	MG_HOOK_MLOCKALL = 14, /* (flags) */
	MG_HOOK_EXIT = 15,     /* (status) */
	MG_HOOK_EXECVE = 16,   /* (path, arguments, environment) */
	MG_HOOK_FEXECVE = 17,  /* (descriptor, arguments, environment) */
	MG_HOOK_EXECVEAT = 18, /* (folder, path, ...) */
};

/* A function of a custom allocator: what it does, and which arguments say so, counted from 1; 0 =
 * it has none. */
enum mg_custom_what {
	MG_CUSTOM_ALLOC = 1,   /* size, nmemb, pool; returns the block */
	MG_CUSTOM_REALLOC = 2, /* besides: block */
	MG_CUSTOM_FREE = 3,    /* block */
	MG_CUSTOM_RESET = 4,   /* pool */
	MG_CUSTOM_CREATE = 5,  /* returns the pool */
};
struct mg_custom {
	uint8_t what; /* enum mg_custom_what */
	uint8_t size, nmemb, block, pool;
	uint8_t flags;   /* MG_CUSTOM_* */
	uint16_t heap;   /* its number, from 1; 0 = the blocks are of malloc's heap */
	uint32_t family; /* functions found by their names belong together, from 1: whether they
			    allocate, or call malloc for it, is seen at the first call; 0 = none */
};
#define MG_FAMILIES 256u
#define MG_CUSTOM_HIDE 1u    /* what is allocated inside is not recorded */
#define MG_CUSTOM_SIZE32 2u  /* the size is an int */
#define MG_CUSTOM_NMEMB32 4u /* so is the number */
#define MG_CUSTOM_OUT                                                                              \
	8u /* an allocation: the block is where that argument points, if 0 is returned */

struct mg_hook {
	uint64_t entry; /* of the function; 0 = none */
	uint64_t slot;
	/* Callers there that call `entry` itself belong to the allocator: blocks that its caches
	 * give back, which were freed before. */
	uint64_t inner_low, inner_high;
	uint32_t kind;  /* enum mg_hook_kind */
	uint32_t bytes; /* displaced */
	struct mg_custom custom;
	uint8_t original[MG_DISPLACED_MAX], patched[MG_DISPLACED_MAX];
};

/* Describes the page that is wiped in forked children, so that nothing is recorded there. */
struct mg_image_gate {
	uint32_t on;      /* guest: enum mg_gate_state */
	uint32_t counted; /* 1: not recorded; nothing to ask */
	uint64_t begin;   /* MG_BEGIN: the next event begins the session */
};
#define MG_NO_FIELD 1u
#define MG_BEGIN UINT64_C(0x6e6967656267ffff)

struct mg_manifest {
	/* facts of the image, as it was built and relocated */
	uint64_t magic;
	uint64_t bytes;           /* of this structure */
	uint64_t enter_alloc;     /* where slots go, by kind: all others, */
	uint64_t enter_free;      /* MG_HOOK_FREE, */
	uint64_t enter_linker;    /* MG_HOOK_LINKER, */
	uint64_t enter_custom;    /* MG_HOOK_CUSTOM */
	uint64_t gate_variable;   /* where the image keeps the gate's address */
	uint64_t places_variable; /* and that of the threads' places; 0 there: it touches none */
	/* facts of this process; for good */
	uint64_t gate;
	uint64_t debug_state; /* address of r_state of the dynamic linker; 0 = none */
	uint32_t tid_offset;  /* of a thread's number, from its thread pointer */
	uint32_t hook_count;
	struct mg_hook hooks[MG_HOOKS_MAX];
	/* facts of the recorder that is attached, and of its target: a forked child has a copy */
	uint64_t target, target_start; /* its number, and when it began, as below */
	uint32_t owner;                /* its number in its own namespace; 0 = nobody */
	uint32_t owner_namespace;      /* inode of that */
	uint64_t owner_start;          /* when it began, in ticks since the start of the system */
	uint64_t session, session_bytes;
	uint64_t private,
		private_bytes; /* MG_PLACES places, then what the guest makes of it; zeroed */
	uint64_t main_tp, main_low, main_high, main_entry;
	uint64_t stack_field;         /* see mg_core: 0, MG_STACK_MUSL or MG_NO_FIELD */
	char socket[MG_SOCKET_BYTES]; /* where programs are told of that it becomes; "" = nowhere */
};

/* Brings the session from ON to PAUSED or back as the words of both sides want it; either side
 * calls it after it changed its own, or left WAITING. */
static inline void mg_settle(struct mg_session *s)
{
	uint32_t told, user;
	do {
		told = __atomic_load_n(&s->told_paused, __ATOMIC_SEQ_CST);
		user = __atomic_load_n(&s->user_paused, __ATOMIC_SEQ_CST);
		uint32_t from = told || user ? MG_ON : MG_PAUSED;
		__atomic_compare_exchange_n(&s->state, &from, told || user ? MG_PAUSED : MG_ON, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	} while (told != __atomic_load_n(&s->told_paused, __ATOMIC_SEQ_CST) ||
		 user != __atomic_load_n(&s->user_paused, __ATOMIC_SEQ_CST));
}
