/* SPDX-License-Identifier: MIT
 * The shared memory of one executed image: its own session, and slots for processes that fork from
 * it without an exec.
 *
 * Who owns what: the control thread makes a pool with the image's session, and every session holds
 * a reference. The draining thread holds one too, owns the slots, and gives a pool up when nobody
 * has it mapped any more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-record/code/frame_lists.h"
#include "ms-record/guest/layout.h"

struct inherited_heap;
struct ms_err;
struct session_options;
struct session;
struct writer;

#define POOL_SLOTS 128u
#define POOL_RANGES 16384u /* of mappings */
#define POOL_EXITED_PARENTS 32u
#define POOL_FIRST_RINGS 2u              /* that a child finds ready; see pool_first_rings */
#define POOL_FEW_RINGS 4u                /* that begin with a larger lap, */
#define POOL_FEW_LAP (65536u - MG_SLACK) /* of so many bytes */
#define POOL_ATTACHED_LAP (512u << 10)   /* of a child's ring when nobody waits */

/* Says where the parts of a session lie, in bytes from its start. */
struct extents {
	uint64_t modules, rings, frames, entries, ranges, wide, data, bytes;
	uint64_t entries_bytes; /* for lists of functions (mg_frames); nothing is behind them yet */
	uint64_t window_bytes;
	uint32_t module_max, ring_max, range_max, wide_count; /* of MG_WIDE_BYTES each */
};

/* How all of it is laid out. */
struct pool_shape {
	struct extents image, each;
	uint64_t slots_start, bytes;
	uint32_t slot_max, head_serial;
};

/* Holds what we know of a slot; nothing of it is read back from the shared memory. */
struct slot {
	bool prepared, dead; /* dead: its process may live on unrecorded, so nobody else gets it */
	bool old;            /* on standby: it was taken before this recording */
	uint32_t serial;     /* of the session that it holds */
	struct session *session; /* once a child was seen in it */
};

struct pool {
	unsigned refs; /* atomic */
	int memfd;
	uint64_t inode;
	uint8_t *memory;
	struct pool_shape shape;
	struct mg_session *head;  /* the image's */
	struct mg_session config; /* as it was made */
	struct mg_fork_slot *dir; /* in shared memory */
	bool attached; /* the guest was put into it: nobody waits, and we keep tables of modules */
	bool standby;  /* somebody may record its processes again */
	/* Lists of functions: the control thread's until the image's session is drained, then the
	 * draining thread's. */
	struct frame_lists lists;
	struct session *head_session; /* NULL once it is over */
	/* For sessions of slots. */
	const struct session_options *opt;
	struct writer *writer;
	uint64_t *buffer_used;

	/* the draining thread's */
	struct slot *slots;
	uint32_t target;   /* slots that are to be free */
	uint32_t prepared; /* slots below have been prepared at some time */
	/* heaps of processes that are over, which their children inherited */
	struct inherited_heap *exited_parents[POOL_EXITED_PARENTS];
	uint32_t exited_parent_count;
	uint64_t probed_ns;
};

/* Memory for `pid`, with slots when `forks`. The image's part is sealed, mapped and zero. NULL with
 * `err` set. `memfd`: an empty memory file of a process that we attach to, kept unless this fails;
 * or -1. */
struct pool *pool_new(pid_t pid, bool forks, int memfd, struct ms_err *err);
/* Maps memory that was laid out by pool_new before, in a trusted process; what that says of it is
 * checked all the same. */
struct pool *pool_map_existing(const struct pool_shape *shape, uint32_t wake, int memfd,
			       struct ms_err *err);
/* Bytes of such memory for `pid`, which is attached to. */
size_t pool_attached_bytes(pid_t pid, bool forks);
void pool_ref(struct pool *p);
void pool_unref(struct pool *p);
/* The header of the image is filled in by its session: slots get the same from now on. */
void pool_seal(struct pool *p, struct session *s);

/* Returns how many rings a child finds ready: all of them if it cannot wait for one. */
uint32_t pool_first_rings(const struct pool *p);
/* Puts memory behind the structures of a session's rings, from `i` on. */
bool pool_back_ring(const struct pool *p, const struct session *s, uint32_t i);
/* The draining thread's, once a round: children that took a slot are handed to `on_child`, and
 * enough slots are kept ready. */
void pool_round(struct pool *p, void (*on_child)(void *arg, struct pool *p, uint32_t slot),
		void *arg);
/* Has a child called for a slot, or taken one that was not seen yet? */
bool pool_slot_wanted(const struct pool *p);
/* The session in a slot is over. `reuse`: its process is gone, so another one may have the slot. On
 * standby it keeps it otherwise. */
void pool_release_slot(struct pool *p, uint32_t slot, bool reuse);
/* The image is over. `gone`: and does not write any more. */
void pool_release_image(struct pool *p, bool gone);
/* No child takes a slot any more. */
void pool_shut(struct pool *p);
/* Does only the draining thread know this pool, and no process have it mapped? */
bool pool_unused(struct pool *p, uint64_t now_ns);
/* Offset of a slot's session. */
static inline uint64_t pool_slot_at(const struct pool *p, uint32_t slot)
{
	return p->shape.slots_start + slot * p->shape.each.bytes;
}
