/* SPDX-License-Identifier: MIT
 * Provides what a forked child inherits: its parent's live blocks as of the fork, modules and
 * clock.
 *
 * All of it belongs to the draining thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/clock.h"
#include "live.h"

struct heap;
struct identity;
struct item;
struct pool;
struct session;

/* Holds the state of a process at a fork; `stamp` is that of its MG_FORK record. */
struct fork_point {
	uint64_t stamp, at; /* at: position in the log */
	uint64_t events, number, blocks, bytes;
	uint64_t ns; /* time at which the record was merged */
};

enum { FORK_MADE, FORK_TAKEN, FORK_TAKEN_INHERITED };
struct fork_change {
	struct live_block block;
	uint8_t what; /* FORK_* */
};

/* Encodes the numbers of inherited blocks: allocation number in the ancestor's trace | generations
 * up << 56. */
#define FORKS_UP_SHIFT 56
#define FORKS_NUMBER ((UINT64_C(1) << FORKS_UP_SHIFT) - 1)

/* Holds the blocks of one process for its forked children. The live blocks may change before
 * ms-record notices a forked child. So changes are logged from an MG_FORK record on, and the
 * table as of a fork is the present table with the later changes undone. A child gets its own
 * table only when it frees a block that it did not allocate, or when the log is about to be
 * dropped; many children never do. */
struct inherited_heap {
	unsigned refs;
	uint32_t serial;       /* serial of the session in its pool */
	struct session *owner; /* NULL once the session is over: nothing changes any more */
	struct identity *who;
	struct clock *clock;    /* the owner's clock, or a copy once the owner has ended */
	struct live_table *own; /* the owner's live blocks, or `over` once the owner has ended */
	struct live_table over;

	struct inherited_heap *from; /* parent's heap; NULL once its blocks have been copied */
	uint64_t from_at; /* position of the fork in the parent's log, valid once settled */
	/* inherited blocks; without buckets until copied from the parent */
	struct live_table inherited;
	uint64_t blocks, bytes; /* inherited blocks not freed yet */

	MS_ARRAY(struct fork_point) points;
	MS_ARRAY(struct fork_change) log;
	MS_ARRAY(uint64_t) asked; /* stamps of fork points that have no MG_FORK record */
	uint64_t log_from;        /* position, in the whole log, of log.v[0] */

	struct modules *modules; /* the owner's modules, or a copy once the owner has ended */
	struct fork_point final; /* state at the end of the session */
};

/* ---- any session ---- */

struct inherited_heap *inherited_heap_new(struct session *s, uint32_t serial);
void inherited_heap_unref(struct inherited_heap *h);
/* Adds a fork point when an MG_FORK record was merged. */
void forks_point(struct session *s, uint64_t stamp);
/* Logs that a block became live or was freed: FORK_*. */
void forks_log(struct heap *h, uint8_t what, const struct live_block *b);
/* Removes the earliest stamp, not above `limit`, for which a fork point was requested, and
 * stores it in *stamp. Returns false if there is none. */
bool forks_asked(struct session *s, uint64_t limit, uint64_t *stamp);
/* Drops old fork points and the log entries that only they need. */
void forks_tidy(struct session *s);
/* Frees the exited parents of a pool from which no process will fork any more. */
void forks_forget(struct pool *p);
/* Keeps the inherited heap of a session that is over, for children that may still need it. */
void forks_over(struct session *s);

/* ---- forked sessions ---- */

/* Begins a session in a pool slot: sets its parent and its clock; wakes a session on standby. */
void forks_begin(struct session *s);
/* Tells whether the parent's events are merged up to the fork, so that the session can be
 * drained. */
bool forks_settle(struct session *s);
/* Removes the inherited block at `address` and stores it in *b. Returns false if there is none. */
bool forks_take(struct session *s, uint64_t address, struct live_block *b);
/* Calls `f` for each inherited block that the session has not freed yet. */
void forks_each(const struct session *s, void (*f)(void *arg, const struct live_block *block),
		void *arg);
