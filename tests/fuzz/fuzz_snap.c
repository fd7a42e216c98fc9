/* SPDX-License-Identifier: MIT
 * Fuzzes replay and the building of snapshots: blocks with good checksums and any content. The
 * books must balance whatever they say.
 *
 * Input: { block type, length low, length high, columns as in fuzz.h } repeated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "kept.h"
#include "mutate.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/trace/tracefile.h"
#include "format/trace.h"

static void write_trace(int fd, const uint8_t *data, size_t n)
{
	struct ms_err err = {0};
	struct ms_trace_head head = {.major = MS_TRACE_MAJOR,
				     .machine = 62,
				     .address_bytes = 8,
				     .tick_ns = MS_TRACE_TICK_NS};
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 1, &err);
	for (size_t at = 0; w && at + 3 <= n;) {
		struct ms_column columns[16];
		size_t size = data[at + 1] | (size_t)data[at + 2] << 8;
		if (size > n - at - 3)
			size = n - at - 3;
		size_t count = columns_of(data + at + 3, size, columns, 16);
		ms_trace_write(w, data[at] % 16, 0, at * 1000, columns, count, &err);
		at += 3 + size;
	}
	ms_trace_writer_free(w);
}

static void check(sqlite3 *db)
{
	static const char *const rules[] = {
		"SELECT allocations != frees + inferred_frees + unfreed_blocks FROM process WHERE "
		"whole = 1",
		"SELECT peak_bytes < unfreed_bytes FROM process",
		"SELECT p.unfreed_blocks != (SELECT ifnull(sum(live_blocks), 0) FROM live WHERE "
		"label = 'end') FROM process p",
		"SELECT p.peak_blocks != (SELECT ifnull(sum(live_blocks), 0) FROM live WHERE label "
		"= 'peak') FROM process p",
		"SELECT p.allocations != (SELECT ifnull(sum(allocations), 0) FROM site) FROM "
		"process p",
		"SELECT p.frees != (SELECT ifnull(sum(frees), 0) FROM thread) FROM process p",
		"SELECT count(*) FROM stack WHERE parent >= id",
		"SELECT count(*) FROM site WHERE stack IS NOT NULL AND stack NOT IN (SELECT id "
		"FROM stack)",
		"SELECT count(*) FROM stack WHERE frame NOT IN (SELECT id FROM frame)",
		"SELECT count(*) > 512 FROM timeline",
	};
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (ms_sql_int(db, rules[i], 0) != 0) {
			fprintf(stderr, "broken: %s\n", rules[i]);
			abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char name[64];
	int fd = memfd_create("trace", 0);
	if (fd < 0)
		exit(2);
	write_trace(fd, data, n);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	static const char *const points[] = {"peak", "end", "1ms", "start"};
	struct ms_build_options opt = {
		.no_symbols = true, .points = points, .point_count = n % 2 ? 4 : 2};
	struct ms_build_result res;
	struct ms_err err = {0};
	const char *path = name;
	sqlite3 *db = ms_snapshot_build(&path, 1, &opt, &res, &err);
	if (!db && !err.text[0])
		abort();
	if (db)
		check(db);
	sqlite3_close(db);
	close(fd);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return fuzz_random(&seed, 8) ? fuzz_parts(data, size, max, &seed, 2)
				     : LLVMFuzzerMutate(data, size, max);
}
