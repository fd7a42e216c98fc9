/* SPDX-License-Identifier: MIT
 * Fuzzes what a reader that does not begin at the start believes. By the first byte: the columns of
 * a checkpoint, taken over by the live-heap model; the records of an index; a whole file, read from
 * a checkpoint on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mend.h"
#include "format/checkpoint.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording.h"

#define LARGEST ((size_t)64 << 10)

static void checkpoint(const uint8_t *data, size_t n)
{
	struct ms_column columns[16];
	struct ms_checkpoint_decoder d;
	struct ms_checkpoint_block b;
	struct ms_replay r;
	uint64_t next = 0, last;
	size_t count = columns_of(data, n, columns, 16);
	if (ms_checkpoint_decoder_init(&d, columns, count) != MS_FMT_OK)
		return;
	ms_replay_init(&r);
	r.tick_limit = INT64_MAX / 100000;
	bool taken = ms_replay_restore(&r, &d.head, true);
	while (ms_checkpoint_next(&d, &b) == MS_FMT_OK) {
		if (b.number < next || b.number >= d.head.number)
			abort();
		next = b.number + 1;
		if (taken)
			ms_replay_restore_block(&r, &b);
	}
	for (uint32_t i = 0; ms_checkpoint_next_last(&d, &last) == MS_FMT_OK; i++)
		if (taken)
			ms_replay_restore_last(&r, i, last);
	if (taken)
		ms_replay_restored(&r, &d.head, true);
	if (taken && d.head.number)
		ms_replay_events(&r,
				 &(struct ms_event){.kind = MS_EV_FREE,
						    .time_ticks = d.head.tick,
						    .freed = d.head.number - 1},
				 1);
	ms_replay_finish(&r, r.last_tick);
	ms_replay_free(&r);
}

static void index_records(const uint8_t *data, size_t n)
{
	struct ms_trace_index x = {0};
	struct ms_column c = {MS_RECORDS_COLUMN, data, n};
	uint64_t at = MS_FILE_HEADER_SIZE, end = UINT64_C(1) << 40;
	if (ms_index_take(&x, &c, at, end) && x.n == 0)
		abort();
	for (size_t i = 0; i + 1 < x.n; i++)
		if (x.v[i].number != i || x.v[i].offset + x.v[i].bytes > end)
			abort();
	free(x.v);
}

static void file(uint8_t *data, size_t n, uint64_t tick)
{
	struct ms_err err = {0};
	char path[32];
	uint64_t next;
	fuzz_mend(data, n);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, data, n, 0) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct ms_recording *t = ms_recording_open_parts(path, &err);
	if (t && ms_recording_start_at(t, tick, &err)) {
		ms_replay_count_from(&t->replay, ms_replay_moment(&t->replay, tick + 1, MS_NEVER));
		while (ms_recording_run(t, UINT64_MAX, &next, &err) > 0)
			;
	}
	ms_recording_close(t);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static uint8_t copy[LARGEST];
	if (n < 2 || n - 2 > LARGEST)
		return 0;
	memcpy(copy, data + 2, n - 2);
	if (data[0] % 3 == 0)
		checkpoint(copy, n - 2);
	else if (data[0] % 3 == 1)
		index_records(copy, n - 2);
	else
		file(copy, n - 2, data[1]);
	return 0;
}
