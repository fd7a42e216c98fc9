/* SPDX-License-Identifier: MIT
 * Room session: one process image that is recorded.
 *   In:  a process and the options of its recording (session_options.h).
 *   Out: its shared memory (pool.h) and threads; what room code knows of it; batches for room
 *        write.
 *   Used by: all rooms of the recorder but base, ptrace, write, code and launch. Heap, scan,
 *        drain and attach add their own state to a session (drain/recording.h).
 *
 * One recorded process image: its shared memory, its rings, its trace.
 *
 * Ownership: the control thread (control/loop.c) makes a session, samples /proc and records that
 * the image ended; the draining thread (drain.c) owns everything else from the moment it adopted
 * the session until it set `finished`. Data used by both is under `lock`, or marked as atomic.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "libcommon/proc/proc_sample.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/process.h"
#include "ms-record/guest/layout.h"
#include "ms-record/code/code.h"
#include "pause.h"
#include "ms-record/code/ranges.h"
#include "ms-record/code/stacks.h"
#include "ms-record/base/stats.h"
#include "ms-record/write/writer.h"

struct heap;
struct hook_late;
struct hooks;
struct identity;
struct reader_codes;
struct session_options;
struct drained;
struct pool;
struct scan;
struct trigger_states;

#define SESSION_RINGS MG_RINGS_MOST

/* ---- per ring ---- */

#define ITEMS_AHEAD 12u /* items that may be read beyond a reader's last one */

/* Describes a step of the merge. Items are sorted by `key`: twice the stamp, plus 1 for steps that
 * take an address, so that a free precedes an allocation with the same stamp. */
struct item {
	uint64_t key;
	uint64_t address;
	uint64_t size; /* bytes; for a mark the address of its malloc'ed name */
	uint32_t stack;
	uint32_t after; /* AFTER_*: a free to be handled right after the allocation; 0 = none */
	uint32_t extra; /* slack of an allocation, as in struct ms_event; MG_MAP_* and MAP_SECOND of
			   a mapping */
	uint8_t link;   /* RELEASE and REALLOC: index into reader->released */
	uint8_t kind;   /* enum item_kind */
};
/* flag in an ITEM_MAP: valid only if the ITEM_LOOK before found a mapping */
#define MAP_SECOND (1u << 31)
#define AFTER_FREE (1u << 30) /* flag in `after`; low bits: index of the freeing thread */
/* flag in `after`: freed as a realloc's old block; low bits: ring * RELEASED + link */
#define AFTER_RELEASE (1u << 31)
enum item_kind {
	ITEM_ALLOC,
	ITEM_FREE,
	ITEM_RELEASE, /* realloc: the old address is freed */
	ITEM_REALLOC, /* realloc: the new address is allocated */
	ITEM_FAILED,
	ITEM_MARK,
	ITEM_LABEL,       /* size: the label, allocated; extra: number of labels */
	ITEM_FREE_UNSURE, /* sampling: free of a block that may not be sampled */
	ITEM_MAP,
	ITEM_UNMAP,
	ITEM_LOOK,   /* checks whether memory that is mapped a second time is known */
	ITEM_FORK,   /* the process is about to fork */
	ITEM_PAUSE,  /* the program paused or resumed */
	ITEM_IGNORE, /* the program declares that a block is no leak */
	ITEM_DONE,   /* already processed by a repair */
	/* heaps.h */
	ITEM_HEAP_ALLOC,   /* extra: see heaps_add_detail */
	ITEM_HEAP_REALLOC, /* extra: see heaps_add_detail */
	ITEM_HEAP_FAILED,  /* extra: see heaps_add_detail */
	ITEM_BACKING,      /* extra: heap << 1, plus 1 if hidden */
	ITEM_POOL,
};

#define RELEASED 16u

struct reader {
	struct mg_ring *ring; /* shared with a possibly hostile process: read once, check, use */
	const uint8_t *window;
	uint64_t window_bytes;
	bool prepared, taken;
	bool later;            /* reading was postponed in the last round */
	uint32_t allowed;      /* ms-record's copy of the ring's size_allowed */
	uint32_t stalls;       /* number of stalls when last read */
	uint64_t tail, offset; /* tail: bytes read so far; offset: read position in the window */
	uint64_t last;         /* the last stamp read */
	uint64_t quiet_ns;     /* time when the ring last had data or was checked */
	/* pending: last pending stamp read from the ring; pending_ns: time of that read */
	uint64_t pending, pending_ns;
	uint64_t pending_look_ns; /* time of the next check of the pending stamp */
	uint64_t pending_held_ns; /* time for which the running thread has kept the stamp
					 pending */
	uint64_t pending_cpu;     /* CPU time of the thread at the last check */
	struct item *items;       /* sorted; [first, count) are not merged yet */
	size_t first, count, room;

	uint32_t thread; /* thread index; UINT32_MAX before the first MG_THREAD */
	uint32_t epoch;
	/* ips: the current stack, outermost frame first; paths: the path to each frame; nodes: the
	 * nodes of the outermost `noded` frames. */
	uint64_t *ips;
	struct stacks_path *paths;
	uint32_t *nodes;
	uint32_t depth, cap, noded;
	uint32_t node;  /* node of the whole stack; 0 = not looked up yet */
	size_t waiting; /* 1 + index of the item whose stack is to be `node`; 0 = none */
	uint32_t base;  /* node above the outermost frame: 0, or "truncated" */
	struct reader_whole {
		uint32_t node; /* 0 = no stack is kept here */
		bool cut, truncated;
	} wholes[MG_WHOLES];
	/* Nodes of a deep stack's frames below a cut, from cut_from on; valid up to cut_valid. */
	uint32_t *cut_nodes;
	uint32_t cut_from, cut_valid;
	/* The copy of a stack that is being assembled. */
	uint64_t regs[MG_COPY_REGS];
	uint64_t copy_start;
	uint8_t *copy;
	size_t copy_bytes, copy_room;
	struct reader_codes *codes; /* code objects of an interpreter, by the guest's slot
				       (parse_code.h); or NULL */

	struct released {
		uint64_t number, address, size;
		bool found, inherited, backing, preexisting;
	} released[RELEASED];
	uint32_t releases;
	bool remapped; /* the mapping that the current mremap moves or duplicates is known */

	uint64_t lost, waited, verified, mismatched, passed; /* values of the ring's counters when
								last read */
};

/* ---- threads ---- */

/* Labels of one thread that count; those inside of them are left out. */
#define THREAD_LABELS 8u

struct thread {
	/* tid: thread id in the process's pid namespace; outer: in ms-record's (0 = not found
	 * yet) */
	uint32_t tid, outer;
	uint32_t missed;    /* number of thread lists without this thread */
	uint32_t labelled;  /* 1 + the index, made for its labels, under which its events are
			       written; 0 = under its own */
	uint64_t missed_ns; /* time of the last thread list without this thread */
	char name[16];
	uint32_t names; /* number of names that it had, if these are labels */
	uint64_t start_ns, end_ns;
	uint64_t last_number; /* number of the thread's last allocation; UINT64_MAX = none */
	uint64_t look_ns, look_after;
	uint64_t lost, waited;
	bool gone, dirty;
	struct thread_labels {
		char *v[THREAD_LABELS]; /* outermost first; NULL = not known */
	} * stack;                      /* NULL = the thread never had a label */
	char *labels; /* of an index made for labels: these, as one text; else NULL */
	uint32_t of;  /* of an index made for labels: the thread's own index */
};

struct alive {
	uint32_t tid, index;
};

struct tid_pair {
	uint32_t inner, outer;
};

struct threads {
	MS_ARRAY(struct thread) all;
	struct ms_lookup labelled; /* numbers, from 1, of those in `all` that were made for labels,
				      by thread and labels */
	/* Threads that still exist, or whose end is not written yet. */
	MS_ARRAY(struct alive) alive;
	size_t name_next;  /* index in `alive` of the next name to check */
	uint64_t names_ns; /* time of the next check */
	/* For a process in another pid namespace: thread ids there and in ms-record's namespace. */
	MS_ARRAY(struct tid_pair) tids;
	/* tids_ns: time of the last read; tids_again_ns: earliest time of the next one */
	uint64_t tids_ns, tids_again_ns;
	uint64_t ran_ns; /* CPU time of the process when threads_look was last called */
};

/* ---- the image ---- */

enum session_end { SESSION_RUNS = 0, SESSION_EXITED, SESSION_EXECED, SESSION_STOPPED };

struct session_pids {
	pid_t *v;
	size_t n, cap;
};

/* Describes the fork that a session began with (forks.h). */
struct fork_origin {
	uint32_t claimed_pid; /* pid in its own namespace, as reported; 0 = unknown */
	uint64_t found_ns;    /* time when the child was found, CLOCK_MONOTONIC */
	uint64_t stamp;       /* stamp of the fork; 0 = unknown */
	uint64_t behind;      /* the fork is processed once the parent is merged up to this stamp */
	uint64_t event, number, inherited_blocks, inherited_bytes;
};

/* Holds the rings of a session in shared memory. The sizes are ms-record's own and never read
 * from there. */
struct rings {
	uint8_t *memory;
	struct mg_ring *shared;
	uint32_t max;
	uint64_t window_bytes, data_offset, wide_offset; /* offsets from `memory` */
	uint32_t wide_count;
	/* The next members are used by the draining thread only. */
	struct reader *readers;
	uint32_t prepared; /* rings made ready so far; read by others with acquire loads */
	/* Readers of rings that are known to have a writer. */
	MS_ARRAY(struct reader *) taken;
};

/* Holds the block of events that is being filled. */
struct open_block {
	struct batch *batch;
	uint32_t frames_sent, nodes_sent;
	uint64_t since; /* time of the block's first event, ns */
	size_t events;  /* events of the block handed over so far */
	size_t left;    /* events that still fit into the batch; 0 = call session_room */
};

/* Holds records for the next batch, made by threads other than the draining thread. */
struct queued_records {
	pthread_mutex_t lock;
	struct ms_record_writer samples, verdicts, resident, retention;
	struct ms_proc_peak peak_rss;
	uint64_t sample_ns; /* time of the last sample */
};

/* Describes an exec noticed from outside: the process runs another program, without a handshake
 * (yet). */
struct exec_seen {
	char *program, *why; /* program: the new program; why: reason why it has no session */
	/* events: 1 + the event count some time after `ns`; 0 = not counted yet */
	uint64_t ns, events;
	bool hides;     /* no exec: the process only hides its files in /proc */
	bool announced; /* the new program was announced (guest/exec.c) */
};

/* Describes how a program image (process between two execs) ended; valid once `ending` is set. */
struct image_end {
	int status; /* status from waitpid, -1 = unknown */
	char *successor;
	uint64_t ns;
	uint64_t replaced_ns; /* start of the next program image of the process; 0 = none */
	uint64_t images_kept, images_trivial, images_missed; /* set for the launched program image
								only */
	const struct session_pids *left; /* processes that the command left running; or NULL */
	bool goes_on;                    /* the program image's process keeps running */
};

struct session {
	struct session *next; /* next in the control thread's list */
	const struct session_options *opt;
	const struct hooks *hooks; /* --hook of this recorder or of the holder on standby */
	struct writer *writer;
	struct output *out;

	struct process process;
	uint32_t image, parent_image; /* parent's number + 1, 0 = none */
	bool launched, same_pidns;
	char *name; /* last part of the program's path */
	uint8_t run_id[16];
	struct identity *who;
	struct identity *parent_who; /* identity of a forked child's parent, or NULL */

	bool forked; /* the session began with a fork */
	struct fork_origin fork;
	bool standby;      /* the process was on standby before this recording */
	bool known;        /* the process was found, or has ended: see fork_children.c */
	bool settled;      /* draining thread only: the session can be drained */
	bool may_drop;     /* no trace is written while the session is trivial */
	int kept_for_sure; /* atomic: the trace is not trivial */
	int grown;         /* atomic: the events merged so far are not trivial */

	/* The next members refer to the shared memory. */
	struct pool *pool;
	uint32_t slot; /* slot in `pool` + 1; 0 = the program image's own session */
	struct mg_session *mem;
	uint64_t tsc_hz;
	uint32_t wake;         /* on standby: number of this recording, as in `mem` */
	uint64_t *buffer_used; /* buffer bytes of all sessions, atomic */

	struct clock clock;

	/* The next members are used by the draining thread only. */
	struct rings rings;
	struct modules modules;
	struct ranges ranges;
	struct threads threads;
	struct stacks stacks;
	struct open_block open;
	uint64_t number;     /* number of the next allocation */
	uint64_t merged_to;  /* no item with an earlier stamp will follow */
	uint64_t merged_key; /* key of the last merged item */
	struct stats stats;
	struct run *run;
	struct pause pause;
	bool leak_mark_due;    /* --leak-check=mark: the mark was merged, a scan is due */
	uint32_t moment_due;   /* number of a moment that was merged: a scan is due; 0 = none */
	char moment_name[256]; /* its mark's name; unused with MG_MOMENT_EXIT */
	uint64_t mark_ns;      /* time of the last mark */
	uint64_t marked_ns;    /* time of the last mark at which an event block ended; 0 = none */
	bool damaged;
	char damage[160];

	/* State of higher-level modules, used by them alone; see drain/recording.h */
	struct drained *drained;
	struct heap *heap;
	struct scan *scan;
	struct hook_late *late; /* NULL until something was hooked */
	uint32_t late_missed;   /* mg_session.late_missed at the last search; atomic */
	/* atomic: the draining thread has read the modules of an attached process since a thread
	 * began to wait for hooks in a new one */
	int late_modules;
	unsigned hooks_wanted; /* HOOKS_* of hook_families.h */

	/* The next members are shared between threads. */
	struct queued_records queued;
	int ending;     /* atomic: enum session_end, set once by the control thread */
	int finished;   /* atomic: the draining thread has finished with the session */
	bool unwatched; /* the end of the process cannot be noticed in time for a scan */
	struct exec_seen exec;
	struct image_end end;

	/* The next members are used by the control thread only. */
	struct sampler *sampler;
	struct trigger_states *triggers; /* of control/triggers.c; NULL = nothing judged yet */
	struct guest_account guest;      /* copied from the guest at the end */
};

/* Makes a session with shared memory for the process `pid`; `opt` and `writer` are borrowed, `out`
 * is kept. `forks`: with slots for forked children. `memfd`: memory file mapped by a process that
 * ms-record attaches to, kept; else -1. Without `writer` and `out` the process goes on standby: OFF
 * and not drained. Higher-level modules add their own state to a drained session
 * (drain/recording.h). Returns NULL with `err` set on failure. */
struct session *session_new(const struct session_options *opt, struct writer *writer,
			    struct output *out, pid_t pid, uint64_t *buffer_used, bool forks,
			    int memfd, struct ms_err *err);
struct pool_shape;
/* Makes the session of a process on standby in the memory received from its holder; keeps `memfd`
 * unless it fails. The guest stays inactive until session_wake. Returns NULL with `err` set on
 * failure. */
struct session *session_attach_standby(const struct session_options *opt, struct writer *writer,
				       struct output *out, pid_t pid, uint64_t *buffer_used,
				       const struct pool_shape *shape, uint32_t wake, int memfd,
				       struct ms_err *err);
/* Makes the threads of a process on standby record from their next event on. Call once, after
 * pause_init. */
void session_wake(struct session *s);
/* Makes a forked child on standby record, in the current state of its program image. */
void session_wake_slot(struct session *s);
/* Makes the session for a pool slot that a forked child took. It has no process and no output
 * yet. */
struct session *session_in_slot(struct pool *p, uint32_t slot);
/* Tells whether the session made under 100 allocations, or under 64 KiB in total. */
bool session_trivial(const struct session *s);
/* Makes the guest take its stamps from a counter from now on, which begins a second after stamp
 * `last`. */
void session_count(struct session *s, uint64_t last);
/* Disables the processor's clock before there is a guest, as a guest does itself when its
 * program forbids that clock. */
void session_forbid_clock(struct session *s);
/* Frees a session that is no longer used and has no state of higher-level modules. */
void session_free(struct session *s);
/* Connects the session's modules and ranges to its process, clock and shared memory. */
void session_link(struct session *s);
/* Takes over modules that the guest added to its table or closed. Returns -1 if the shared memory
 * is damaged. */
int session_update_modules(struct session *s);
/* Tells whether the process ran before its recording began. */
bool session_mid_run(const struct session *s);
/* Number of unmatched frees that is normal: more indicate blocks that were allocated unseen. */
#define SESSION_FEW_UNKNOWN 16u
/* Returns the batch that is being filled. */
struct batch *session_batch(struct session *s);
/* Hands the batch to the writing thread and ends the open block. */
void session_flush(struct session *s);
/* Makes room for `n` (1 or 2) more events in the batch, in the same block. */
void session_room(struct session *s, size_t n);
/* Marks the shared memory as damaged: nothing more is read from it. Always returns -1. */
int session_damaged(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns ns since the start of the session's recording. */
uint64_t session_now(const struct session *s);
/* Tells whether the process runs under a seccomp filter, so that the guest makes no system
 * calls. */
static inline bool session_seccomp(const struct session *s)
{
	return __atomic_load_n(&s->mem->seccomp_seen, __ATOMIC_RELAXED);
}
/* Tells whether the thread with that index exists. */
bool session_thread_alive(struct session *s, uint32_t index);
/* Tells whether the thread with that index is waiting to continue: it is stopped, or is ready to
 * run but got no CPU time (in ticks of 10 ms) since the last call, which left `*cpu`. Updates
 * `*cpu`. */
bool session_thread_waits(const struct session *s, uint32_t index, uint64_t *cpu);
/* Returns the thread id, in ms-record's pid namespace, of a thread with id `tid` in its own; 0 =
 * not found (yet), or ended. */
uint32_t session_outer_tid(struct session *s, uint32_t tid);
