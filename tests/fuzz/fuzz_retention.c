/* SPDX-License-Identifier: MIT
 * Fuzzes the records of what keeps live blocks reachable: what is read of them reads the same when
 * written again, as the retention block of a small trace they refer only to what is there, and give
 * a snapshot in which nothing is made up. The last is slow, and done for some inputs only.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../unit/made_trace.h"
#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording.h"
#include "libcommon/snapshot/snapshot.h"
#include "format/retention.h"
#include "format/verdict.h"

#define SCANS 3
#define SNAPSHOT 16u /* one input of so many */

/* ---- one record ---- */

static bool put(struct ms_record_writer *w, const struct ms_retention_record *v)
{
	return v->kind == MS_RETENTION_IS_HEAD   ? ms_retention_put_head(w, &v->head)
	       : v->kind == MS_RETENTION_IS_ROOT ? ms_retention_put_root(w, &v->root)
	       : v->kind == MS_RETENTION_IS_SET  ? ms_retention_put_set(w, &v->set)
						 : ms_retention_put_row(w, &v->row);
}

static bool within(const char *text, size_t size, const uint8_t *data, size_t n)
{
	const uint8_t *at = (const uint8_t *)text;
	return !size || (at >= data && at + size <= data + n);
}

/* Writes the record, reads it and writes it again: both are the same bytes. */
static void write_again(const struct ms_retention_record *v)
{
	static uint8_t first[MS_RETENTION_RECORD_BYTES + 65536], second[sizeof first];
	struct ms_retention_lists lists;
	struct ms_retention_record back;
	struct ms_record_writer a, b;
	struct ms_record_reader r;
	struct ms_record rec;
	ms_record_writer_init(&a, first, sizeof first);
	ms_record_writer_init(&b, second, sizeof second);
	if (!put(&a, v))
		abort();
	ms_record_reader_init(&r, first, a.size);
	if (ms_record_next(&r, &rec) != MS_FMT_OK || !ms_retention_get(rec, &back, &lists) ||
	    back.kind != v->kind || !put(&b, &back) || a.size != b.size ||
	    memcmp(first, second, a.size) != 0)
		abort();
}

static void each(const uint8_t *data, size_t n)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_retention_lists lists;
	struct ms_retention_record v;
	ms_record_reader_init(&r, data, n);
	while (ms_record_next(&r, &rec) == MS_FMT_OK) {
		if (!ms_retention_get(rec, &v, &lists))
			continue;
		if (v.kind == MS_RETENTION_IS_ROOT &&
		    (!within(v.root.name, v.root.name_size, data, n) ||
		     !within(v.root.type, v.root.type_size, data, n)))
			abort();
		if (v.kind == MS_RETENTION_IS_ROW && !within(v.row.type, v.row.type_size, data, n))
			abort();
		if (n <= 32768)
			write_again(&v);
	}
}

/* ---- a trace ---- */

static void put_verdicts(struct made *m)
{
	ms_record_writer_init(&m->records, m->record_memory, sizeof m->record_memory);
	for (unsigned i = 1; i <= SCANS; i++)
		ms_verdict_put_scan(&m->records, &(struct ms_verdict_scan){.scan = i,
									   .state = MS_SCAN_DONE,
									   .label = "request",
									   .label_size = 7});
	struct ms_column c = ms_record_column(&m->records);
	made_block(m, MS_BLOCK_VERDICTS, &c, 1);
}

static void put_trace(const char *path, const uint8_t *data, size_t n)
{
	static const struct ms_frame frames[] = {{0x1000, 0, 0}, {0x2000, 0, 0}, {0x3000, 0, 0}};
	static const struct ms_node nodes[] = {{0, 1}, {1, 2}, {1, 3}, {3, 2}};
	struct ms_event ev[6];
	struct made m;
	made_open(&m, path);
	made_info(&m, 77, 0);
	made_stacks(&m, frames, 3, nodes, 4);
	for (unsigned i = 0; i < 6; i++)
		ev[i] = (struct ms_event){
			.kind = MS_EV_ALLOC, .stack = 2 + i % 3, .size = 10, .time_ticks = i};
	made_events(&m, ev, 6);
	put_verdicts(&m);
	made_block(&m, MS_BLOCK_RETENTION, &(struct ms_column){MS_RECORDS_COLUMN, data, n}, 1);
	made_end(&m, 2000000, NULL);
	made_close(&m);
}

/* Rows, roots and sets have numbers without gaps; rows refer to what is there. */
static void check_scan(const struct ms_retentions *r, const struct ms_retention_scan *s)
{
	for (size_t i = 0; i < s->root_count; i++)
		if (r->roots.v[s->first_root + i].root != i + 1)
			abort();
	for (size_t i = 0; i < s->set_count; i++) {
		const struct ms_retention_set *set = &r->sets.v[s->first_set + i];
		for (size_t k = 0; k < set->root_count; k++)
			if (!set->roots[k] || set->roots[k] > s->root_count)
				abort();
		if (set->set != i + 1)
			abort();
	}
	for (size_t i = 0; i < s->row_count; i++) {
		const struct ms_retention_row *row = &r->rows.v[s->first_row + i];
		if (row->row != i + 1 || row->parent > i || row->root > s->root_count ||
		    row->set > s->set_count || row->path_root > s->root_count)
			abort();
	}
}

static void replay(const char *path)
{
	struct ms_err err = {0};
	uint64_t next;
	struct ms_recording *t = ms_recording_open(path, &err);
	if (!t || ms_recording_run(t, UINT64_MAX, &next, &err) != 0 || t->replay.live_blocks != 6)
		abort();
	const struct ms_retentions *r = &t->retention;
	for (size_t i = 0; i < r->scans.n; i++) {
		if (i && r->scans.v[i].head.scan <= r->scans.v[i - 1].head.scan)
			abort();
		check_scan(r, &r->scans.v[i]);
	}
	ms_recording_close(t);
}

static void snapshot(const char *path)
{
	static const char *const broken[] = {
		"SELECT unfreed_blocks != 6 OR unfreed_bytes != 60 FROM process",
		"SELECT count(*) FROM retention WHERE scan NOT IN (SELECT scan FROM scan)",
		"SELECT count(*) FROM (SELECT scan FROM keeper UNION ALL SELECT scan FROM "
		"keeper_set "
		"UNION ALL SELECT scan FROM kept) WHERE scan NOT IN (SELECT scan FROM retention "
		"WHERE "
		"state = 'done')",
		"SELECT count(*) FROM kept k WHERE parent >= id OR (parent IS NOT NULL AND NOT "
		"EXISTS "
		"(SELECT 1 FROM kept p WHERE p.scan = k.scan AND p.id = k.parent))",
		"SELECT count(*) FROM kept k WHERE (keeper IS NOT NULL AND NOT EXISTS (SELECT 1 "
		"FROM "
		"keeper p WHERE p.scan = k.scan AND p.id = k.keeper)) OR (site IS NOT NULL AND "
		"site "
		"NOT IN (SELECT id FROM site)) OR (path IS NOT NULL AND NOT json_valid(path))",
		"SELECT count(*) FROM keeper_set s WHERE keeper IS NOT NULL AND NOT EXISTS (SELECT "
		"1 "
		"FROM keeper p WHERE p.scan = s.scan AND p.id = s.keeper)",
		"SELECT count(*) FROM keeper k WHERE observes IS NOT NULL AND NOT EXISTS (SELECT 1 "
		"FROM keeper p WHERE p.scan = k.scan AND p.id = k.observes)",
		"SELECT count(*) FROM retention r WHERE kept_bytes < coalesce((SELECT "
		"sum(retained_bytes) FROM kept k WHERE k.scan = r.scan AND parent IS NULL), 0) OR "
		"kept_bytes < coalesce((SELECT sum(bytes) FROM kept k WHERE k.scan = r.scan), 0)",
		"SELECT count(*) FROM retention r WHERE kept_bytes < coalesce((SELECT sum(bytes) "
		"FROM "
		"kept_by b WHERE b.scan = r.scan), 0)",
	};
	struct ms_build_options opt = {.no_symbols = true};
	struct ms_build_result res;
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_build(&path, 1, &opt, &res, &err);
	if (!db)
		abort();
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		if (ms_sql_int(db, broken[i], 1) != 0) {
			fprintf(stderr, "broken: %s\n", broken[i]);
			abort();
		}
	sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[64];
	each(data, n);
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		exit(2);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	put_trace(path, data, n);
	replay(path);
	if ((n ? data[n - 1] : 0) % SNAPSHOT == 0)
		snapshot(path);
	close(fd);
	return 0;
}
