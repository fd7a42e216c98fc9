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
 * The first `wide_count` rings have larger windows instead, in front of the others, at wide_offset +
 * i * wide_bytes, and do not use the windows at data_offset: a few threads may be far ahead of
 * ms-record, but many threads cannot all be.
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
 *     (MG_PUSH and MG_WRAP have none), or a full record if the writer does not know that.
 *
 *  R8 A process on standby is recorded several times, each time by another ms-record, in the same
 *     memory. In between the session is OFF. The next recorder sets all tails to 0, then adds 1
 *     to `wake` and to `epoch`. The epoch sends each writer the slow way at its next event, where
 *     it begins its ring anew: head and offset 0, then `wake` of the ring, with release. Until then
 *     the ring is not read: what a thread publishes there from a hook of before is ignored.
 *
 *  R9 A free ring has its bit set in `free_rings`. The thread that clears the bit owns the ring, and
 *     sets MG_RING_TAKEN. Only ms-record frees it, once it is drained and the thread is gone: it sets
 *     head and tail to 0, the lap to its first size, then the state, then the bit. Every writer
 *     begins a ring anew, as in R8.
 *
 * Stamps are the processor's counter with MG_CLOCK_TSC, until the program forbids reading it
 * (`blind`); else the values of a shared counter.
 *
 * Forks. Behind an image's windows lies a pool of slots, each laid out like the whole: session,
 * modules, rings, windows. All processes that fork from the image, or from one another, without an
 * exec have the pool mapped. Such a child takes a slot by compare-and-swap at its first event and
 * writes there from then on; it never writes to its parent's session. The directory of the slots
 * lies between rings and windows of the image.
 */
#pragma once

#include <stdint.h>

#include MG_CPU_LAYOUT_H

/* Identifies the layout and its version: guest and ms-record must be from the same build. */
#define MG_MAGIC UINT64_C(0x32747365754753d0)
#define MG_LAYOUT_VERSION 13u
/* maximum entries of mg_session.own: chunks of writers, buffers for deep stacks, a few others */
#define MG_OWN_MAX 58u
#define MG_ARENAS 64u
#define MG_NEAR_BYTES 8192u /* size and alignment of a code page for hooks near a module */

/* The environment variable that names the recorder's socket (abstract, without the leading NUL). */
#define MG_ENV_SOCKET "MEMSCOPE_SOCKET"
#define MG_SOCKET_BYTES 80u /* size of a buffer for the socket's name */

/* Handshake, SOCK_SEQPACKET: the guest's constructor sends mg_handshake, ms-record answers
 * mg_handshake_reply, with the session memory's descriptor (and no other) as SCM_RIGHTS when
 * `accept` is 1. The guest maps that memory, then closes descriptor and socket. ms-record takes
 * pid and uid from SO_PEERCRED, opens a pidfd, and answers within five seconds, or the program
 * runs unrecorded. */
struct mg_handshake {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t exec;  /* enum mg_exec */
	uint32_t tid;   /* tid of the thread that is about to exec */
	char exe[1024]; /* program_invocation_name, truncated; in an exec report, the new path */
};
/* Tells which process is about to exec. NONE: the message is a handshake. Otherwise it only
 * reports a program that will not load the guest (exec.c); ms-record answers "not wanted" when
 * it is ready for that program. */
enum mg_exec { MG_EXEC_NONE = 0, MG_EXEC_SELF = 1, MG_EXEC_CHILD = 2 };
struct mg_handshake_reply {
	uint64_t magic;
	uint32_t version;
	uint32_t accept; /* 0 = not wanted: the guest does not record */
	uint64_t bytes;  /* size of the session memory to map */
};

/* Lists memory that the allocator mapped for itself: see arenas.c. Not valid while `busy` or
 * `unsure` is set. */
struct mg_arenas {
	uint32_t busy, unsure, count;
	uint32_t brk; /* 1 = the end of the heap was moved by sbrk or brk, not by the C library */
	uint64_t span[MG_ARENAS][2]; /* start, end */
};

/* Describes a memory range that the program declared as a root: see roots.c. */
#define MG_ROOTS 4096u
struct mg_root {
	/* bitwise complement of the address, which a leak scan does not take for a pointer; 0 =
	 * free entry; MG_ROOT_BUSY = entry being changed */
	uint64_t start;
	uint64_t bytes; /* 0 = no longer a root */
};
struct mg_roots {
	uint32_t used;    /* entries used so far, including those that are free again */
	uint32_t refused; /* ranges for which no entry was free */
	struct mg_root v[MG_ROOTS];
};
#define MG_ROOT_BUSY 1u

enum mg_clock { MG_CLOCK_TSC = 0, MG_CLOCK_SEQUENCE = 1 };

/* Names the session's states. ms-record sets them, with two exceptions: at the start mark the
 * guest changes WAITING to ON, and both sides change ON and PAUSED by mg_settle. OFF is final
 * except on standby. */
enum mg_state {
	MG_OFF = 0, /* hooks only call the real functions; on standby, until a recording begins */
	MG_ON = 1,
	/* allocations are only counted; frees are recorded, without stacks, to keep the set of
	 * live blocks correct */
	MG_PAUSED = 2,
	MG_WAITING = 3, /* --start-after: allocations are only counted, frees are ignored */
};

/* Values of mg_session.sleeping. A thread that starts wakes ms-record also from a long sleep, so
 * that ms-record can read the thread's name before the thread ends. */
#define MG_SLEEPS 1u
#define MG_SLEEPS_LONG 2u

/* Tells how often threads read the clock for their records (mg_session.stamps). FEW: one value
 * serves up to 64 events; ms-record reads the ring often enough for that to be exact to a
 * fraction of a millisecond. ALL (each event): a second ring is in use, or the clock changed
 * (set by the guest, never cleared). ALL_NOW: ms-record needs a point in time that separates
 * events. */
#define MG_STAMPS_FEW UINT64_C(1)
#define MG_STAMPS_ALL UINT64_C(2)
#define MG_STAMPS_ALL_NOW UINT64_C(4)

#define MG_RINGS_MOST 8192u
#define MG_CHUNK_FIRST 16u /* number of ring windows mapped at the start: see grow.c */

/* Names the formats of a Python code object's line table: pairs of an instruction step and a
 * line step, whose new line applies after the pair (up to 3.9) or before it (3.10), or entries
 * with columns. */
enum mg_code_lines { MG_LINES_BEHIND, MG_LINES_BEFORE, MG_LINES_COLUMNS };

/* Describes a Python interpreter whose frames the guest reads: see python.c. ms-record fills in
 * the members once, then sets `ready` by a release store. */
struct mg_python {
	uint64_t code_type;  /* address of PyCode_Type */
	uint64_t eval[2][2]; /* start, end: [0] _PyEval_EvalFrameDefault, [1] its cold part or 0 */
	/* Offsets of members in _PyCFrame, _PyInterpreterFrame, PyCodeObject, str and bytes. */
	uint16_t root;  /* offset of the outermost _PyCFrame in a thread state */
	uint16_t chunk; /* offset of the newest frame chunk's address in a thread state */
	uint8_t now; /* offset of the current _PyCFrame (3.11, 3.12) or frame in a thread state */
	uint8_t thread; /* offset of pthread_self() in a thread state; 0 in 3.11 and 3.12 */
	uint8_t current, outer;
	uint8_t code, previous, instruction;
	uint8_t entry; /* offset of the entry flag of a frame; 0 = loops have frames of their own */
	uint8_t owner; /* offset of a frame's owner; 0 = each loop runs one frame (up to 3.10) */
	uint8_t unit;  /* up to 3.10: unit, in bytes, of a frame's instruction index */
	uint8_t lines; /* enum mg_code_lines */
	uint8_t first_line, object[3], traceable, instructions; /* object: by enum mg_code_part */
	uint8_t length, state, ascii, compact, bytes;
	uint32_t ready;
	uint64_t unread; /* counted by the guest: chains of frames that could not be read */
};

/* Tells whether the frame with return address `ip` runs the interpreter's loop. */
static inline bool mg_python_is_loop(const struct mg_python *p, uint64_t ip)
{
	return ip - 1 - p->eval[0][0] < p->eval[0][1] - p->eval[0][0] ||
	       ip - 1 - p->eval[1][0] < p->eval[1][1] - p->eval[1][0];
}

/* Describes a thread that ends the process, or is held at a moment: the program has no data on its
 * stack below `sp`, and `regs` are its registers, bp last. */
struct mg_end_frame {
	uint64_t tp, sp; /* tp: thread pointer, 0 = unused entry; sp: stack pointer */
	uint64_t regs[MG_KEPT + 1];
};
#define MG_END_FRAMES 4u  /* of threads that end the process */
#define MG_MOMENT_NAP 1u  /* in `moment`: there is no seccomp filter; the thread may sleep */
#define MG_MOMENT_EXIT 1u /* in a record's number of a moment: exit begins */
#define MG_MOMENT_NEXT 2u /* difference of the numbers of two moments */

struct mg_session {
	uint64_t magic;
	uint32_t version;
	uint32_t clock; /* enum mg_clock */
	uint64_t modules_offset;
	uint64_t rings_offset;
	uint64_t data_offset;
	/* bytes from one ring's window to the next: largest lap + MG_SLACK, in whole pages */
	uint64_t window_bytes;
	uint32_t module_max; /* entries of mg_module[] */
	uint32_t ring_max;   /* entries of mg_ring[], at most MG_RINGS_MOST */
	uint64_t tsc_hz;     /* TSC frequency, for timeouts; 0 = unknown */
	/* --buffer=wait: a waiting thread gives up if the tail has not moved for this many
	 * ticks; 0 = never wait */
	uint64_t wait_ticks;
	uint32_t free_stacks; /* 1: frees carry stacks too */
	/* 1: each stack is compared with an uncached walk, and counted in
	 * ring->verified/mismatched */
	uint32_t verify;
	uint32_t usable_size; /* 1: allocations carry their usable size (MG_F_USABLE) */
	uint32_t mapped;      /* 1: MG_MAP and MG_UNMAP are recorded */
	uint64_t sample_seed;
	/* set by ms-record: 1 = no further ring can be ready (limit: --buffer or ring_max) */
	uint32_t rings_short;
	/* maximum time, in ms, for which a thread that ends the process is held while ms-record
	 * reads its memory; 0 = not held */
	uint32_t end_wait_ms;
	uint32_t range_max;  /* entries of mg_range[2][] */
	uint32_t unfiltered; /* set by ms-record: 1 = attached; no thread has a seccomp filter */
	uint64_t ranges_offset;
	uint64_t wide_offset, wide_bytes;
	uint32_t wide_count; /* number of rings that have a wide window */
	uint32_t moment_ms;  /* maximum time for which moment.c holds a thread; 0 = not held */
	uint32_t exit_scan;  /* 1: the begin of exit is such a moment */

	/* The next members are one cache line, which every event reads. A forked child's session
	 * begins as a copy of the members before `state`. */
	/* mean distance of sample points in bytes; 0 = every event is recorded */
	_Alignas(64) uint64_t sample_bytes;
	uint32_t state; /* enum mg_state; ms-record -> guest */
	/* futex word: MG_SLEEPS* while ms-record sleeps; a guest that fills half a ring sets it
	 * to 0 and wakes ms-record */
	uint32_t sleeping;
	uint64_t stamps;    /* MG_STAMPS_*, atomic; see mg_stamp_or_next */
	uint64_t heartbeat; /* stamp of ms-record's last pass over all rings */
	uint64_t ticks;     /* TSC at ms-record's last pass over all rings */
	/* Requests for MG_PAUSED, by either side: see mg_settle. */
	uint32_t told_paused; /* set by ms-record: 1 = its user asked to pause */
	uint32_t user_paused; /* set by the guest: 1 = the program asked to pause (ms_pause) */
	/* set by a forked child's guest: 1 = the program paused before the session began */
	uint32_t user_began;
	/* counted by ms-record: recordings begun on standby; incremented only while `state` is
	 * OFF */
	uint32_t wake;
	uint32_t epoch; /* incremented by the guest before and after every dlclose; see R8 */

	_Alignas(64) uint64_t sequence; /* MG_CLOCK_SEQUENCE: atomic counter */
	uint32_t module_count;          /* number of published mg_module[]; release store */
	/* set by ms-record, in good time: number of entries of mg_module[] that have memory */
	uint32_t modules_ready;
	uint32_t guest_ready;    /* 1: the guest's constructor has finished */
	uint32_t guest_disabled; /* 1: the guest gave up, for the reason in disabled_why */
	/* not 0: a seccomp filter may be installed; ms-record may set it too */
	uint32_t seccomp_seen;
	/* 1: stamps are from `sequence`, whatever `clock` says; never cleared */
	uint32_t blind;
	uint32_t forks; /* number of forked children that are not recorded */
	/* counted by the guest: entries of `own`; those beyond MG_OWN_MAX were not stored */
	uint32_t own_count;
	/* 1: usable sizes were requested, but the allocator does not report them */
	uint32_t no_usable;
	uint64_t no_ring_lost; /* lost events of threads that found no ring */
	uint64_t passed_early; /* allocations before the guest had a thread pointer */
	uint64_t reentry_lost; /* events lost because a signal handler interrupted a hook */
	/* stacks not taken: rate limit, or inside too many nested signal handlers */
	uint64_t not_taken;
	char disabled_why[96];

	/* Allocators found, such as "glibc 2.36" or a module's base name; written at the start. */
	char allocator[128];

	/* NAME of --start-after=mark:NAME; "" = none. Written before the guest maps the session. */
	char start_mark[256];

	/* Members for forked children. ms-record writes them once, except slots_wanted and
	 * slots_futex, which are used only in the session of the process itself. */
	/* offset of mg_fork_slot[slot_max]; 0 in a forked child's session */
	_Alignas(64) uint64_t slots_offset;
	uint64_t slots_start; /* offset of the memory of the first child's slot */
	uint64_t slot_bytes;
	/* bytes of a slot mapped at first, with MG_CHUNK_FIRST windows; the rest is mapped when
	 * needed */
	uint64_t slot_first;
	uint32_t slot_max;
	uint32_t serial;       /* number of this session, unique within a run; never 0 */
	uint32_t slots_wanted; /* set by the guest: 1 = no free slot for a child was found */
	uint32_t slots_futex; /* ms-record increments it and wakes waiters when slots become free */

	/* Members for the end of the process: see end.c. */
	_Alignas(64) uint32_t end_state; /* enum mg_end_state; futex word */
	uint32_t end_status;  /* set by the guest: exit status + 1; 0 = exit not called yet */
	uint32_t end_unheard; /* set by the guest: 1 = no heartbeat of ms-record at the end */
	uint32_t end_tid;     /* tid of the held thread */
	/* address of the held thread's saved registers, which lie right below its stack */
	uint64_t end_sp;
	uint64_t end_tp;                                   /* the held thread's thread pointer */
	struct mg_end_frame end_frames[MG_END_FRAMES + 1]; /* last: of moment.c */
	/* Number of the moment at which a thread is held, plus MG_MOMENT_NAP; 0 = none; futex
	 * word. The guest sets it, ms-record clears it, and so does a guest that gives up. */
	uint32_t moment;
	uint32_t exit_hooked; /* set by ms-record: 1 = exit is hooked */
	/* main thread's sp at the program's entry, and thread pointer; 0 = unknown */
	uint64_t main_entry, main_tp;
	/* Start and end of the guest's private memory ranges, in which nothing belongs to the
	 * program. Forked children use the ranges in the program image's session. */
	uint64_t own[MG_OWN_MAX][2];
	uint64_t arenas; /* address of a struct mg_arenas in the guest's memory; 0 = none */
	uint64_t roots;  /* address of a struct mg_roots in the guest's memory; 0 = none */

	/* Members for an attached process, in which ms-record maintains the table of modules. */
	/* incremented by the guest when the dynamic linker has changed its list of modules */
	_Alignas(64) uint32_t modules_wanted;
	/* set by the guest: 1 = the dynamic linker is about to unload modules */
	uint32_t modules_closing;
	/* epoch up to which the table of modules is correct */
	uint32_t modules_epoch;
	/* number of modules at the attachment; in a launched program, of those at its handshake */
	uint32_t modules_first;

	/* Members for a launched program: a thread that is about to close modules first lets
	 * ms-record read their symbols. */
	_Alignas(64) uint32_t modules_asked; /* counted by the guest: requests to read symbols */
	/* set by ms-record: last request of modules_asked handled; futex word */
	uint32_t modules_looked;

	/* Members for a launched program with functions to hook. When everything else is mapped,
	 * the guest sends a message over the socket; ms-record finds the functions and patches
	 * their entries. If ms-record needs a page for hooks, it answers with late_page; the
	 * guest maps that page and answers. The last answer is without late_page. */
	_Alignas(64) uint32_t hooks_wanted; /* set by ms-record: enum mg_hooks_wanted */
	uint32_t hook_count;                /* set by ms-record in the image's session only */
	/* set by the guest: address of mg_hook[MG_HOOKS_MAX]; 0 = could not be mapped */
	uint64_t hooks;
	uint64_t enter_custom; /* set by the guest: address of the code that hook slots jump to */
	/* address of malloc: first that of the malloc that the guest calls (stored by the guest),
	 * then that of the program's own malloc (stored by ms-record) */
	uint64_t malloc_at;

	/* Members for modules opened later: see late.c. late_page and debug_state are used in the
	 * program image's session only. */
	uint32_t late_state; /* enum mg_late_state; futex word */
	/* set by ms-record: 1 = modules opened later are searched for functions to hook */
	uint32_t late_wanted;
	uint32_t late_missed; /* counted by the guest: modules not searched in time */
	/* set by ms-record: address for a page for hooks; cleared by a guest that cannot map it */
	uint64_t late_page;
	uint64_t debug_state; /* set by ms-record: address of r_state of the dynamic linker */

	/* Members for the list of mappings: see struct mg_range. */
	_Alignas(64) uint32_t ranges_wanted; /* set to 1 by the guest: mapping not listed */
	/* incremented by ms-record with each new list; lowest bit: index of the list in use */
	uint32_t ranges_round;
	uint32_t ranges_count[2]; /* number of entries of each list */

	/* Offset of mg_frames[MG_LISTS_MAX], which ms-record fills in. Forked children use the
	 * lists of the program image's session. */
	_Alignas(64) uint64_t frames_offset;
	uint32_t frames_count; /* number of mg_frames[] filled in; release store */

	uint32_t rings_wanted; /* counted by the guest: threads waiting for a ring */
	uint32_t rings_futex;  /* incremented by ms-record when more rings are ready; futex word */

	/* Forked children use the description in the program image's session, but count `unread` in
	 * their own. */
	struct mg_python python;

	/* Set of free rings: bit i % 64 of word i / 64 is set if ring i is free (R9). */
	_Alignas(64) uint64_t free_rings[MG_RINGS_MOST / 64];
};

/* Tells whether functions are to be hooked; 0 = none. REFUSED: the program exits with 125 before
 * it begins; a guest that has stopped waiting for hooks notices this too, unless `guest_ready`
 * is set already. */
enum mg_hooks_wanted { MG_HOOKS_WANTED = 1, MG_HOOKS_REFUSED = 2 };

/* Names the states of a thread that opens a module and waits in the dynamic linker until
 * functions in the module are hooked. ms-record changes ASKED to TAKEN, TAKEN to PAGE, and TAKEN
 * or MAPPED to NONE. */
enum mg_late_state {
	MG_LATE_NONE = 0,
	MG_LATE_ASKED = 1,  /* set by the guest: the thread waits */
	MG_LATE_TAKEN = 2,  /* ms-record is looking for functions to hook */
	MG_LATE_PAGE = 3,   /* ms-record wants a page at late_page */
	MG_LATE_MAPPED = 4, /* set by the guest: the page is mapped, or cannot be */
	MG_LATE_GONE = 5,   /* set by the guest: the wait was given up; patch nothing any more */
};

/* Names the states of the thread that ends the process. The guest changes NONE to TAKEN and
 * HELD; ms-record changes HELD to SEEN or NAP, and any state except NONE to OVER, or back to
 * NONE if the process is not ending. */
enum mg_end_state {
	MG_END_NONE = 0,
	MG_END_TAKEN = 1, /* a thread is about to be held */
	MG_END_HELD = 2,  /* the thread is held, and spins */
	/* ms-record scans; the thread keeps spinning, because of a seccomp filter */
	MG_END_SEEN = 3,
	MG_END_NAP = 4,  /* ms-record scans; the thread may sleep */
	MG_END_OVER = 5, /* the thread is no longer held, nor is any later one */
	MG_END_LATE = 6, /* set by the guest: the wait timed out */
};

/* Returns the end_status of a program that exits with `status`. */
static inline uint32_t mg_end_status(int status)
{
	return ((uint32_t)status & 0xff) + 1;
}

/* Names the states of a slot, the part of the pool in which a forked child writes. */
enum mg_slot_state {
	MG_SLOT_UNREADY = 0, /* the slot's memory is not ready yet */
	MG_SLOT_FREE = 1,    /* prepared by ms-record; a child may take it by compare-and-swap */
	MG_SLOT_TAKEN = 2, /* in use; only ms-record frees the slot, after the process has ended */
};
struct mg_fork_slot {
	_Alignas(64) uint32_t state; /* enum mg_slot_state */
	/* child: 1 = the members below are valid and the session has begun; release store */
	uint32_t ready;
	/* child's pid or the tid of one of its threads, in its own pid namespace; 0 = unknown */
	uint32_t pid;
	uint32_t parent; /* serial of the session of the process that forked */
	/* stamp of the MG_FORK record before the fork; 0 = none was written */
	uint64_t fork_stamp;
	uint64_t first_stamp; /* stamp at which the child took the slot, by its parent's clock */
};

/* Describes a module. The guest writes each entry once: in the constructor, after dlopen, or at
 * the first unknown ip. ms-record finds path and build-id in /proc/PID/maps at `start`. The
 * entry of a closed module stays, with `closed` set. */
#define MG_BUILD_ID_MOST 64u
struct mg_module {
	uint64_t start, end; /* lowest address, one past the highest */
	uint64_t bias;
	uint64_t eh_frame_hdr; /* address, 0 = none */
	uint64_t eh_frame_hdr_bytes;
	/* loaded, closed: stamps; closed is 0 while the module is loaded */
	uint64_t loaded, closed;
	uint32_t epoch_loaded, epoch_closed;
	uint32_t flags;  /* MG_MODULE_* */
	uint32_t frames; /* 1 + index of the module's entry in mg_frames[]; 0 = none */
	uint32_t taken;  /* set by ms-record when it has read `closed`: the entry may be reused */
	char path[256];  /* dlpi_name, truncated; "" = the executable */
	/* GNU build-id, as in the module's memory; a longer one counts as none. */
	uint8_t build_id[MG_BUILD_ID_MOST];
	uint32_t build_id_bytes; /* 0 = none */
	/* In an attached process: ranges of the module that the guest may read: the segment that
	 * holds .eh_frame_hdr, and a segment of code. */
	uint64_t low, high, code_low, code_high;
};
/* Lists the functions of a module that lacks .eh_frame_hdr, in place of that section. Never
 * changes once written. */
#define MG_LISTS_MAX 64u
struct mg_frames {
	uint64_t start;     /* start of the module */
	uint64_t low, high; /* .eh_frame */
	uint64_t offset;    /* offset of mg_frames_entry[count] in the program image's session */
	uint32_t count, reserved;
};
struct mg_frames_entry {
	/* offsets of a function and its FDE from the module's start; sorted by function */
	int32_t start, fde;
} __attribute__((packed));

#define MG_MODULE_EXE 1u
#define MG_MODULE_GUEST 2u
#define MG_MODULE_VDSO 4u

enum mg_ring_state {
	MG_RING_UNREADY = 0, /* the ring's memory is not ready yet */
	MG_RING_FREE = 1,    /* prepared by ms-record; a thread may take it (R9) */
	/* has a writer; freed by ms-record, once drained and the thread is gone from /proc */
	MG_RING_TAKEN = 2,
};

struct mg_ring {
	_Alignas(64) uint64_t head; /* writer */
	uint64_t pending;           /* writer: a stamp that a record may still get (R5) */
	_Alignas(64) uint64_t tail; /* ms-record */
	/* ms-record increments it and wakes a `waiting` writer when it has moved `tail` */
	uint32_t tail_futex;
	uint32_t size_allowed;       /* bytes of the current lap, at most window_bytes - MG_SLACK */
	_Alignas(64) uint32_t state; /* enum mg_ring_state */
	uint32_t tid;
	uint32_t waiting;                     /* writer: 1 while it waits for space */
	uint32_t stalls;                      /* writer: number of waits so far */
	uint64_t waited, waited_max;          /* ticks */
	uint64_t lost, lost_first, lost_last; /* lost events: number, first and last stamp (R6) */
	uint64_t verified, mismatched;
	uint64_t copies; /* stacks sent as copies */
	uint64_t passed; /* allocations only counted, not recorded (MG_PAUSED, MG_WAITING) */
	uint32_t wake;   /* writer: recording to which the ring's content belongs (R8) */
	uint32_t reserved[7];
	uint64_t signal_stack; /* writer: the thread's alternate signal stack; 0 = none */
};

/* Describes a mapping that is readable and also writable or executable, so that it may hold a
 * stack or code. ms-record lists such mappings from /proc/PID/maps when the process begins, and
 * again whenever the guest met an address outside the listed mappings. There are two lists; the
 * one in use is never written to. A reader compares `ranges_round` before and after reading: if
 * it has grown, the data may be of another list. */
struct mg_range {
	uint64_t start, end; /* sorted; the low bits of `end` are MG_RANGE_* flags */
};
#define MG_RANGE_CODE UINT64_C(1) /* executable */
#define MG_RANGE_FILE UINT64_C(2) /* backed by a file */
/* code that keeps a frame pointer; parts of it may be unreadable */
#define MG_RANGE_FRAMED UINT64_C(4)
#define MG_RANGE_FLAGS UINT64_C(4095)

/* Sizes of laps (the part of a window in use), in bytes. A reader may read one word past a
 * record, so MG_SLACK bytes are kept free. */
#define MG_SLACK 64u
#define MG_RING_FIRST (8192u - MG_SLACK) /* initial and minimum size_allowed */
#define MG_RING_LARGEST (131072u - MG_SLACK)
#define MG_WIDE_RINGS 4u
#define MG_WIDE_BYTES (2u << 20) /* bytes of a wide window */
#define MG_RECORD_FRAMES 480u    /* maximum frames, or words of a stack copy, per record */
#define MG_RECORD_MOST 4032u     /* maximum bytes of a record (R2) */

/* Names the kinds of records, which consist of 8-byte words. Word 0: kind (8 bits) | flags (8) |
 * count (16) | keep (31) | 0.
 *
 * A stack is encoded relative to the previous stack, that of this thread's last record with a
 * stack: it consists of the `keep` outermost frames of the previous stack and the `count` frames
 * at the end of the record, outermost first. A frame is a return address, or with bit 63 set the
 * exact address of an interrupted instruction. If a stack is too long for one record, MG_PUSH
 * records precede it (keep, then frames), which only change the "previous stack". */
enum mg_kind {
	MG_ALLOC = 1,   /* stamp, address, size, frames */
	MG_FREE = 2,    /* stamp, address[, frames if MG_F_STACK] */
	MG_REALLOC = 3, /* stamp after, new address, size, old address, stamp before, frames */
	MG_FAILED = 4,  /* stamp, size, frames */
	MG_PUSH = 5,    /* frames */
	/* stamp, tid, stack pointer: first record of a writer; the previous stack is empty after
	 * it */
	MG_THREAD = 6,
	MG_EPOCH = 7, /* stamp, epoch: modules changed; the previous stack is empty after it */
	/* stamp, length in bytes | number of a moment (moment.c) << 32, the name in whole words */
	MG_MARK = 8,
	MG_COPY = 9,  /* part of a stack copy: keep = offset in bytes in the copy; stamp; address of
		       * the copy's first byte (the stack  pointer); bytes in this part; then words.
		       * The first part (keep 0) starts with MG_COPY_REGS registers after  `bytes`,
		       * not counted in it. The event that follows has MG_F_COPIED and no frames of
		       * its own */
	MG_WRAP = 10, /* the next record is at offset 0 */
	MG_USER_ALLOC = 11, /* memscope.h ms_alloc: words as MG_ALLOC; a separate heap */
	MG_USER_FREE = 12,
	/* Changes of the address space, if `mapped` is set: whole pages, except with MG_MAP_BRK,
	 * which counts bytes. A file mapped over a range is reported as an MG_UNMAP too;
	 * ms-record checks whether the range had been recorded as mapped. */
	MG_MAP = 13,   /* stamp after, address, bytes, MG_MAP_*, old address of an mremap or 0,
			  frames */
	MG_UNMAP = 14, /* stamp before, address, bytes, MG_MAP_*[, frames if MG_F_STACK] */
	MG_FORK = 15,  /* stamp: this thread is about to fork */
	MG_ALLOC_SHORT = 16,  /* see MG_SHORT_* */
	MG_PAUSE = 17,        /* stamp, number of the change: odd = paused, even = resumed */
	MG_USER_REALLOC = 18, /* memscope.h ms_realloc: words as MG_REALLOC; a separate heap */
	/* Records of custom heaps, from hooked functions (struct mg_custom) or memscope.h. heap:
	 * number of the heap; 0 = the pool's heap, or malloc's heap if there is no pool. */
	MG_HEAP_ALLOC = 19, /* stamp, address (0: it failed), size, heap, pool or 0, frames */
	/* stamp after, new address, size, old address, stamp before, heap, pool or 0, frames.
	 * The stamp before may be earlier than the call. With MG_F_UNSURE, while sampling: only
	 * the old block is freed, if it was recorded; the new block is not recorded */
	MG_HEAP_REALLOC = 20,
	/* stamp, address, size, heap | MG_HEAP_HIDDEN: a malloc block allocated inside a hooked
	 * function */
	MG_HEAP_BACKING = 21,
	/* MG_ALLOC whose frames are the whole stack, which is stored as whole stack number
	 * `keep` (below MG_WHOLES) from now on; without frames, its stack is the one stored
	 * under that number, and the "previous stack" is unchanged. */
	MG_ALLOC_WHOLE = 24,
	MG_IGNORE = 25, /* stamp, address: memscope.h ms_ignore */
	MG_LABEL = 26,  /* as MG_MARK, with the number of labels from now on; 0 bytes: a pop */
	/* piece of a part of a code object: keep = slot; first line | part << 32 | bytes per
	 * character << 40; bytes of the part; bytes of the part in earlier pieces; then the
	 * piece in `count` words */
	MG_CODE = 23,
	/* stamp, enum mg_pool_step, heap, pool, bytes of the pool's name, the name in whole
	 * words */
	MG_POOL = 22,
};
#define MG_LABEL_MOST 64u /* bytes of a label that are kept */
#define MG_WHOLES 64u
#define MG_HEAP_HIDDEN (UINT64_C(1) << 32)
/* Names the parts of an interpreter's code object that MG_CODE records carry: name, file and
 * line table, each in pieces; the last piece completes the part. All parts of a slot come before
 * the first frame with that slot. */
enum mg_code_part { MG_CODE_NAME = 0, MG_CODE_FILE = 1, MG_CODE_LINES = 2 };
#define MG_CODE_SLOTS 512u
/* maximum bytes of a name or file name; longer ones are truncated */
#define MG_CODE_TEXT_MOST 2048u
#define MG_CODE_LINES_MOST (1u << 20)
/* Value in place of a return address, for an interpreter's frame that the following C frame
 * runs. Bits: code object's slot << 24 | instruction + 1, 0 = before the first. MG_NOT_READ: one
 * or more frames that could not be read. */
#define MG_INTERPRETED (UINT64_C(1) << 62)
#define MG_IS_INTERPRETED(ip) ((ip) >> 62 == 1)
#define MG_INSTRUCTION_BITS 24u
#define MG_NOT_READ (MG_INTERPRETED | (uint64_t)MG_CODE_SLOTS << MG_INSTRUCTION_BITS)
#define MG_HEAP_PLAIN (UINT64_C(1) << 33) /* heap number: malloc's heap, but in a pool */
#define MG_POOL_NAME_MOST 255u
enum mg_pool_step {
	MG_POOL_MADE = 1,  /* created; if the pool existed before, its live blocks are freed */
	MG_POOL_RESET = 2, /* emptied: all its blocks are freed */
	MG_POOL_GONE = 3,  /* destroyed: all its blocks are freed */
};
/* Short records, which most allocations and frees fit into. The others are sent as full records.
 *
 *   MG_ALLOC_SHORT, with a stack and no other flag:
 *      63      62..32       31..16     15..8      7..0
 *     | 0 | stamp: + (31) | keep (16) | count (8) | kind |    | size | address |  frames
 *
 *   a free without a stack, one word:
 *      63
 *     | 1 | stamp: + | address / 16 |
 *
 * An address has MG_ADDRESS_BITS; size and the free's stamp have what is left of their words. */
#define MG_SHORT_FREE (UINT64_C(1) << 63)
#define MG_SHORT_FREE_SHIFT (MG_ADDRESS_BITS - 4)      /* bit position of the stamp */
#define MG_SHORT_FREE_STAMP (63 - MG_SHORT_FREE_SHIFT) /* bits */
#define MG_SHORT_ALLOC_STAMP 31u
#define MG_SHORT_ADDRESS MG_ADDRESS_BITS
#define MG_SHORT_SIZE (64 - MG_SHORT_ADDRESS)
#define MG_SHORT_COUNT 8u
#define MG_SHORT_KEEP 16u

#define MG_F_STACK 1u     /* has a stack; else keep and count are 0, the previous stack stays */
#define MG_F_TRUNCATED 2u /* callers of the outermost frame sent were not found */
#define MG_F_COPIED 4u    /* the stack is in the MG_COPY records just before */
#define MG_F_NOT_TAKEN 8u /* no stack was taken, because of the rate limit */
#define MG_F_CUT_COPY 16u /* the copy ends before the stack does */
#define MG_F_SIGNAL 32u   /* emitted by a signal handler that interrupted a hook of this thread */
#define MG_F_UNSURE 64u   /* MG_FREE while sampling: the block may not have been recorded */
#define MG_F_USABLE 128u  /* the usable size precedes the frames */

#define MG_MAP_BRK 1u   /* the heap's end moved, by brk or sbrk */
#define MG_MAP_REMAP 2u /* MG_UNMAP of an mremap; the thread's next record is its MG_MAP */

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
#define MG_MANIFEST_NAME "mg_manifest" /* the only symbol that the guest image exports */
#define MG_IMAGE_NAME "memscope-image" /* name of the memory file that holds the guest image */
#define MG_HOOKS_MAX 256u
#define MG_PLACES 16384u /* maximum number of threads that have a place (per-thread data) */
#define MG_PLACE_BYTES 64u

/* Names the kinds of hooked functions. The first are allocator functions, by the form of their
 * parameters in format/functions.def. */
enum mg_hook_kind {
	MG_HOOK_NONE = 0,
	MG_HOOK_MALLOC = 1,         /* (size) */
	MG_HOOK_CALLOC = 2,         /* (n, size) */
	MG_HOOK_REALLOC = 3,        /* (old, size) */
	MG_HOOK_REALLOCARRAY = 4,   /* (old, n, size) */
	MG_HOOK_MEMALIGN = 5,       /* (align, size) */
	MG_HOOK_POSIX_MEMALIGN = 6, /* (&block, align, size) */
	MG_HOOK_FREE = 8,           /* (block) */
	/* function by which the dynamic linker announces a change of its list of modules */
	MG_HOOK_LINKER = 9,
	MG_HOOK_CUSTOM = 10,   /* a function described by a struct mg_custom */
	MG_HOOK_FORK = 11,     /* () */
	MG_HOOK_PRCTL = 12,    /* (option, argument) */
	MG_HOOK_MADVISE = 13,  /* (address, bytes, advice) */
	MG_HOOK_MLOCKALL = 14, /* (flags) */
	MG_HOOK_EXIT = 15,     /* (status) */
	MG_HOOK_EXECVE = 16,   /* (path, arguments, environment) */
	MG_HOOK_FEXECVE = 17,  /* (descriptor, arguments, environment) */
	MG_HOOK_EXECVEAT = 18, /* (folder, path, ...) */
	MG_HOOK_LEAVE = 19,    /* exit: (status) */
};

/* Describes a function of a custom allocator: its kind, and the numbers of its arguments,
 * counted from 1; 0 = it has no such argument. */
enum mg_custom_what {
	MG_CUSTOM_ALLOC = 1,   /* arguments: size, nmemb, pool; returns the block */
	MG_CUSTOM_REALLOC = 2, /* arguments: size, nmemb, pool, block; returns the block */
	MG_CUSTOM_FREE = 3,    /* block */
	MG_CUSTOM_RESET = 4,   /* pool */
	MG_CUSTOM_CREATE = 5,  /* returns the pool */
};
struct mg_custom {
	uint8_t what; /* enum mg_custom_what */
	uint8_t size, nmemb, block, pool;
	uint8_t flags; /* MG_CUSTOM_* */
	uint16_t heap; /* number of the function's heap, from 1; 0 = malloc's heap */
	/* number, from 1, of a group of functions found by name that belong together; the first
	 * call decides whether they allocate themselves or call malloc; 0 = none */
	uint32_t family;
};
#define MG_FAMILIES 256u
#define MG_CUSTOM_HIDE 1u    /* allocations made inside the function are not recorded */
#define MG_CUSTOM_SIZE32 2u  /* the size is an int */
#define MG_CUSTOM_NMEMB32 4u /* the number of elements is an int */
#define MG_CUSTOM_OUT                                                                              \
	8u /* the function stores the new block at the address in argument `block`, and returns 0 */

struct mg_hook {
	uint64_t entry; /* address of the function; 0 = none */
	uint64_t slot;
	/* Range of the allocator's own code. A call of `entry` from there returns a block to the
	 * allocator's caches, after the program has freed it. */
	uint64_t inner_low, inner_high;
	uint32_t kind;  /* enum mg_hook_kind */
	uint32_t bytes; /* size of the displaced instructions, in bytes */
	struct mg_custom custom;
	uint8_t original[MG_DISPLACED_MAX], patched[MG_DISPLACED_MAX];
};

/* Describes the page that the kernel zeroes in forked children, so that they record nothing. */
struct mg_image_gate {
	uint32_t on;      /* set by the guest: enum mg_gate_state */
	uint32_t counted; /* 1: the process is not recorded, and there is no session to begin */
	uint64_t begin;   /* MG_BEGIN: the next event begins the session */
};
#define MG_NO_FIELD 1u
#define MG_BEGIN UINT64_C(0x6e6967656267ffff)

struct mg_manifest {
	/* Data of the guest image, fixed when it was built and relocated. */
	uint64_t magic;
	uint64_t bytes; /* size of this structure */
	/* code that hook slots jump to, for hook kinds that have no member here */
	uint64_t enter_alloc;
	uint64_t enter_free;   /* code that hook slots of kind MG_HOOK_FREE jump to */
	uint64_t enter_linker; /* code that hook slots of kinds MG_HOOK_LINKER and _LEAVE jump to */
	uint64_t enter_custom; /* code that hook slots of kind MG_HOOK_CUSTOM jump to */
	uint64_t gate_variable; /* address of the variable that holds the gate's address */
	/* address of the variable that holds the address of the places (per-thread data); while
	 * that is 0, the guest image uses no places */
	uint64_t places_variable;
	/* Data of this process, which never change. */
	uint64_t gate;
	uint64_t debug_state; /* address of r_state of the dynamic linker; 0 = none */
	int32_t tid_offset;   /* offset of a thread's tid from its thread pointer */
	uint32_t hook_count;
	struct mg_hook hooks[MG_HOOKS_MAX];
	/* Data of the attached recorder and its target; a forked child inherits a copy. */
	uint64_t target, target_start; /* the target's pid, and its start time (as owner_start) */
	/* the recorder's pid in its own namespace; 0 = none is attached */
	uint32_t owner;
	uint32_t owner_namespace; /* inode of the recorder's pid namespace */
	/* the recorder's start time, in ticks since the system started */
	uint64_t owner_start;
	uint64_t session, session_bytes;
	uint64_t private,
		private_bytes; /* MG_PLACES places, followed by the guest's own data; zeroed */
	uint64_t main_tp, main_low, main_high, main_entry;
	uint64_t stack_field; /* see mg_core: 0, MG_STACK_MUSL or MG_NO_FIELD */
	/* socket to which the guest reports programs that the process execs; "" = none */
	char socket[MG_SOCKET_BYTES];
};

/* Sets the state to ON or PAUSED as both sides' requests require. Either side calls it after
 * changing its own request, or after leaving WAITING. */
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
