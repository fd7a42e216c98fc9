/* SPDX-License-Identifier: MIT
 * What is mapped in another process, and where there is room near it.
 */
#include "attach_maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/arena.h"
#include "libcommon/err.h"

#define REACH (UINT64_C(0x7f) << 24) /* a little less than 2 GiB */
#define LOWEST UINT64_C(0x10000)
#define HIGHEST (UINT64_C(0x7ffffffff) << 12)
#define MARGIN UINT64_C(0x10000) /* to what grows */

static void add(struct attach_maps *m, const char *line)
{
	struct attach_map p = {0};
	char perms[8];
	int at = 0;
	unsigned long long start, end, offset, inode;
	if (sscanf(line, "%llx-%llx %7s %llx %*s %llu %n", &start, &end, perms, &offset, &inode,
		   &at) < 5)
		return;
	p.start = start;
	p.end = end;
	p.offset = offset;
	p.inode = inode;
	p.read = perms[0] == 'r';
	p.write = perms[1] == 'w';
	p.exec = perms[2] == 'x';
	p.shared = perms[3] == 's';
	p.path = strdup(line + at);
	if (p.path)
		*MS_PUSH(m) = p;
}

int attach_maps_read(struct attach_maps *m, int proc, struct ms_err *err)
{
	*m = (struct attach_maps){0};
	int fd = openat(proc, "maps", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		ms_err_sys(err, "cannot read its maps");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	char *line = NULL;
	size_t room = 0;
	for (ssize_t n; (n = getline(&line, &room, f)) > 0;) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		add(m, line);
	}
	free(line);
	fclose(f);
	return m->n ? 0 : ms_err_set(err, "cannot read its maps");
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
	uint64_t after;       /* what is nearer, or as near, was named before */
	uint64_t best, where; /* 0 = none */
};

static void consider(struct search *s, uint64_t at)
{
	uint64_t d = distance(at, s->bytes, s->low, s->high);
	if (d > REACH || d <= s->after || (s->best && d >= s->best))
		return;
	s->best = d;
	s->where = at;
}

/* A gap: both its ends are tried, not close to what may grow into it. */
static void look(struct search *s, const struct attach_map *before, const struct attach_map *after)
{
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
	if (!stack) {
		consider(s, high);
		if (high - from > MARGIN)
			consider(s, high - MARGIN);
	}
	if (!heap) {
		consider(s, from);
		if (high - from > MARGIN)
			consider(s, from + MARGIN);
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
