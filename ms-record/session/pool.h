/* SPDX-License-Identifier: MIT
 * The shared memory of one executed image: its own session, and slots for processes that fork from
 * it without an exec.
 *
 * Ownership: the control thread makes a pool with the image's session, and every session holds a
 * reference. The draining thread holds one too, owns the slots, and frees a pool when no process
 * has it mapped any longer.
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
#define POOL_RANGES 16384u /* maximum number of mappings in a list */
#define POOL_EXITED_PARENTS 32u
#define POOL_FIRST_RINGS 2u /* rings that a child finds ready; see pool_first_rings */
/* number of rings whose first lap (pass through the ring's window) is larger */
#define POOL_FEW_RINGS 4u
/* size in bytes of the larger first lap (pass through the ring's window) */
#define POOL_FEW_LAP (65536u - MG_SLACK)
#define POOL_ATTACHED_LAP (512u << 10) /* bytes of a child's ring if threads never wait */

/* Describes where the parts of a session are, in bytes from its start. */
struct extents {
	uint64_t modules, rings, frames, entries, ranges, wide, data, bytes;
	/* size of the lists of functions (mg_frames); memory is allocated on use */
	uint64_t entries_bytes;
	uint64_t window_bytes;
	/* wide_count: windows of MG_WIDE_BYTES */
	uint32_t module_max, ring_max, range_max, wide_count;
};

/* Describes the layout of the whole pool. */
struct pool_shape {
	struct extents image, each;
	uint64_t slots_start, bytes;
	uint32_t slot_max, head_serial;
};

/* Holds ms-record's own state of a pool slot. Nothing in it is read from the shared memory. */
struct slot {
	bool prepared, dead;     /* dead: not reused, as its process may still run */
	bool old;                /* the slot was taken before this recording (standby) */
	uint32_t serial;         /* serial number of the slot's session */
	struct session *session; /* NULL until a child was found in the slot */
};

struct pool {
	unsigned refs; /* atomic reference count */
	int memfd;
	uint64_t inode;
	uint8_t *memory;
	struct pool_shape shape;
	struct mg_session *head;  /* header of the program image's session */
	struct mg_session config; /* copy of the header as it was filled in */
	struct mg_fork_slot *dir; /* directory of the children's slots, in shared memory */
	/* guest injected: threads never wait, ms-record maintains the module table */
	bool attached;
	bool standby; /* processes of this pool may be recorded again */
	/* Lists of functions, owned by the control thread until the program image's session is
	 * drained, then by the draining thread. */
	struct frame_lists lists;
	struct session *head_session; /* session of the program image (process between two execs);
					 NULL once it has ended */
	/* The next members are used for sessions in slots. */
	const struct session_options *opt;
	struct writer *writer;
	uint64_t *buffer_used;

	/* The next members are used by the draining thread only. */
	struct slot *slots;
	uint32_t target;   /* number of slots to keep free */
	uint32_t prepared; /* slots with a lower index were prepared at some time */
	/* heaps of ended processes, which their children inherited */
	struct inherited_heap *exited_parents[POOL_EXITED_PARENTS];
	uint32_t exited_parent_count;
	uint64_t probed_ns;
};

/* Makes the shared memory for `pid`, with slots if `forks` is set. The part of the program image
 * (process between two execs) is allocated and zero, the file's size sealed. `memfd`: an empty
 * memory file of a process that ms-record attaches to, kept unless the call fails; or -1. Returns
 * NULL with `err` set on failure. */
struct pool *pool_new(pid_t pid, bool forks, int memfd, struct ms_err *err);
/* Maps memory that pool_new laid out earlier, for a trusted process; the layout is checked
 * nevertheless. Returns NULL with `err` set on failure. */
struct pool *pool_map_existing(const struct pool_shape *shape, uint32_t wake, int memfd,
			       struct ms_err *err);
/* Returns the bytes of shared memory needed to attach to `pid`. */
size_t pool_attached_bytes(pid_t pid, bool forks);
void pool_ref(struct pool *p);
void pool_unref(struct pool *p);
/* Copies the program image's header, which its session has filled in, for all slots prepared from
 * now on. */
void pool_seal(struct pool *p, struct session *s);

/* Returns how many rings a child finds ready: all rings if it cannot wait for one. */
uint32_t pool_first_rings(const struct pool *p);
/* Allocates memory for the structures of a session's rings, from `i` on. False = no memory. */
bool pool_back_ring(const struct pool *p, const struct session *s, uint32_t i);
/* Passes children that have taken a pool slot to `on_child`, and keeps enough slots ready (draining
 * thread, once a round). */
void pool_round(struct pool *p, void (*on_child)(void *arg, struct pool *p, uint32_t slot),
		void *arg);
/* Tells whether a child asked for a slot, or took one that was not handled yet. */
bool pool_slot_wanted(const struct pool *p);
/* Releases a pool slot whose session has ended. `reuse`: its process has ended too, so another
 * process may take the slot. Otherwise the slot is not used again; on standby it stays with its
 * process. */
void pool_release_slot(struct pool *p, uint32_t slot, bool reuse);
/* Releases the program image's part of the pool after the image's session has ended. `gone`: the
 * image's process no longer writes. */
void pool_release_image(struct pool *p, bool gone);
/* Stops children from taking pool slots. */
void pool_shut(struct pool *p);
/* Tells whether the draining thread holds the last reference, and no process has the pool
 * mapped. */
bool pool_unused(struct pool *p, uint64_t now_ns);
/* Returns the offset of a slot's session in the pool. */
static inline uint64_t pool_slot_at(const struct pool *p, uint32_t slot)
{
	return p->shape.slots_start + slot * p->shape.each.bytes;
}
