/* SPDX-License-Identifier: MIT
 * Writes a trace as a recorder does, out of one that was recorded: appends its blocks when it is
 * told to on standard input, and holds the writer's lock. It says "done" after each line.
 *
 *   blocks N     the next N blocks             rate N   the rest, N events a second
 *   half         half of the next one          events N until so many events are there
 *   cut N        cuts the file to N bytes      unlock   the recorder is gone
 *   quit
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/trace/trace_index.h"
#include "libcommon/trace/tracefile.h"
#include "format/trace.h"

static struct ms_trace_index blocks;
static size_t next_block, into_block;
static uint64_t events;
static int in, out;

static void copy(uint64_t from, uint64_t n)
{
	char *bytes = malloc(n);
	if (!bytes || pread(in, bytes, n, (off_t)from) != (ssize_t)n ||
	    ms_write_all(out, bytes, n) != 0) {
		perror("feed");
		exit(1);
	}
	free(bytes);
}

static void put_block(void)
{
	const struct ms_index_entry *e = &blocks.v[next_block++];
	copy(e->offset + into_block, e->bytes - into_block);
	into_block = 0;
	events += e->type == MS_BLOCK_EVENTS && e->events != MS_INDEX_UNKNOWN ? e->events : 0;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put_at_rate(double rate)
{
	double start = now();
	uint64_t before = events;
	while (next_block < blocks.n) {
		double due = start + (double)(events - before) / rate, wait = due - now();
		if (wait > 0)
			nanosleep(&(struct timespec){(time_t)wait,
						     (long)((wait - (double)(time_t)wait) * 1e9)},
				  NULL);
		put_block();
	}
}

static void obey(const char *word, uint64_t n)
{
	if (!strcmp(word, "blocks"))
		while (n-- && next_block < blocks.n)
			put_block();
	if (!strcmp(word, "events"))
		while (events < n && next_block < blocks.n)
			put_block();
	if (!strcmp(word, "half")) {
		into_block = blocks.v[next_block].bytes / 2;
		copy(blocks.v[next_block].offset, into_block);
	}
	if (!strcmp(word, "rate"))
		put_at_rate((double)n);
	if (!strcmp(word, "cut") && ftruncate(out, (off_t)n) != 0)
		perror("feed");
	if (!strcmp(word, "unlock"))
		close(out);
}

int main(int argc, char **argv)
{
	struct ms_err err = {0};
	char line[200], word[32];
	uint64_t end;
	struct ms_trace *t = argc == 3 ? ms_trace_open(argv[1], &err) : NULL;
	if (!t || !ms_trace_sparse(t, &end) || ms_trace_find_blocks(t, end, &blocks, &err) != 1) {
		fprintf(stderr, "usage: feed TRACE NEW <commands: %s\n", err.text);
		return 2;
	}
	in = open(argv[1], O_RDONLY);
	out = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
	if (ms_trace_lock(out) != 0)
		return 1;
	copy(0, ms_trace_first(t));
	setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		unsigned long long n = 0;
		if (sscanf(line, "%31s %llu", word, &n) < 1)
			continue;
		if (!strcmp(word, "quit"))
			break;
		obey(word, n);
		printf("done %zu of %zu blocks, %llu events\n", next_block, blocks.n,
		       (unsigned long long)events);
	}
	ms_trace_close(t);
	free(blocks.v);
	return 0;
}
