/* SPDX-License-Identifier: MIT
 * Fuzzes the tables of a block of sums whose digest fits: whatever they say, they are refused or give
 * a first screen, of sites, threads and stacks that exist.
 *
 * The input is the tables in order of their columns, each after its length in two bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/made_trace.h"
#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/model/model.h"
#include "libcommon/model/rows.h"
#include "libcommon/trace/recording.h"
#include "libcommon/trace/sums.h"
#include "libcommon/snapshot/snapshot.h"
#include "format/varint.h"

static void put_trace(struct made *m, const char *path)
{
	static const struct ms_frame frames[] = {{0x1000, 0, 0}, {0x2000, 0, 0}, {0x3000, 0, 0}};
	static const struct ms_node nodes[] = {{0, 1}, {1, 2}, {1, 3}, {3, 2}};
	struct ms_event ev[6];
	made_open(m, path);
	made_info(m, 77, 0);
	made_stacks(m, frames, 3, nodes, 4);
	for (unsigned i = 0; i < 6; i++)
		ev[i] = (struct ms_event){.kind = i == 4 ? MS_EV_FREE : MS_EV_ALLOC,
					  .stack = 2 + i % 3,
					  .thread = i / 3,
					  .size = 10 << i,
					  .freed = i == 4,
					  .time_ticks = i};
	made_events(m, ev, 6);
	made_end(m, 2000000, NULL);
}

/* Returns the digest of the trace, which is the same each time. */
static uint32_t digest_of(const char *path)
{
	struct ms_err err = {0};
	uint64_t next;
	struct ms_recording *t = ms_recording_open(path, &err);
	if (!t || ms_recording_run(t, UINT64_MAX, &next, &err) != 0)
		abort();
	const uint8_t end[] = {(uint8_t)t->end_digest, (uint8_t)(t->end_digest >> 8),
			       (uint8_t)(t->end_digest >> 16), (uint8_t)(t->end_digest >> 24)};
	uint32_t digest = ms_crc32c(t->digest, end, sizeof end);
	ms_recording_close(t);
	return digest;
}

static void put_sums(struct made *m, uint32_t digest, const uint8_t *data, size_t n)
{
	uint8_t head[2 * MS_VARINT_MAX];
	uint8_t *end = ms_varints_put(head, (const uint64_t[]){1, digest}, 2);
	struct ms_column c[MS_SUMS_HEAPS] = {{MS_SUMS_HEAD, head, (size_t)(end - head)}};
	size_t count = 1;
	for (; count < MS_SUMS_HEAPS && n >= 2; count++) {
		size_t size = data[0] | (size_t)data[1] << 8;
		data += 2;
		n -= 2;
		size = size < n ? size : n;
		c[count] = (struct ms_column){MS_SUMS_HEAD + (uint32_t)count, data, size};
		data += size;
		n -= size;
	}
	made_block(m, MS_BLOCK_SUMS, c, count);
	made_end(m, 2000000, NULL);
}

/* Tells whether the sums are taken, and how many allocations they say. */
static bool taken(const char *path, uint64_t *allocations)
{
	struct ms_recording *t = ms_sums_open(path);
	if (!t)
		return false;
	*allocations = t->replay.allocations < INT64_MAX ? t->replay.allocations : INT64_MAX;
	ms_recording_close(t);
	return true;
}

static void first_screen(const char *path, uint64_t allocations)
{
	static const char *const points[] = {"peak", "end"};
	struct model m = {0};
	struct ms_row_taker taker = model_taker(&m);
	struct ms_build_options opt = {.points = points,
				       .point_count = 2,
				       .usual_points = 2,
				       .no_symbols = true,
				       .no_site_details = true,
				       .taker = &taker};
	struct ms_build_result res;
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_build(&path, 1, &opt, &res, &err);
	if (!db || res.incomplete || model_load(&m, db, NULL, &err) != 0 ||
	    m.totals.allocations != allocations)
		abort();
	for (size_t i = 0; i < m.sites.n; i++)
		if (m.sites.v[i].stack != NONE && m.sites.v[i].stack >= m.nodes.n)
			abort();
	for (size_t i = 0; i < m.gone.n; i++)
		if (m.gone.v[i].stack > m.nodes.n || m.gone.v[i].thread > m.threads.n)
			abort();
	sqlite3_close(db);
	model_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static uint32_t digest;
	uint64_t allocations;
	static bool known;
	char path[64];
	struct made m;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		exit(2);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	put_trace(&m, path);
	if (!known)
		digest = digest_of(path);
	known = true;
	put_sums(&m, digest, data, n);
	made_close(&m);
	if (taken(path, &allocations))
		first_screen(path, allocations);
	close(fd);
	return 0;
}
