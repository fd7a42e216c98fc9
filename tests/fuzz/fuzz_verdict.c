/* SPDX-License-Identifier: MIT
 * Fuzzes the records of a leak scan: what is read of them reads the same when written again, as the
 * verdicts block of a small trace they come in order, and give a snapshot in which nothing is made
 * up. The last is slow, and done for some inputs only.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../unit/made_trace.h"
#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording.h"
#include "libcommon/snapshot/snapshot.h"
#include "format/verdict.h"

#define LIVE 6       /* blocks, two of each stack */
#define SNAPSHOT 16u /* one input of so many */

/* ---- one record ---- */

static bool same(const struct ms_verdict_record *a, const struct ms_verdict_record *b)
{
	if (!a->is_scan)
		return !b->is_scan && memcmp(&a->site, &b->site, sizeof a->site) == 0;
	const struct ms_verdict_scan *x = &a->scan, *y = &b->scan;
	return b->is_scan && x->scan == y->scan && x->time_ns == y->time_ns &&
	       x->event == y->event && x->state == y->state && x->pause_ns == y->pause_ns &&
	       x->took_ns == y->took_ns && x->read_bytes == y->read_bytes && x->wide == y->wide &&
	       x->number == y->number && x->ignored == y->ignored && x->roots == y->roots &&
	       x->roots_refused == y->roots_refused && x->label_size == y->label_size &&
	       memcmp(x->label, y->label, x->label_size) == 0;
}

/* Bytes without blocks are not written. */
static void clean(struct ms_verdict_site *s)
{
	for (unsigned v = 0; v < MS_VERDICTS; v++)
		s->bytes[v] = s->blocks[v] ? s->bytes[v] : 0;
	s->retained_bytes = s->retained_blocks ? s->retained_bytes : 0;
}

static void write_again(struct ms_verdict_record *v)
{
	static uint8_t room[MS_VERDICT_RECORD_BYTES + 65536];
	struct ms_record_writer w;
	struct ms_record_reader r;
	struct ms_verdict_record back;
	struct ms_record rec;
	if (v->is_scan && v->scan.label_size > 65536)
		return;
	if (!v->is_scan)
		clean(&v->site);
	ms_record_writer_init(&w, room, sizeof room);
	if (!(v->is_scan ? ms_verdict_put_scan(&w, &v->scan) : ms_verdict_put_site(&w, &v->site)))
		abort();
	ms_record_reader_init(&r, room, w.size);
	if (ms_record_next(&r, &rec) != MS_FMT_OK || !ms_verdict_get(rec, &back) || !same(v, &back))
		abort();
}

/* In order, with blocks. */
static void check_roots(struct ms_record rec)
{
	struct ms_verdict_root root = {0}, last;
	for (last = root; ms_verdict_next_root(&rec, &root); last = root)
		if (!root.blocks || (last.blocks && root.stack <= last.stack))
			abort();
}

static void each(const uint8_t *data, size_t n)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_verdict_record v;
	ms_record_reader_init(&r, data, n);
	while (ms_record_next(&r, &rec) == MS_FMT_OK) {
		check_roots(rec);
		if (!ms_verdict_get(rec, &v))
			continue;
		const uint8_t *label = (const uint8_t *)v.scan.label;
		if (v.is_scan && (label < data || label + v.scan.label_size > data + n))
			abort();
		write_again(&v);
	}
}

/* ---- a trace ---- */

static void put_trace(const char *path, const uint8_t *data, size_t n)
{
	static const struct ms_frame frames[] = {{0x1000, 0, 0}, {0x2000, 0, 0}, {0x3000, 0, 0}};
	static const struct ms_node nodes[] = {{0, 1}, {1, 2}, {1, 3}, {3, 2}};
	struct ms_event ev[LIVE + 2];
	struct made m;
	made_open(&m, path);
	made_info(&m, 77, 0);
	made_stacks(&m, frames, 3, nodes, 4);
	for (unsigned i = 0; i < LIVE; i++)
		ev[i] = (struct ms_event){.kind = MS_EV_ALLOC,
					  .stack = 2 + i % 3,
					  .size = 10 * (i + 1),
					  .time_ticks = i};
	ev[LIVE] = (struct ms_event){.kind = MS_EV_FREE, .freed = 2, .time_ticks = LIVE};
	ev[LIVE + 1] = (struct ms_event){.kind = MS_EV_FREE, .freed = 5, .time_ticks = LIVE};
	made_events(&m, ev, LIVE + 2);
	made_block(&m, MS_BLOCK_VERDICTS, &(struct ms_column){MS_RECORDS_COLUMN, data, n}, 1);
	made_end(&m, 2000000, NULL);
	made_close(&m);
}

/* Checks that scans are in order of number, and each has its head, then its sites by stack. */
static void check_order(const struct ms_recording *t)
{
	const struct ms_verdict_record *head = NULL, *last = NULL;
	for (size_t i = 0; i < t->verdicts.n; i++, last = &t->verdicts.v[i - 1]) {
		const struct ms_verdict_record *v = &t->verdicts.v[i];
		if (v->is_scan && head && v->scan.scan <= head->scan.scan)
			abort();
		if (!v->is_scan && (!head || v->site.scan != head->scan.scan ||
				    (!last->is_scan && v->site.stack <= last->site.stack)))
			abort();
		head = v->is_scan ? v : head;
	}
}

static void replay(const char *path)
{
	struct ms_err err = {0};
	uint64_t next;
	struct ms_recording *t = ms_recording_open(path, &err);
	if (!t || ms_recording_run(t, UINT64_MAX, &next, &err) != 0)
		abort();
	if (t->replay.live_blocks != LIVE - 2)
		abort();
	check_order(t);
	ms_recording_close(t);
}

static void check(sqlite3 *db)
{
	static const char *const broken[] = {
		"SELECT unfreed_blocks != 4 OR allocations != 6 OR unfreed_bytes != 120 FROM "
		"process",
		"SELECT count(*) FROM site_verdict WHERE site NOT IN (SELECT id FROM site)",
		"SELECT count(*) FROM site_verdict WHERE scan NOT IN (SELECT scan FROM scan)",
		"SELECT count(*) FROM site_verdict WHERE blocks = 0",
		"SELECT count(*) FROM lost_with l WHERE blocks = 0 OR root NOT IN (SELECT id FROM "
		"site) OR site NOT IN (SELECT id FROM site)",
		"SELECT count(*) FROM (SELECT site, scan, sum(blocks) AS n FROM lost_with GROUP BY "
		"site, scan) l WHERE n > (SELECT blocks FROM site_verdict v WHERE v.site = l.site "
		"AND "
		"v.scan = l.scan AND v.verdict = 'indirect')",
		"SELECT count(*) FROM scan WHERE late_blocks > 4",
		"SELECT count(*) FROM site_verdict WHERE verdict != 'unreachable' AND "
		"(retained_blocks IS NOT NULL OR retained_bytes IS NOT NULL)",
		"SELECT count(*) FROM scan WHERE (unreachable_blocks IS NULL) != (state IS NOT "
		"'done')",
		"SELECT count(*) FROM process WHERE unreachable_blocks IS NOT NULL AND NOT EXISTS "
		"(SELECT 1 FROM scan WHERE label = 'end' AND state = 'done')",
		"SELECT count(*) FROM site WHERE verdict IS NOT NULL AND verdict != 'growing' AND "
		"NOT EXISTS (SELECT 1 FROM site_verdict v WHERE v.site = site.id AND v.verdict = "
		"site.verdict)",
		"SELECT count(*) FROM site s WHERE s.verdict IS NOT NULL AND NOT EXISTS (SELECT 1 "
		"FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE c.site = s.id AND "
		"t.label = 'end' AND c.live_blocks > 0)",
	};
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		if (ms_sql_int(db, broken[i], 1) != 0) {
			fprintf(stderr, "broken: %s\n", broken[i]);
			abort();
		}
}

static void snapshot(const char *path)
{
	struct ms_build_options opt = {.no_symbols = true};
	struct ms_build_result res;
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_build(&path, 1, &opt, &res, &err);
	if (!db)
		abort();
	check(db);
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
