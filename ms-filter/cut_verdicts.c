/* SPDX-License-Identifier: MIT
 * Writes the results of memory scans for the blocks that a cut keeps.
 *
 * The trace has verdicts as sums over all blocks of a call stack. If all of those blocks are kept,
 * or all have one verdict, the verdicts of the kept blocks are known. Otherwise it is not known
 * which block has which verdict: the kept blocks are written as unknown, so that no sum is too
 * large. The retaining stack of indirect blocks is written even if its blocks are not kept.
 */
#include "cut_verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "cut_write.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/trace/recording.h"

static void set_next(struct cut_verdicts *v)
{
	while (v->at < v->facts->verdicts.n && !v->facts->verdicts.v[v->at].is_scan)
		v->at++;
	v->next =
		v->at < v->facts->verdicts.n ? v->facts->verdicts.v[v->at].scan.event : UINT64_MAX;
}

void cut_verdicts_begin(struct cut_verdicts *v, const struct ms_recording *facts, uint64_t from)
{
	*v = (struct cut_verdicts){.facts = facts};
	for (set_next(v); v->next < from; set_next(v))
		v->at++;
}

/* ---- verdicts on the kept blocks ---- */

struct kept {
	uint64_t blocks, bytes;
};

/* Counts the kept live blocks by stack, for stacks up to number `stacks`. */
static struct kept *count_kept(const struct cut_live *live, uint64_t stacks)
{
	struct kept *v = ms_xcalloc(stacks + 1, sizeof *v);
	for (size_t i = 0; i < live->slots; i++) {
		const struct ms_checkpoint_block *b = &live->v[i].b;
		if (b->number == UINT64_MAX || b->stack > stacks)
			continue;
		v[b->stack].blocks++;
		v[b->stack].bytes += b->size;
	}
	return v;
}

/* Keeps the root of a stack's indirect blocks (the stack whose blocks point to them) if there is
 * only one root. With several roots it is not known which one retains the kept blocks. */
static void split_roots(struct ms_verdict_site *s, const struct kept *k, bool indirect,
			struct ms_verdict_root *room)
{
	s->root_count = indirect && s->root_count == 1;
	if (!s->root_count)
		return;
	*room = (struct ms_verdict_root){s->roots->stack, k->blocks, k->bytes};
	s->roots = room;
}

static void split(struct ms_verdict_site *s, const struct kept *k, struct ms_verdict_root *room)
{
	uint64_t blocks = 0, bytes = 0;
	unsigned only = MS_VERDICTS, kinds = 0;
	for (unsigned i = 0; i < MS_VERDICTS; i++) {
		blocks += s->blocks[i];
		bytes += s->bytes[i];
		kinds += s->blocks[i] != 0;
		only = s->blocks[i] ? i : only;
	}
	if (k->blocks == blocks && k->bytes == bytes)
		return;
	if (kinds != 1 || k->blocks > blocks)
		only = MS_VERDICT_IS_UNKNOWN;
	memset(s->blocks, 0, sizeof s->blocks);
	memset(s->bytes, 0, sizeof s->bytes);
	s->blocks[only] = k->blocks;
	s->bytes[only] = k->bytes;
	bool direct = only == MS_VERDICT_IS_DIRECT; /* direct blocks count as retained by
						       themselves */
	s->retained_blocks = direct ? k->blocks : 0;
	s->retained_bytes = direct ? k->bytes : 0;
	split_roots(s, k, only == MS_VERDICT_IS_INDIRECT, room);
}

/* ---- a scan ---- */

static bool put_sites(struct ms_record_writer *w, const struct ms_verdict_record *v, size_t n,
		      const struct cut_live *live)
{
	bool room = true;
	if (!n)
		return true;
	/* records are sorted by stack; in a damaged trace the last number may be too large */
	uint64_t last = v[n - 1].site.stack;
	struct kept *kept = count_kept(live, last < UINT32_MAX >> 6 ? last : 0);
	for (size_t i = 0; i < n && room; i++) {
		struct ms_verdict_site s = v[i].site;
		if (last >= UINT32_MAX >> 6 || !kept[s.stack].blocks)
			continue;
		struct ms_verdict_root root;
		split(&s, &kept[s.stack], &root);
		room = ms_verdict_put_site(w, &s);
	}
	free(kept);
	return room;
}

static int write_scan(struct cut_verdicts *v, struct cut_writer *w, const struct cut_live *live)
{
	const struct ms_verdict_record *all = v->facts->verdicts.v + v->at;
	struct ms_verdict_scan head = all->scan;
	size_t n = 0;
	size_t size = MS_VERDICT_RECORD_BYTES + head.label_size;
	for (; v->at + 1 + n < v->facts->verdicts.n && !all[1 + n].is_scan; n++)
		size += MS_VERDICT_RECORD_BYTES +
			all[1 + n].site.root_count * MS_VERDICT_ROOT_BYTES_MAX;
	head.event = w->event;
	head.number = w->number;
	void *memory = ms_xrealloc(NULL, size, 1);
	struct ms_record_writer out;
	ms_record_writer_init(&out, memory, size);
	int rc = cut_flush(w);
	if (rc == 0 && (!ms_verdict_put_scan(&out, &head) || !put_sites(&out, all + 1, n, live)))
		rc = cut_damaged(w, "a record is too long");
	struct ms_column column = ms_record_column(&out);
	if (rc == 0)
		rc = ms_trace_write(w->w, MS_BLOCK_VERDICTS, head.time_ns, head.time_ns, &column, 1,
				    w->err);
	free(memory);
	return rc;
}

int cut_verdicts_write(struct cut_verdicts *v, struct cut_writer *w, uint64_t position,
		       const struct cut_live *live)
{
	int rc = 0;
	while (rc == 0 && v->next <= position) {
		rc = write_scan(v, w, live);
		v->at++;
		set_next(v);
	}
	return rc;
}
