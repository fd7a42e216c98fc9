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

int main(void)
{
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
