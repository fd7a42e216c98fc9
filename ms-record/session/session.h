/* SPDX-License-Identifier: MIT
 * Room session: one process image that is recorded.
 *   In:  a process and what was asked of its recording (options.h).
 *   Out: its shared memory (pool.h) and threads; what room code knows of it; batches for room
 *        write.
 *   Used by: all rooms of the recorder but base, ptrace, write, code and launch. What heap, scan,
 *        drain and attach keep of a session they add themselves (drain/recording.h).
 *
 * One recorded process image: its shared memory, its rings, its trace.
 *
 * Who owns what: the control thread (control/loop.c) makes a session, samples /proc and says that
 * the image ended; the draining thread (drain.c) owns everything else from the moment it adopted the
 * session until it set `finished`. What both touch is under `lock`, or an atomic named so.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"
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

#define SESSION_RINGS MG_RINGS_MOST

/* ---- per ring ---- */

#define ITEMS_AHEAD 12u /* readable behind the last item of a reader */

/* A step of the merge. Sorted by `key`: the stamp doubled, plus one for steps that take an address,
 * so that at one stamp a free comes first. */
struct item {
	uint64_t key;
	uint64_t address;
	uint64_t size; /* of a mark: address of its malloc'ed name */
	uint32_t stack;
	uint32_t after; /* an allocation that is given back at once (repair): AFTER_*; 0 = no */
	uint32_t extra; /* of an allocation: slack, as in struct ms_event; of a mapping: MG_MAP_*,
			   MAP_SECOND */
	uint8_t link;   /* RELEASE and REALLOC: place in reader->released */
	uint8_t kind;   /* enum item_kind */
};
#define MAP_SECOND (1u << 31)    /* counts if the ITEM_LOOK before found something */
#define AFTER_FREE (1u << 30)    /* | thread: freed by it */
#define AFTER_RELEASE (1u << 31) /* | ring * RELEASED + link: the old block of a realloc */
enum item_kind {
	ITEM_ALLOC,
	ITEM_FREE,
	ITEM_RELEASE, /* the old address of a realloc is given back */
	ITEM_REALLOC, /* and the new one bound */
	ITEM_FAILED,
	ITEM_MARK,
	ITEM_FREE_UNSURE, /* sampling: of a block that may not be one of ours */
	ITEM_MAP,
	ITEM_UNMAP,
	ITEM_LOOK,   /* is what is mapped a second time known? */
	ITEM_FORK,   /* the process is about to fork */
	ITEM_PAUSE,  /* the program paused or resumed */
	ITEM_IGNORE, /* the program says that a block is no leak */
	ITEM_DONE,   /* taken out of turn by a repair */
	/* heaps.h */
	ITEM_HEAP_ALLOC,   /* extra: see heaps_add_detail */
	ITEM_HEAP_REALLOC, /* the same */
	ITEM_HEAP_FAILED,  /* the same */
	ITEM_BACKING,      /* extra: 1 = hidden, | heap << 1 */
	ITEM_POOL,
};

#define RELEASED 16u

struct reader {
	struct mg_ring *ring; /* shared with a possibly hostile process: read once, check, use */
	const uint8_t *window;
	uint64_t window_bytes;
	bool prepared, taken;
	bool later;                   /* it was left for later at the last look */
	uint32_t allowed;             /* size_allowed as we set it */
	uint32_t stalls;              /* as last seen */
	uint64_t tail, offset;        /* bytes read in all; place in the window */
	uint64_t last;                /* the last stamp read */
	uint64_t quiet_ns;            /* when it was last seen with data, or looked at */
	uint64_t pending, pending_ns; /* as last seen in it, and when that was looked at; */
	uint64_t pending_look_ns;     /* when to look whether it counts still, */
	uint64_t pending_held_ns;     /* and for how long its thread has not come on with it */
	uint64_t pending_cpu;         /* what that had of a processor by then */
	struct item *items;           /* sorted; [first, count) are waiting */
	size_t first, count, room;

	uint32_t thread; /* index; UINT32_MAX before the first MG_THREAD */
	uint32_t epoch;
	/* The current stack, outermost first, and the path to each frame; the nodes of its
	 * outermost `noded` frames, and of the whole. */
	uint64_t *ips;
	struct stacks_path *paths;
	uint32_t *nodes;
	uint32_t depth, cap, noded;
	uint32_t node; /* 0 = not looked up yet */
	uint32_t base; /* node above the outermost frame: 0, or "truncated" */
	struct reader_whole {
		uint32_t node; /* 0 = none stands here */
		bool cut, truncated;
	} wholes[MG_WHOLES];
	/* The part of a deep stack below a cut: nodes of frames cut_from and on, valid up to
	 * cut_valid. */
	uint32_t *cut_nodes;
	uint32_t cut_from, cut_valid;
	/* The stack copy being put together. */
	uint64_t regs[MG_COPY_REGS];
	uint64_t copy_start;
	uint8_t *copy;
	size_t copy_bytes, copy_room;
	struct reader_codes *codes; /* of an interpreter, by slot: parse_code.h; or NULL */

	struct released {
		uint64_t number, address, size;
		bool found, inherited, backing, preexisting;
	} released[RELEASED];
	uint32_t releases;
	bool remapped; /* what the mremap under way took away, or maps again, is known */

	uint64_t lost, waited, verified, mismatched, passed; /* as last seen in it */
};

/* ---- threads ---- */

struct thread {
	uint32_t tid, outer; /* in its own pid namespace, and in ours (0 = not found yet) */
	uint32_t missed;     /* lists of threads in which it was not found, */
	uint64_t missed_ns;  /* and the last of them */
	char name[16];
	uint64_t start_ns, end_ns;
	uint64_t last_number; /* of its last allocation; UINT64_MAX = none */
	uint64_t look_ns, look_after;
	uint64_t lost, waited;
	bool gone, dirty;
};

struct alive {
	uint32_t tid, index;
};

struct tid_pair {
	uint32_t inner, outer;
};

struct threads {
	MS_ARRAY(struct thread) all;
	/* Those that have not gone, or whose end is not written. */
	MS_ARRAY(struct alive) alive;
	size_t name_next;  /* of `alive`: the one whose name is to be looked at next, */
	uint64_t names_ns; /* not before then */
	/* Threads of a process in another pid namespace: their numbers there and here. */
	MS_ARRAY(struct tid_pair) tids;
	uint64_t tids_ns, tids_again_ns; /* when they were read, and may be again */
};

/* ---- the image ---- */

enum session_end { SESSION_RUNS = 0, SESSION_EXITED, SESSION_EXECED, SESSION_STOPPED };

struct session_pids {
	pid_t *v;
	size_t n, cap;
};

/* Describes the fork that a session began with (forks.h). */
struct fork_origin {
	uint32_t claimed_pid; /* as it says, in its own namespace; 0 = it does not know */
	uint64_t found_ns;    /* CLOCK_MONOTONIC */
	uint64_t stamp;       /* 0 = unknown */
	uint64_t behind;      /* its parent is merged as far as is to be known when it is to here */
	uint64_t event, number, inherited_blocks, inherited_bytes;
};

/* Holds the rings of a session in shared memory; sizes are ours, never read back. */
struct rings {
	uint8_t *memory;
	struct mg_ring *shared;
	uint32_t max;
	uint64_t window_bytes, data_offset, wide_offset; /* from `memory` on */
	uint32_t wide_count;
	/* the draining thread's */
	struct reader *readers;
	uint32_t prepared; /* rings made ready so far; read by others with acquire loads */
	/* Those that have a writer, of which is known that they have. */
	MS_ARRAY(struct reader *) taken;
};

/* Holds the block of events that is being filled. */
struct open_block {
	struct batch *batch;
	uint32_t frames_sent, nodes_sent;
	uint64_t since; /* ns at which it got its first event */
	size_t events;  /* handed over already */
	size_t left;    /* events that the batch has room for; 0 = see session_room */
};

/* Holds records for the next batch that threads other than the draining one make. */
struct queued_records {
	pthread_mutex_t lock;
	struct ms_record_writer samples, verdicts, resident;
	struct ms_proc_peak peak_rss;
	uint64_t sample_ns; /* of the sample before */
};

/* Describes an exec that is seen from outside: an executable without a handshake (yet). */
struct exec_seen {
	char *program, *why; /* it has none */
	uint64_t ns, events; /* events: a while after `ns`, + 1; 0 = not counted yet */
	bool hides;          /* it seemed to be another program, and is none */
	bool announced;      /* what it becomes has told of itself (guest/exec.c) */
};

/* Says how an image ended; valid once `ending` is set. */
struct image_end {
	int status; /* waitpid's, -1 = unknown */
	char *successor;
	uint64_t ns;
	uint64_t replaced_ns; /* when the image that it became began; 0 = it became none */
	uint64_t images_kept, images_trivial, images_missed; /* launched */
	const struct session_pids *left;                     /* of a command that ended, or NULL */
	bool goes_on;                                        /* it is one of those itself */
};

struct session {
	struct session *next; /* list of the control thread */
	const struct session_options *opt;
	const struct hooks *hooks; /* --hook, here or where it was put on standby */
	struct writer *writer;
	struct output *out;

	struct process process;
	uint32_t image, parent_image; /* parent + 1, 0 = none */
	bool launched, same_pidns;
	char *name; /* last part of the program's path */
	uint8_t run_id[16];
	struct identity *who;
	struct identity *parent_who; /* of a forked child's parent, or NULL */

	bool forked; /* made by a fork */
	struct fork_origin fork;
	bool standby;      /* it was put on standby before this recording */
	bool known;        /* its process was found, or is known to be gone: see fork_children.c */
	bool settled;      /* the draining thread's: can be drained */
	bool may_drop;     /* not kept when it is trivial; nothing is written before it is not */
	int kept_for_sure; /* atomic: it is not trivial */
	int grown;         /* atomic: nor is what has been merged of it */

	/* shared memory */
	struct pool *pool;
	uint32_t slot; /* in it, + 1; 0 = the image */
	struct mg_session *mem;
	uint64_t tsc_hz;
	uint32_t wake;         /* on standby: of this recording, as in `mem` */
	uint64_t *buffer_used; /* of all sessions, atomic */

	struct clock clock;

	/* the draining thread's */
	struct rings rings;
	struct modules modules;
	struct ranges ranges;
	struct threads threads;
	struct stacks stacks;
	struct open_block open;
	uint64_t number;     /* next allocation */
	uint64_t merged_to;  /* no item below this stamp is to come */
	uint64_t merged_key; /* of the last item that was merged */
	struct stats stats;
	struct run *run;
	struct pause pause;
	bool leak_mark_due; /* the mark of --leak-check=mark was merged */
	bool damaged;
	char damage[160];

	/* state of rooms above, which alone look into it; drain/recording.h */
	struct drained *drained;
	struct heap *heap;
	struct scan *scan;
	struct hook_late *late; /* NULL until something was hooked */
	unsigned hooks_wanted;  /* HOOKS_* of hook_families.h */

	/* between the threads */
	struct queued_records queued;
	int ending;     /* atomic: enum session_end, set once by the control thread */
	int finished;   /* atomic: the draining thread is done with it */
	bool unwatched; /* nobody will see its end in time for a scan */
	struct exec_seen exec;
	struct image_end end;

	/* the control thread's */
	struct sampler *sampler;
	struct guest_account guest; /* copied at the end */
};

/* Makes the shared memory of a session for the process `pid` that asked for it, `opt` and `writer`
 * borrowed; `forks`: with slots for its forked children. `memfd`: we attach to it, and it has this
 * memory file mapped; kept; else -1. Without `writer` and `out` it goes on standby: OFF, and nobody
 * drains it. NULL with `err` set. `out` is kept. What other rooms keep of a
 * session that is to be drained they add (drain/recording.h). */
struct session *session_new(const struct session_options *opt, struct writer *writer,
			    struct output *out, pid_t pid, uint64_t *buffer_used, bool forks,
			    int memfd, struct ms_err *err);
struct pool_shape;
/* Makes the session of a process that is about to be woken, in the memory that its holder answered
 * with; `memfd` is kept, unless this fails. The guest goes on sleeping until session_wake. */
struct session *session_attach_standby(const struct session_options *opt, struct writer *writer,
				       struct output *out, pid_t pid, uint64_t *buffer_used,
				       const struct pool_shape *shape, uint32_t wake, int memfd,
				       struct ms_err *err);
/* Has the threads of a process on standby record from their next event on. Once; after
 * pause_init. */
void session_wake(struct session *s);
/* Wakes the session of a forked child, in the state of its image. */
void session_wake_slot(struct session *s);
/* Makes the session of a slot that a forked child took. It has no process yet, nor output. */
struct session *session_in_slot(struct pool *p, uint32_t slot);
/* Made under 100 allocations, or under 64 KiB. */
bool session_trivial(const struct session *s);
/* Has the guest count its stamps from now on, beginning a second after `last`. */
void session_count(struct session *s, uint64_t last);
/* Does what a guest does when the program forbids itself the processor's clock, before there is
 * one. */
void session_forbid_clock(struct session *s);
/* Frees a session that nobody uses any more, and to which nothing was added. */
void session_free(struct session *s);
/* Tells modules and ranges of the session where its process, clock and shared memory are. */
void session_link(struct session *s);
/* Takes over what the guest added to its table of modules or closed. -1: the shared memory is
 * damaged. */
int session_update_modules(struct session *s);
/* Had the process run before it was recorded? */
bool session_mid_run(const struct session *s);
/* Frees of unknown blocks that may be: more of them say that blocks came from elsewhere. */
#define SESSION_FEW_UNKNOWN 16u
/* The batch being filled. */
struct batch *session_batch(struct session *s);
/* Hands the batch to the writing thread, and ends the open block. */
void session_flush(struct session *s);
/* Makes room for `n` (1 or 2) more events in the batch, in the same block. */
void session_room(struct session *s, size_t n);
/* Marks the shared memory as damaged: nothing more is read from it. Always returns -1. */
int session_damaged(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* ns since the start of the session's recording. */
uint64_t session_now(const struct session *s);
/* Does the process run under a seccomp filter, so that it makes no system call of ours? */
static inline bool session_seccomp(const struct session *s)
{
	return __atomic_load_n(&s->mem->seccomp_seen, __ATOMIC_RELAXED);
}
/* Does the thread of that index exist? */
bool session_thread_alive(struct session *s, uint32_t index);
/* Would the thread of that index go on if it were let? It is stopped, or ready to run and has not had
 * a processor for a hundredth of a second since the last look, at `*cpu`, which becomes what it is now. */
bool session_thread_waits(const struct session *s, uint32_t index, uint64_t *cpu);
/* The number here of a thread that has the number `tid` in its own namespace; 0 = not found (yet,
 * or any more). */
uint32_t session_outer_tid(struct session *s, uint32_t tid);
