/* SPDX-License-Identifier: MIT
 * Writes the state of a finished brief replay as the columns of a block of sums, and reads it back.
 *
 * A column is a table: the number of its rows, then for each group of rows the values of figure after
 * figure, as varints. The lists below name the figures in their order (ms-trace(5), Sums).
 */
#include "sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/member.h"
#include "format/varint.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/ready.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_mapped.h"
#include "recording_private.h"
#include "trace_tail.h"

/* Grows whenever a figure gets another meaning or is computed in another way, so that older sums are
 * passed over. */
#define VERSION 1
#define ZSTD_LEVEL 9
/* Rows of a group, few enough for the second-level cache. */
#define GROUP 1024u
/* Most rows of a table, which limits the memory for a hostile trace. */
#define ROWS_MAX (UINT32_C(1) << 22)

/* ---- figures ---- */

/* Lists how a value is stored: PLAIN and PLUS_ONE with this number added, so that UINT64_MAX
 * ("none") is 0; STEP as the difference to the previous row, zigzag. */
enum how { PLAIN = 0, PLUS_ONE = 1, STEP };

struct table {
	unsigned column;
	const struct ms_member *figures;
	size_t n, row_bytes;
};

#define FIGURE(type, member, how) MS_MEMBER(type, member, how, 0)
#define TABLE(name, column, type)                                                                  \
	static const struct table name##_table = {column, name, sizeof name / sizeof *name,        \
						  sizeof(type)}

#define F(member) FIGURE(struct ms_replay, member, PLAIN)
static const struct ms_member totals[] = {
	F(events),
	F(last_tick),
	F(from_tick),
	F(allocations),
	F(bytes),
	F(frees),
	F(reallocations),
	F(failed),
	F(temporary),
	F(freed_soon),
	F(live_bytes),
	F(live_blocks),
	F(peak_bytes),
	F(peak_blocks),
	F(peak_tick),
	F(inferred_frees),
	F(unknown_frees),
	F(inherited_frees),
	F(inherited_freed_bytes),
	F(before_frees),
	F(before_freed_bytes),
	F(span_ticks),
	FIGURE(struct ms_replay, judged, PLUS_ONE),
};
TABLE(totals, MS_SUMS_TOTALS, struct ms_replay);
#undef F

#define F(member, how) FIGURE(struct ms_replay_site, member, how)
static const struct ms_member sites[] = {
	F(node, STEP),
	F(cell_key, STEP),
	F(allocations, PLAIN),
	F(bytes, PLAIN),
	F(temporary, PLAIN),
	F(soon, PLAIN),
	F(live.bytes, PLAIN),
	F(live.blocks, PLAIN),
	F(live.at_peak_bytes, PLAIN),
	F(live.at_peak_blocks, PLAIN),
	F(max_live_bytes, PLAIN),
	F(max_live_blocks, PLAIN),
	F(min_size, PLUS_ONE),
	F(max_size, PLAIN),
	F(first_tick, STEP),
	F(last_tick, STEP),
};
TABLE(sites, MS_SUMS_SITES, struct ms_replay_site);
#undef F

static const struct ms_member oldest[] = {{0, sizeof(uint64_t), PLUS_ONE, 0}};
TABLE(oldest, MS_SUMS_OLDEST, uint64_t);

#define F(member) FIGURE(struct ms_replay_late, member, PLAIN)
static const struct ms_member late[] = {F(bytes), F(blocks)};
TABLE(late, MS_SUMS_LATE, struct ms_replay_late);
#undef F

#define F(member) FIGURE(struct ms_replay_thread, member, PLAIN)
static const struct ms_member threads[] = {F(seen), F(frees), F(first_tick)};
TABLE(threads, MS_SUMS_THREADS, struct ms_replay_thread);
#undef F

static const struct ms_member sizes[] = {FIGURE(struct ms_replay_size, allocations, PLAIN)};
TABLE(sizes, MS_SUMS_SIZES, struct ms_replay_size);

#define F(member) FIGURE(struct ms_replay_span, member, PLAIN)
static const struct ms_member spans[] = {F(live_min),    F(live_max), F(live_last), F(blocks_last),
					 F(allocations), F(frees),    F(bytes)};
TABLE(spans, MS_SUMS_SPANS, struct ms_replay_span);
#undef F

#define F(member) FIGURE(struct ms_grown, member, PLAIN)
static const struct ms_member grown[] = {
	F(site),       F(trend.kind),       F(trend.from),    F(trend.to),
	F(trend.rise), F(trend.slope),      F(trend.low),     F(trend.high),
	F(trend.p),    F(trend.confidence), F(trend.teardown)};
TABLE(grown, MS_SUMS_GROWN, struct ms_grown);
#undef F

#define F(member) FIGURE(struct ms_backing, member, PLAIN)
static const struct ms_member heaps[] = {F(node), F(bytes), F(blocks), F(most_bytes), F(taken)};
TABLE(heaps, MS_SUMS_HEAPS, struct ms_backing);
#undef F

/* ---- writing ---- */

/* Collects the columns of the block. */
struct sums {
	struct ms_column columns[MS_SUMS_HEAPS];
	size_t n;
};

static void put_column(struct sums *s, unsigned id, uint8_t *data, size_t size)
{
	s->columns[s->n++] = (struct ms_column){id, ms_xrealloc(data, size, 1), size};
}

/* Writes the values of a figure in `n` rows. `first`: there is no row before them. */
static uint8_t *put_values(uint8_t *to, const struct table *t, const struct ms_member *f,
			   const uint8_t *row, size_t n, bool first)
{
	uint64_t last = first ? 0 : ms_member_get(row - t->row_bytes, f);
	for (size_t k = 0; k < n; k++, row += t->row_bytes) {
		uint64_t v = ms_member_get(row, f);
		to = ms_varint_put(to, f->how == STEP ? ms_zigzag(v - last) : v + f->how);
		last = v;
	}
	return to;
}

static void put_table(struct sums *s, const struct table *t, const void *rows, size_t n)
{
	uint8_t *data = ms_xrealloc(NULL, n * t->n + 1, MS_VARINT_MAX), *to = data;
	to = ms_varint_put(to, n);
	for (size_t from = 0; from < n; from += GROUP)
		for (size_t i = 0; i < t->n; i++)
			to = put_values(to, t, &t->figures[i],
					(const uint8_t *)rows + from * t->row_bytes,
					n - from < GROUP ? n - from : GROUP, from == 0);
	put_column(s, t->column, data, (size_t)(to - data));
}

static uint32_t add_to_digest(uint32_t digest, uint32_t checksum)
{
	const uint8_t v[] = {(uint8_t)checksum, (uint8_t)(checksum >> 8), (uint8_t)(checksum >> 16),
			     (uint8_t)(checksum >> 24)};
	return ms_crc32c(digest, v, sizeof v);
}

void ms_sums_note(struct ms_recording *t, const struct ms_block *b)
{
	const struct ms_column *c = ms_block_column(b, MS_RECORDS_COLUMN);
	if (b->type == MS_BLOCK_END) /* a copy may be compressed in another way */
		t->end_digest = c ? ms_crc32c(0, c->data, c->size) : 0;
	else if (b->type != MS_BLOCK_SYMBOLS)
		t->digest = add_to_digest(t->digest, b->checksum);
}

static uint32_t digest_of(const struct ms_recording *t)
{
	return add_to_digest(t->digest, t->end_digest);
}

/* Makes the columns from a finished brief replay, in which the levels at the peak become plain
 * figures. */
static void put_all(struct sums *s, struct ms_recording *t)
{
	struct ms_replay *r = &t->replay;
	for (size_t i = 0; i < r->site_count; i++) {
		struct ms_level *l = &r->sites[i].live;
		ms_replay_at_peak(r, l, &l->at_peak_bytes, &l->at_peak_blocks);
	}
	uint8_t *head = ms_xrealloc(NULL, 2, MS_VARINT_MAX);
	uint8_t *end = ms_varints_put(head, (const uint64_t[]){VERSION, digest_of(t)}, 2);
	put_column(s, MS_SUMS_HEAD, head, (size_t)(end - head));
	put_table(s, &totals_table, r, 1);
	put_table(s, &sites_table, r->sites, r->site_count);
	put_table(s, &oldest_table, r->oldest, r->site_count);
	put_table(s, &late_table, r->late, r->late ? r->site_count : 0);
	put_table(s, &threads_table, r->threads, r->thread_count);
	put_table(s, &sizes_table, r->sizes, MS_SIZE_CLASSES);
	put_table(s, &spans_table, r->spans, r->span + 1);
	put_table(s, &grown_table, r->growth->grown, r->growth->grown_count);
	put_table(s, &heaps_table, r->backing.v, r->backing.n);
}

/* Tells whether a brief replay of the trace is all that its first screen needs. */
static bool is_plain(const struct ms_recording *t)
{
	return !t->replay.sampled && !t->replay.beside && !ms_has(&t->info, MS_INFO_CUT) &&
	       !ms_recording_is_polled(t);
}

/* Writes the blocks to the memory file `fd`: sums, then a copy of the end block. */
static int write_sums(struct ms_recording *t, const struct ms_trace_tail *tail, int fd,
		      struct ms_err *err)
{
	struct sums s = {0};
	struct ms_trace_writer *w = ms_trace_writer_append(fd, tail->next_block, ZSTD_LEVEL, err);
	int rc = w ? 0 : -1;
	put_all(&s, t);
	if (rc == 0)
		rc = ms_trace_write(w, MS_BLOCK_SUMS, tail->last_ns, tail->last_ns, s.columns, s.n,
				    err);
	if (rc == 0)
		rc = ms_trace_tail_write(tail, w, err);
	ms_trace_writer_free(w);
	for (size_t i = 0; i < s.n; i++)
		free((void *)s.columns[i].data);
	return rc;
}

/* Replays a trace briefly. Returns NULL with `err` set if that fails. */
static struct ms_recording *replay(const char *path, struct ms_err *err)
{
	struct ms_recording *t = ms_recording_open(path, err);
	uint64_t next;
	int rc = t ? 1 : -1;
	if (t) {
		ms_replay_brief(&t->replay);
		t->may_read_ahead = true;
	}
	while (rc > 0)
		rc = ms_recording_run(t, UINT64_MAX, &next, err);
	if (rc == 0)
		return t;
	ms_recording_close(t);
	return NULL;
}

int ms_sums_append(const char *path, uint64_t events, uint64_t event_ns, struct ms_err *err)
{
	const uint64_t types = MS_TYPE_BIT(MS_BLOCK_INFO) | MS_TYPE_BIT(MS_BLOCK_SUMS);
	struct ms_trace_tail tail = {0};
	int rc = -1, memory = -1;
	struct ms_recording *t = ms_trace_tail_read(&tail, path, types, "sums", err);
	bool wanted = t && is_plain(t) && !(tail.has >> MS_BLOCK_SUMS & 1) &&
		      t->end.number[MS_END_EVENTS] >= events &&
		      ms_recording_length(t) >= event_ns * t->end.number[MS_END_EVENTS];
	if (!wanted) {
		rc = t ? 0 : -1;
		goto out;
	}
	ms_recording_close(t);
	t = replay(path, err);
	if (!t)
		goto out;
	/* events may show that the trace has more than its options say */
	if (!is_plain(t) || !t->replay.brief || t->skipped || !ms_recording_complete(t)) {
		rc = 0;
		goto out;
	}
	memory = ms_trace_tail_memory(err);
	if (memory >= 0 && write_sums(t, &tail, memory, err) == 0)
		rc = ms_trace_tail_append(&tail, path, memory, err);
out:
	ms_close(memory);
	ms_recording_close(t);
	free(tail.end.v);
	return rc;
}

/* ---- reading ---- */

/* Returns the number of rows of a table; SIZE_MAX = they are too many, or not in the column. */
static size_t count_rows(const struct ms_block *b, const struct table *t)
{
	struct ms_cursor c = ms_cursor_of(b->columns, b->column_count, t->column);
	uint64_t n;
	bool good = ms_cursor_get(&c, &n) && n <= ROWS_MAX && n <= (size_t)(c.end - c.at) / t->n;
	return good ? (size_t)n : SIZE_MAX;
}

/* Reads the values that put_values wrote. Returns false if they are invalid. */
static bool get_values(struct ms_cursor *c, const struct table *t, const struct ms_member *f,
		       uint8_t *row, size_t n, bool first)
{
	uint64_t v, last = first ? 0 : ms_member_get(row - t->row_bytes, f);
	for (size_t k = 0; k < n; k++, row += t->row_bytes) {
		if (!ms_cursor_get(c, &v))
			return false;
		last = f->how == STEP ? last + ms_unzigzag(v) : v - f->how;
		ms_member_set(row, f, last);
	}
	return true;
}

/* Reads a table of `n` rows. Returns false if it has not as many, or its values are invalid. */
static bool get_table(const struct ms_block *b, const struct table *t, void *rows, size_t n)
{
	struct ms_cursor c = ms_cursor_of(b->columns, b->column_count, t->column);
	uint64_t v;
	if (n == SIZE_MAX || !ms_cursor_get(&c, &v) || v != n)
		return false;
	for (size_t from = 0; from < n; from += GROUP)
		for (size_t i = 0; i < t->n; i++)
			if (!get_values(&c, t, &t->figures[i],
					(uint8_t *)rows + from * t->row_bytes,
					n - from < GROUP ? n - from : GROUP, from == 0))
				return false;
	return c.at == c.end;
}

/* Returns the rows of a table in new memory, with their number in *n. If they cannot be read, clears
 * *good; the rows are then zero where they are missing. */
static void *get_rows(const struct ms_block *b, const struct table *t, size_t *n, bool *good)
{
	size_t count = count_rows(b, t);
	*n = count == SIZE_MAX ? 0 : count;
	void *rows = ms_xcalloc(*n, t->row_bytes);
	ready_huge(rows, *n * t->row_bytes);
	*good &= get_table(b, t, rows, count);
	return rows;
}

static bool finite_trend(const struct ms_trend *t)
{
	return t->kind <= MS_TREND_DOUBLING && isfinite(t->from) && isfinite(t->to) &&
	       isfinite(t->rise) && isfinite(t->slope) && isfinite(t->low) && isfinite(t->high) &&
	       isfinite(t->p) && isfinite(t->confidence) && isfinite(t->teardown);
}

/* Tells whether all numbers of nodes, threads and sites exist, and gives each node its site. */
static bool connect(struct ms_recording *t)
{
	struct ms_replay *r = &t->replay;
	bool good = r->span_ticks != 0;
	for (size_t i = 0; i < r->site_count && good; i++) {
		const struct ms_replay_site *s = &r->sites[i];
		uint32_t thread = ms_replay_thread_of(s);
		good = s->node < t->nodes.n && !r->site_of_node[s->node] &&
		       (thread == UINT32_MAX ||
			(thread < r->thread_count && r->threads[thread].seen));
		if (good)
			r->site_of_node[s->node] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < r->growth->grown_count && good; i++) {
		const struct ms_grown *g = &r->growth->grown[i];
		good = finite_trend(&g->trend) &&
		       (g->site == UINT32_MAX || g->site < r->site_count);
	}
	return good;
}

bool ms_sums_take(struct ms_recording *t, const struct ms_block *b)
{
	struct ms_replay *r = &t->replay;
	struct ms_growth *g = r->growth;
	struct ms_cursor c = ms_cursor_of(b->columns, b->column_count, MS_SUMS_HEAD);
	uint64_t head[2];
	size_t oldest_count, late_count, spans_count = count_rows(b, &spans_table);
	if (t->has_sums || !is_plain(t) || !ms_cursor_get_all(&c, head, 2) || head[0] != VERSION ||
	    spans_count - 1 >= MS_TIMELINE_SPANS)
		return false;
	t->has_sums = true;
	t->sums_digest = (uint32_t)head[1];
	ms_replay_brief(r);
	r->span = spans_count - 1;
	bool good = get_table(b, &totals_table, r, 1) &&
		    get_table(b, &sizes_table, r->sizes, MS_SIZE_CLASSES) &&
		    get_table(b, &spans_table, r->spans, spans_count);
	r->sites = get_rows(b, &sites_table, &r->site_count, &good);
	r->threads = get_rows(b, &threads_table, &r->thread_count, &good);
	g->grown = get_rows(b, &grown_table, &g->grown_count, &good);
	r->backing.v = get_rows(b, &heaps_table, &r->backing.n, &good);
	r->oldest = get_rows(b, &oldest_table, &oldest_count, &good);
	r->late = get_rows(b, &late_table, &late_count, &good);
	r->site_cap = r->site_count;
	g->grown_cap = g->grown_count;
	r->backing.cap = r->backing.n;
	if (!late_count) {
		free(r->late);
		r->late = NULL;
	}
	return good && oldest_count == r->site_count &&
	       (!late_count || late_count == r->site_count) && connect(t);
}

bool ms_sums_fit(const struct ms_recording *t)
{
	return t->has_sums && t->sums_digest == digest_of(t);
}
