/* SPDX-License-Identifier: MIT
 * Reads the map of code made at run time that the program left for perf(1).
 */
#include "symbols_perf.h"
#include "libcommon/base/order.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"

/* Lines kept; of more the latest are lost. */
enum { ENTRIES_MAX = 1 << 22, LINE_MAX_BYTES = 1 << 16 };

struct entry {
	uint64_t start, end;
	uint32_t order;
	const char *name;
};

struct ms_perf_map {
	struct ms_arena arena;
	const char *path;
	MS_ARRAY(struct entry) entries; /* by start, then order */
	uint64_t longest;
};

static void take_line(struct ms_perf_map *m, char *line)
{
	int at = 0;
	struct entry e = {.order = (uint32_t)m->entries.n};
	uint64_t size;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &e.start, &size, &at) < 2 || !at ||
	    !line[at] || !size || size > UINT64_MAX - e.start || m->entries.n >= ENTRIES_MAX)
		return;
	e.end = e.start + size;
	e.name = ms_arena_strdup(&m->arena, line + at);
	m->longest = size > m->longest ? size : m->longest;
	*MS_PUSH(&m->entries) = e;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return MS_ORDER(x->start, y->start) ?: MS_ORDER(x->order, y->order);
}

static void read_lines(struct ms_perf_map *m, FILE *f)
{
	static const size_t room = LINE_MAX_BYTES;
	char *line = ms_xrealloc(NULL, room, 1);
	while (fgets(line, (int)room, f))
		take_line(m, line);
	free(line);
	if (m->entries.n)
		qsort(m->entries.v, m->entries.n, sizeof *m->entries.v, by_start);
}

static bool written_then(const struct stat *st, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = ms_ns_of(st->st_mtim);
	return S_ISREG(st->st_mode) && ns >= from_ns && ns <= to_ns;
}

struct ms_perf_map *ms_perf_map_open(const char *prefix, uint64_t pid, uint64_t from_ns,
				     uint64_t to_ns)
{
	struct ms_arena arena = {0};
	struct stat st;
	const char *path = ms_arena_printf(&arena, "%s/tmp/perf-%" PRIu64 ".map", prefix, pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct ms_perf_map *m = NULL;
	if (f && fstat(fd, &st) == 0 && written_then(&st, from_ns, to_ns)) {
		m = ms_xcalloc(1, sizeof *m);
		m->arena = arena;
		m->path = path;
		read_lines(m, f);
	} else {
		ms_arena_free(&arena);
	}
	if (f)
		fclose(f);
	return m;
}

void ms_perf_map_free(struct ms_perf_map *m)
{
	if (!m)
		return;
	ms_arena_free(&m->arena);
	free(m->entries.v);
	free(m);
}

const char *ms_perf_map_find(const struct ms_perf_map *m, uint64_t address)
{
	size_t low = MS_COUNT_UP_TO(m->entries.v, m->entries.n, start, address);
	const struct entry *best = NULL;
	enum { LOOK_BACK = 1024 };
	for (size_t i = low; i-- > 0 && low - i < LOOK_BACK;) {
		const struct entry *e = &m->entries.v[i];
		if (address - e->start >= m->longest)
			break;
		if (address < e->end && (!best || e->order > best->order))
			best = e;
	}
	return best ? best->name : NULL;
}

const char *ms_perf_map_path(const struct ms_perf_map *m)
{
	return m->path;
}
