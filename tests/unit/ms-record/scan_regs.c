/* SPDX-License-Identifier: MIT
 * Registers of threads as a scan looks through them: general ones, then vectors, of those that are
 * still there.
 */
#include "ms-record/scan/scan_regs.c" /* it belongs to a tool, of which there is no library */

#include "tests/unit/held.h"
#include "tests/unit/is.h"

#define GENERAL (sizeof(struct user_regs_struct) / 8)

static size_t vectors; /* words, at 7 */

size_t cpu_vectors_get(pid_t tid, void *to, size_t bytes)
{
	uint64_t *words = to;
	CHECK(bytes == (SCAN_REGS - GENERAL) * 8, "%zu bytes", bytes);
	for (size_t i = 0; i < vectors && tid == 7; i++)
		words[i] = 700 + i;
	return tid == 7 ? vectors * 8 : 0;
}

static void fill(struct hijack_thread *t, pid_t tid)
{
	*t = (struct hijack_thread){.tid = tid};
	uint64_t words[GENERAL];
	for (size_t i = 0; i < GENERAL; i++)
		words[i] = (uint64_t)tid * 1000 + i;
	memcpy(&t->regs.all, words, sizeof words);
	t->regs.sp = (uint64_t)tid * 10;
	t->regs.tp = (uint64_t)tid * 20;
}

static void check(const struct scan_thread *t, uint64_t tid, size_t more)
{
	is("stack pointer", t->sp, tid * 10);
	is("thread pointer", t->tp, tid * 20);
	is("how many", t->reg_count, GENERAL + more);
	for (size_t i = 0; i < GENERAL; i++)
		is("general", t->regs[i], tid * 1000 + i);
	for (size_t i = 0; i < more; i++)
		is("of vectors", t->regs[GENERAL + i], 700 + i);
}

/* Threads 5 and 7 end the process, as the guest has noted; 8 noted something once, and went on. */
static void check_ends(void)
{
	static struct mg_session m = {
		.end_frames = {{.tp = 100, .sp = 60, .regs = {1, 2, 3, 4, 5, 6}},
			       {.tp = 160, .sp = 80, .regs = {7}},
			       {.tp = 140, .sp = 71, .regs = {8}}}};
	const bool traced[] = {false, true};
	for (int k = 0; k < 2; k++) {
		struct scan_thread v[4] = {{.sp = 50, .tp = 100, .reg_count = 9, .exits = true},
					   {.sp = 70, .tp = 140, .reg_count = 9},
					   {.sp = 80, .tp = 160, .reg_count = 9, .exits = true},
					   {.sp = 90, .tp = 180, .reg_count = 9}};
		scan_leave_ends(v, 4, &m, traced[k]);
		is("its caller's stack", v[0].sp, 60);
		is("registers that it has kept", v[0].reg_count, 6);
		is("the last", v[0].regs[5], 6);
		is("it has called", v[0].calls, true);
		is("traced, not one that is not in exit", v[1].sp, traced[k] ? 70 : 71);
		is("registers of that", v[1].reg_count, traced[k] ? 9 : 6);
		is("not one on a stack further up", v[2].reg_count, 9);
		is("nor one that noted nothing", v[3].reg_count, 9);
		is("and may use what is below", v[3].calls, false);
	}
}

int main(void)
{
	check_ends();
	static struct hijack_thread threads[4];
	struct hijack_stop s = {.threads = {threads, 4, 4}};
	size_t n = 99;
	for (int i = 0; i < 4; i++)
		fill(&threads[i], 5 + i);
	threads[1].gone = true;
	for (vectors = 0; vectors <= SCAN_REGS - GENERAL; vectors += SCAN_REGS - GENERAL) {
		struct scan_thread *v = scan_registers(&s, &n);
		is("threads", n, 3);
		check(&v[0], 5, 0);
		check(&v[1], 7, vectors);
		check(&v[2], 8, 0);
		free(v);
	}
	s.threads.n = 0;
	free(scan_registers(&s, &n));
	is("nobody", n, 0);
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
