/* SPDX-License-Identifier: MIT
 * Finds the live blocks of a core dump: the used chunks of glibc's heap, which the walk of -p finds, with
 * sizes and stacks of the trace where that has the same address.
 */
#include "dump_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump_file.h"
#include "dump_join.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "ms-record/base/clock.h"
#include "ms-record/heap/heapwalk.h"

#define WALK_NS UINT64_C(600000000000)
#define BLOCKS_MOST ((size_t)1 << 30)

/* Gives the mapping in which the main heap ends, and those right below that belong to it, the name that
 * /proc/PID/maps has for them. */
static void name_heap(struct dump_file *d, uint64_t top)
{
	size_t i = MS_COUNT_UP_TO(d->maps.v, d->maps.n, end, top);
	for (; i < d->maps.n && d->maps.v[i].start <= top && !*d->maps.v[i].path; i--) {
		struct attach_map *m = &d->maps.v[i];
		free(m->path);
		m->path = ms_xstrdup("[heap]");
		if (!i || m[-1].end != m->start || !m[-1].write)
			return;
		top = m[-1].start;
	}
}

static struct dump_known *find(struct dump_known *v, size_t n, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(v, n, address, address);
	return i && v[i - 1].address == address ? &v[i - 1] : NULL;
}

/* Adds a block; `usable`: its size as the heap has it, UINT64_MAX = not known. */
static void add(struct dump_blocks *b, uint64_t address, uint64_t usable,
		const struct dump_known *known)
{
	uint64_t size = known && known->size <= usable ? known->size : usable;
	b->v[b->count++] =
		(struct graph_block){.address = address,
				     .size = size,
				     .stack = known ? known->stack : 0,
				     .number = known ? 1 + (uint64_t)(known - b->known) : 0};
	b->bytes += size;
}

int dump_find_blocks(struct dump_file *d, const struct dump_join *j, struct dump_blocks *b,
		     struct ms_err *err)
{
	struct dump_known *known = j ? j->v : NULL;
	size_t known_count = j ? j->n : 0;
	uint64_t *tps = ms_xcalloc(d->thread_count + 1, sizeof *tps);
	struct heapwalk walk;
	for (size_t i = 0; i < d->thread_count; i++)
		tps[i] = d->threads[i].regs.tp;
	struct heapwalk_from from = {.memory = dump_memory(d),
				     .proc = -1,
				     .maps = &d->maps,
				     .exe = d->exe,
				     .tps = tps,
				     .tp_count = d->thread_count,
				     .deadline_ns = clock_mono() + WALK_NS};
	heapwalk(&walk, &from);
	free(tps);
	*b = (struct dump_blocks){.known = known, .glibc = walk.state != MS_BEFORE_UNKNOWN};
	size_t most = b->glibc ? walk.used.n : known_count;
	int rc = 0;
	if (most > BLOCKS_MOST)
		rc = ms_err_set(err, "cannot read '%s': it has too many blocks", d->path);
	else if (!b->glibc && !known_count)
		rc = ms_err_set(err, "cannot read '%s': %s: %s", d->path, walk.why,
				d->missing ? "the file is cut"
					   : "only the blocks of glibc's malloc can be found "
					     "without a trace of the same run, and not where a "
					     "program has it linked in statically");
	b->v = ms_xcalloc(most + 1, sizeof *b->v);
	for (size_t i = 0; !rc && b->glibc && i < walk.used.n; i++) {
		const struct heapwalk_block *w = &walk.used.v[i];
		struct dump_known *k = known ? find(known, known_count, w->address) : NULL;
		add(b, w->address, w->bytes, k);
		b->joined += k != NULL;
	}
	for (size_t i = 0; !rc && !b->glibc && i < known_count; i++)
		add(b, known[i].address, UINT64_MAX, &known[i]);
	b->absent = b->glibc ? known_count - b->joined : 0;
	if (walk.state == MS_BEFORE_PART)
		snprintf(b->why, sizeof b->why, "%s", walk.why);
	if (b->glibc)
		name_heap(d, walk.top);
	heapwalk_free(&walk);
	return rc;
}
