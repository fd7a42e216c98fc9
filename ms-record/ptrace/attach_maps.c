/* SPDX-License-Identifier: MIT
 * Mappings of another process, and free address space near an address.
 */
#include "attach_maps.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/guest/layout.h"

#define LOWEST UINT64_C(0x10000)
#define HIGHEST (MG_ADDRESS_END - 4096)
#define MARGIN UINT64_C(0x10000) /* bytes kept free next to the heap and the stack */

static void add(struct attach_maps *m, const struct ms_proc_map *from)
{
	const char *perms = from->perms;
	struct attach_map p = {.start = from->start,
			       .end = from->end,
			       .offset = from->offset,
			       .inode = from->inode,
			       .read = perms[0] == 'r',
			       .write = perms[1] == 'w',
			       .exec = perms[2] == 'x',
			       .shared = perms[3] == 's',
			       .path = ms_xstrdup(from->path)};
	if (p.path)
		*MS_PUSH(m) = p;
}

int attach_maps_read(struct attach_maps *m, int proc, struct ms_err *err)
{
	const struct ms_proc p = {.folder = proc};
	struct ms_regions r = {0};
	*m = (struct attach_maps){0};
	int rc = ms_regions_read(&p, false, &r);
	if (rc)
		ms_err_sys(err, "its memory map cannot be read");
	for (size_t i = 0; i < r.n; i++)
		add(m, &r.v[i].map);
	ms_regions_free(&r);
	if (!rc && !m->n)
		ms_err_set(err, "it has no memory mapped, so it is about to end");
	return m->n ? 0 : -1;
}

void attach_maps_free(struct attach_maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	*m = (struct attach_maps){0};
}

const struct attach_map *attach_maps_at(const struct attach_maps *m, uint64_t address)
{
	for (size_t i = 0; i < m->n; i++)
		if (address >= m->v[i].start && address < m->v[i].end)
			return &m->v[i];
	return NULL;
}

/* ---- room ---- */

static uint64_t distance(uint64_t at, uint64_t bytes, uint64_t low, uint64_t high)
{
	uint64_t up = at + bytes > low ? at + bytes - low : 0, down = high > at ? high - at : 0;
	return up > down ? up : down;
}

struct search {
	uint64_t low, high, bytes;
	uint64_t after;       /* only addresses at a greater distance are considered */
	uint64_t best, where; /* distance and address of the best free range; 0 = none */
};

static void consider(struct search *s, uint64_t at)
{
	uint64_t d = distance(at, s->bytes, s->low, s->high);
	if (d > MG_JUMP_REACH || d <= s->after || (s->best && d >= s->best))
		return;
	s->best = d;
	s->where = at;
}

/* Tries address ranges in a gap from its ends inwards, because memory mapped meanwhile is at the
 * ends. Skips an end next to the heap or the stack, which may grow. */
static void look(struct search *s, const struct attach_map *before, const struct attach_map *after)
{
	enum { STEPS = 16 };
	bool heap = before && !strcmp(before->path, "[heap]");
	bool stack = after && !strcmp(after->path, "[stack]");
	uint64_t from = before ? before->end : LOWEST, to = after ? after->start : HIGHEST;
	if (from < LOWEST)
		from = LOWEST;
	if (to > HIGHEST)
		to = HIGHEST;
	from = (from + s->bytes - 1) & ~(s->bytes - 1);
	if (to <= from || to - from < s->bytes)
		return;
	uint64_t high = (to - s->bytes) & ~(s->bytes - 1);
	for (uint64_t i = 0; i < STEPS * MARGIN && i <= high - from; i += MARGIN) {
		if (!stack)
			consider(s, high - i);
		if (!heap)
			consider(s, from + i);
	}
}

uint64_t attach_maps_room(const struct attach_maps *m, uint64_t low, uint64_t high, uint64_t bytes,
			  unsigned nth)
{
	struct search s = {.low = low, .high = high, .bytes = bytes};
	for (unsigned k = 0; k <= nth; k++) {
		s.best = s.where = 0;
		look(&s, NULL, m->n ? &m->v[0] : NULL);
		for (size_t i = 0; i < m->n; i++)
			look(&s, &m->v[i], i + 1 < m->n ? &m->v[i + 1] : NULL);
		if (!s.where)
			return 0;
		s.after = s.best;
	}
	return s.where;
}
