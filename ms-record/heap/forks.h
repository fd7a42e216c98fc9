/* SPDX-License-Identifier: MIT
 * What a forked child inherits: its parent's live blocks as of the fork, modules and clock.
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

/* The state of a process at a fork, found by the stamp of its MG_FORK record. */
struct fork_point {
	uint64_t stamp, at; /* at: place in the log */
	uint64_t events, number, blocks, bytes;
	uint64_t ns; /* when we saw it */
};

enum { FORK_MADE, FORK_TAKEN, FORK_TAKEN_INHERITED };
struct fork_change {
	struct live_block block;
	uint8_t what; /* FORK_* */
};

/* Numbers of inherited blocks: allocation number in the ancestor's trace | generations up << 56. */
#define FORKS_UP_SHIFT 56
#define FORKS_NUMBER ((UINT64_C(1) << FORKS_UP_SHIFT) - 1)

/* One process of a tree of forks.
 *
 * Its live blocks change while children that forked from it have not been seen yet. So from an
 * MG_FORK record on, changes are logged, and the table as of a fork is the table as it is with what
 * came since undone. A child gets its table only when it gives back a block that is not its own, or
 * when the log is about to be dropped; many never do. */
struct inherited_heap {
	unsigned refs;
	uint32_t serial;       /* of the session */
	struct session *owner; /* NULL once it is over: then nothing changes any more */
	struct identity *who;
	struct clock *clock;    /* the owner's, then a copy */
	struct live_table *own; /* the owner's, then `over` */
	struct live_table over;

	struct inherited_heap *from; /* the parent, while its blocks are still to be taken over */
	uint64_t from_at;            /* place in its log; valid when the session is settled */
	struct live_table inherited; /* without buckets until they are */
	uint64_t blocks, bytes;      /* inherited and not given back yet */

	MS_ARRAY(struct fork_point) points;
	MS_ARRAY(struct fork_change) log;
	MS_ARRAY(uint64_t) asked; /* stamps at which a point is wanted, though no record says so */
	uint64_t log_from;        /* place of log.v[0] */

	struct modules *modules; /* the owner's, then a copy */
	struct fork_point final; /* once it is over */
};

/* ---- of any session ---- */

struct inherited_heap *inherited_heap_new(struct session *s, uint32_t serial);
void inherited_heap_unref(struct inherited_heap *h);
/* An MG_FORK record was merged. */
void forks_point(struct session *s, uint64_t stamp);
/* One is live, or is not any more: FORK_*. */
void forks_log(struct heap *h, uint8_t what, const struct live_block *b);
/* Takes the first stamp below `limit` at which a point is wanted. False: there is none. */
bool forks_asked(struct session *s, uint64_t limit, uint64_t *stamp);
/* Drops fork points, and what was logged for them, when they are old. */
void forks_tidy(struct session *s);
/* Nobody forks from this pool any more. */
void forks_forget(struct pool *p);
/* The session is over and written: its inherited heap stays as long as somebody may need it. */
void forks_over(struct session *s);

/* ---- of a forked one ---- */

/* A session in a slot begins: who its parent is, its clock; on standby it is woken. */
void forks_begin(struct session *s);
/* Tells whether the parent is merged up to the fork, so that the session can be drained. */
bool forks_settle(struct session *s);
/* Takes the inherited block at `address` out of the table. */
bool forks_take(struct session *s, uint64_t address, struct live_block *b);
