/* SPDX-License-Identifier: MIT
 * Adds sums to traces of any length, damages them, and tells whether they are used.
 *
 *   sums grow FILE       writes a trace of a minute in which a site grows, and whose scan at the end
 *                        did not look at its last blocks
 *   sums other FILE      writes another one, of as many bytes
 *   sums add FILE...     appends sums
 *   sums used FILE...    prints, for each, "used" or "not used"
 *   sums at FILE         prints the offset and the size of the block of sums
 *   sums damage FILE     flips each byte of the block of sums in turn, and cuts the file at each:
 *                        prints how often sums were used all the same
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/trace.h"
#include "format/verdict.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording.h"
#include "libcommon/trace/sums.h"
#include "tests/unit/made_trace.h"

/* Writes the last record of a scan at the end, before allocation `number`, that found all else
 * reachable. */
static void put_scan(struct made *m, uint64_t number)
{
	struct ms_verdict_scan scan = {.scan = 1,
				       .time_ns = m->now,
				       .event = m->event,
				       .state = MS_SCAN_DONE,
				       .label = "end",
				       .label_size = 3,
				       .number = number};
	struct ms_verdict_site site = {.scan = 1,
				       .stack = 2,
				       .blocks[MS_VERDICT_IS_REACHABLE] = number / 2,
				       .bytes[MS_VERDICT_IS_REACHABLE] = number * 500};
	struct ms_column c;
	ms_record_writer_init(&m->records, m->record_memory, sizeof m->record_memory);
	if (!ms_verdict_put_scan(&m->records, &scan) || !ms_verdict_put_site(&m->records, &site))
		made_die("scan", NULL);
	c = ms_record_column(&m->records);
	made_block(m, MS_BLOCK_VERDICTS, &c, 1);
}

/* Every 50 ms one of two threads allocates so many bytes that stay, and a block that it
 * frees, of a deeper call stack each time. */
static int grow(const char *path, uint64_t bytes)
{
	enum { TURNS = 1200, MS_50 = 50000000 / MS_TRACE_TICK_NS, NODES = 1100 };
	static const struct ms_frame frames[] = {{0x1000, 0, 0}, {0x2000, 0, 0}, {0x3000, 0, 0}};
	static struct ms_node nodes[NODES] = {{0, 1}, {1, 2}};
	static struct ms_event ev[3 * TURNS];
	struct made m;
	for (uint32_t i = 2; i < NODES; i++)
		nodes[i] = (struct ms_node){i, 3};
	for (unsigned i = 0; i < 3 * TURNS; i++)
		ev[i] = (struct ms_event){.kind = i % 3 == 2 ? MS_EV_FREE : MS_EV_ALLOC,
					  .thread = i / 3 % 2,
					  .stack = i % 3 == 0   ? 2
						   : i % 3 == 1 ? 3 + i / 3 % (NODES - 2)
								: 0,
					  .size = i % 3 == 0 ? bytes : 32,
					  .freed = i % 3 == 2 ? i / 3 * 2 + 1 : 0,
					  .time_ticks = (uint64_t)i / 3 * MS_50};
	made_open(&m, path);
	made_info(&m, 77, 0);
	made_stacks(&m, frames, 3, nodes, NODES);
	made_events(&m, ev, 3 * TURNS);
	put_scan(&m, 2 * TURNS - 20);
	made_end(&m, 60000000000, NULL);
	made_close(&m);
	return 0;
}

static bool used(const char *path)
{
	struct ms_recording *t = ms_sums_open(path);
	ms_recording_close(t);
	return t != NULL;
}

static int add(const char *path)
{
	struct ms_err err = {0};
	if (ms_sums_append(path, 0, 0, &err) == 0)
		return 0;
	printf("%s\n", err.text);
	return 1;
}

static bool find(const char *path, struct ms_block *b)
{
	struct ms_err err = {0};
	struct ms_trace *t = ms_trace_open(path, &err);
	bool found =
		t && ms_trace_next(t, UINT64_C(1) << MS_BLOCK_SUMS, 1, b, &err) == MS_NEXT_BLOCK;
	ms_trace_close(t);
	return found;
}

static int damage(const char *path)
{
	struct ms_block b;
	unsigned long flipped = 0, cut = 0;
	int fd = open(path, O_RDWR);
	uint8_t byte;
	struct stat st;
	if (!find(path, &b) || fd < 0 || fstat(fd, &st) != 0)
		return 1;
	for (uint64_t at = b.offset; at < b.offset + b.bytes; at++) {
		if (pread(fd, &byte, 1, (off_t)at) != 1)
			return 1;
		byte ^= 0x10;
		if (pwrite(fd, &byte, 1, (off_t)at) != 1)
			return 1;
		flipped += used(path);
		byte ^= 0x10;
		if (pwrite(fd, &byte, 1, (off_t)at) != 1)
			return 1;
	}
	for (uint64_t size = (uint64_t)st.st_size - 1; size > b.offset - 1; size--)
		cut += ftruncate(fd, (off_t)size) != 0 || used(path);
	close(fd);
	printf("flipped %lu, cut %lu\n", flipped, cut);
	return 0;
}

int main(int argc, char **argv)
{
	struct ms_block b;
	int rc = argc < 3;
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[1], "grow") == 0)
			rc |= grow(argv[i], 1000);
		else if (strcmp(argv[1], "other") == 0)
			rc |= grow(argv[i], 1001);
		else if (strcmp(argv[1], "add") == 0)
			rc |= add(argv[i]);
		else if (strcmp(argv[1], "used") == 0)
			puts(used(argv[i]) ? "used" : "not used");
		else if (strcmp(argv[1], "damage") == 0)
			rc |= damage(argv[i]);
		else if (find(argv[i], &b))
			printf("%llu %llu\n", (unsigned long long)b.offset,
			       (unsigned long long)b.bytes);
	}
	return rc;
}
