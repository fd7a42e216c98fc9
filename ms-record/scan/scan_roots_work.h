/* SPDX-License-Identifier: MIT
 * Declares what the files of roots share.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "scan_roots.h"

#define PAGE 4096u

struct span {
	uint64_t start, end;
};

struct spans {
	struct span *v;
	size_t n, cap;
};

static inline void roots_add_span(struct spans *s, uint64_t start, uint64_t end)
{
	if (start < end)
		*MS_PUSH(s) = (struct span){start, end};
}

/* Tells whether a mapping may hold pointers of the program. */
static inline bool roots_may_hold(const struct roots *r, const struct memory_map *m)
{
	if (m->special || (!m->read && (m->shared || !m->anonymous)))
		return false;
	if (m->shared)
		return m->write && m->inode != r->own_inode;
	return true;
}

/* ---- scan_roots_cuts.c ---- */

/* Returns, sorted, the parts of mappings that are no roots, in memory to be freed. */
struct spans roots_find_cuts(const struct roots *r);
/* Returns the stack of the thread whose control block is at `tcb`. The block holds the stack's
 * start and size next to each other, so mappings right beside the stack are left out. Returns an
 * empty span if start and size are not found, or give a stack that does not contain `inside` or
 * ends above `end`. */
struct span roots_stack_of(const struct roots *r, uint64_t tcb, uint64_t inside, uint64_t end);

/* ---- scan_roots_ranges.c ---- */

/* Finds the program's own mappings, without the memory in `cut`, the heaps and the modules. */
void roots_find_ranges(const struct roots *r, const struct spans *cut);
