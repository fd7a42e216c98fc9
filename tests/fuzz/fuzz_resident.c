/* SPDX-License-Identifier: MIT
 * Fuzzes the records of what was resident: as the resident block of a small trace they come in
 * order, and give a snapshot in which nothing is made up. The last is slow, and done for some inputs
 * only.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/made_trace.h"
#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording.h"
#include "libcommon/snapshot/snapshot.h"

#define SNAPSHOT 16u /* one input of so many */

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
	made_block(&m, MS_BLOCK_RESIDENT, &(struct ms_column){MS_RECORDS_COLUMN, data, n}, 1);
	made_end(&m, 2000000, NULL);
	made_close(&m);
}

/* Moments by number; of each its sites by stack, then its files. */
static void check_order(const struct ms_recording *t)
{
	const struct ms_row *last = NULL;
	for (size_t i = 1; i < t->moments.n; i++)
		if (t->moments.v[i].number[MS_RESIDENT_MOMENT] <=
		    t->moments.v[i - 1].number[MS_RESIDENT_MOMENT])
			abort();
	for (size_t i = 0; i < t->resident.n; last = &t->resident.v[i++]) {
		const struct ms_row *r = &t->resident.v[i];
		bool same =
			last && last->number[MS_RESIDENT_MOMENT] == r->number[MS_RESIDENT_MOMENT];
		if (ms_has(r, MS_RESIDENT_FILE) == ms_has(r, MS_RESIDENT_STACK))
			abort();
		if (same && ms_has(r, MS_RESIDENT_STACK) &&
		    (ms_has(last, MS_RESIDENT_FILE) ||
		     r->number[MS_RESIDENT_STACK] <= last->number[MS_RESIDENT_STACK]))
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
	check_order(t);
	ms_recording_close(t);
}

static void snapshot(const char *path)
{
	static const char *const broken[] = {
		"SELECT unfreed_blocks != 6 OR unfreed_bytes != 60 FROM process",
		"SELECT count(*) FROM resident_site WHERE site NOT IN (SELECT id FROM site)",
		"SELECT count(*) FROM resident_site WHERE moment NOT IN (SELECT moment FROM "
		"resident)",
		"SELECT count(*) FROM resident_file WHERE moment NOT IN (SELECT moment FROM "
		"resident)",
		"SELECT count(*) FROM resident WHERE rss_bytes < 0 OR moment < 1",
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
