/* SPDX-License-Identifier: MIT
 * heapwalk_list PID [READS]: the blocks on the heap of a process that runs, one a line: "used ADDRESS
 * BYTES" or "cached ADDRESS BYTES"; first how much of it that is, with how many reads, and why not
 * all. After READS it is told to stop.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "libcommon/base/err.h"
#include "ms-record/base/clock.h"
#include "ms-record/heap/heapwalk.h"
#include "ms-record/ptrace/hijack.h"

static void list(const char *kind, const struct heapwalk_blocks *b)
{
	for (size_t i = 0; i < b->n; i++)
		printf("%s %#lx %lu\n", kind, (unsigned long)b->v[i].address,
		       (unsigned long)b->v[i].bytes);
}

static struct counted {
	struct attach_memory memory;
	unsigned long reads, most;
	int stop;
} counted = {.most = -1UL};

static bool read_counted(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct counted *c = arg;
	c->stop |= c->reads++ >= c->most;
	return c->memory.read(c->memory.arg, address, to, bytes);
}

int main(int argc, char **argv)
{
	static const char *const states[] = {[MS_BEFORE_UNKNOWN] = "none",
					     [MS_BEFORE_PART] = "part",
					     [MS_BEFORE_WHOLE] = "whole"};
	struct hijack h;
	struct hijack_stop s;
	struct ms_err err = {0};
	uint64_t tps[512];
	if (argc < 2 || hijack_open(&h, atoi(argv[1]), "/proc", &err) ||
	    hijack_stop_all(&s, h.proc, false, 30000000000)) {
		fprintf(stderr, "heapwalk_list: %s\n", err.text);
		return 2;
	}
	if (argc > 2)
		counted.most = strtoul(argv[2], NULL, 10);
	counted.memory = attach_memory_of(&h);
	struct heapwalk_from from = {.memory = {read_counted, &counted},
				     .stop = &counted.stop,
				     .proc = h.proc,
				     .tps = tps,
				     .deadline_ns = clock_mono() + 20000000000};
	for (size_t i = 0; i < s.threads.n && i < 512; i++)
		tps[from.tp_count++] = s.threads.v[i].regs.tp;
	hijack_resume(&s, h.proc);
	struct heapwalk w;
	uint64_t begin = clock_mono();
	heapwalk(&w, &from);
	printf("%s %lu arenas %lu mapped %lu reads %lu us: %s\n", states[w.state],
	       (unsigned long)w.arenas, (unsigned long)w.mapped, counted.reads,
	       (unsigned long)((clock_mono() - begin) / 1000), w.why);
	list("used", &w.used);
	list("cached", &w.cached);
	heapwalk_free(&w);
	hijack_close(&h);
	return 0;
}
