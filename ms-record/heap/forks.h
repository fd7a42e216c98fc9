/* SPDX-License-Identifier: MIT
 * What a forked child inherits: its parent's live blocks as of the fork, modules and clock.
 *
 * All of it belongs to the draining thread, but `struct identity`, which is filled once and then
 * only read.
 */
#ifndef FORKS_H
#define FORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-record/base/clock.h"
#include "live.h"

struct item;
struct pool;
struct session;

/* What /proc says of a process; a child that was gone before we looked has its parent's. */
struct identity {
	unsigned refs; /* atomic */
	pid_t pid;
	uint64_t ppid, uid;
	uint32_t image;
	bool same_pidns;
	char *exe, *name, *cwd; /* cwd may be NULL */
	char *args, *env;       /* NUL-separated; NULL = not known, or not wanted */
	size_t args_bytes, env_bytes;
};
/* An empty one, which the control thread fills. It does so in the order of forks, so a child finds
 * its parent's filled. */
struct identity *identity_new(void);
struct identity *identity_ref(struct identity *w);
void identity_unref(struct identity *w);

/* The state of a process at a fork, found by the stamp of its MG_FORK record. */
struct fork_point {
	uint64_t stamp, at; /* at: place in the log */
	uint64_t events, number, blocks, bytes;
	uint64_t ns; /* when we saw it */
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
	struct clock *clock; /* the owner's, then a copy */
	struct live *own;    /* the owner's, then `over` */
	struct live over;

	struct inherited_heap *from; /* the parent, while its blocks are still to be taken over */
	uint64_t from_at;            /* place in its log; valid when the session is settled */
	struct live inherited;
	bool has_inherited;
	uint64_t blocks, bytes; /* inherited and not given back yet */

	struct {
		struct fork_point *v;
		size_t n, cap;
	} points;
	struct {
		struct fork_change {
			struct live_block block;
			uint8_t what; /* FORK_* */
		} * v;
		size_t n, cap;
	} log;
	struct {
		uint64_t *v;
		size_t n, cap;
	} asked;           /* stamps at which a point is wanted, though no record says so */
	uint64_t log_from; /* place of log.v[0] */
	bool logging;

	struct modules *modules; /* the owner's, then a copy */
	struct fork_point final; /* once it is over */
};
enum { FORK_MADE, FORK_TAKEN, FORK_TAKEN_INHERITED };

/* ---- of any session ---- */

struct inherited_heap *inherited_heap_new(struct session *s, uint32_t serial);
void inherited_heap_unref(struct inherited_heap *h);
/* An MG_FORK record was merged. */
void forks_point(struct session *s, uint64_t stamp);
void forks_log(struct inherited_heap *h, uint8_t what, const struct live_block *b);
/* Merges up to each stamp below `limit` at which a point is wanted. */
void forks_merge(struct session *s, uint64_t limit);
/* Drops fork points, and what was logged for them, when they are old. */
void forks_tidy(struct session *s);
/* Nobody forks from this pool any more. */
void forks_forget(struct pool *p);
/* The session is over and written: its inherited heap stays as long as somebody may need it. */
void forks_over(struct session *s);

/* ---- of a forked one ---- */

/* A child took a slot: makes its session, as far as shared memory tells. */
struct session *forks_child_session(struct pool *p, uint32_t slot);
/* Its parent is merged up to the fork (then true, and the session can be drained), or not yet. */
bool forks_settle(struct session *s);
/* Takes the inherited block at `address` out of the table. */
bool forks_take(struct session *s, uint64_t address, struct live_block *b);

#endif
