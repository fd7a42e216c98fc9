/* SPDX-License-Identifier: MIT
 * What the guest may read of the stack that a thread was started on: what is in use, in the main
 * thread and in others, but neither their guard page, which glibc's block names, nor below sp.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ms-record/guest/stack.c"

struct mg_core mg;

static struct {
	struct mg_session session;
	struct mg_range list[2];
} shared;
static struct mg_gate gate; /* switched off */
static unsigned failures;

/* ---- what the guest's code calls ---- */

void mg_wake_recorder(void)
{
}

bool mg_filtered(void)
{
	return true;
}

uint64_t mg_code_rule(uint64_t ip, const struct mg_range *code)
{
	return code ? ip : 0;
}

/* ---- what is asked ---- */

static void expect(const char *thread, const char *what, uint64_t at, bool want)
{
	struct mg_range r;
	bool found = mg_find_data(at, &r);
	if (found == want && (!found || at - r.start < r.end - r.start))
		return;
	failures++;
	printf("%s, %s: %#lx is %sfound, in %#lx to %#lx\n", thread, what, (unsigned long)at,
	       found ? "" : "not ", (unsigned long)r.start, (unsigned long)r.end);
}

/* Expects the same in every thread; `low` is the lowest address of its stack. */
static void ask(const char *thread, uint64_t low)
{
	volatile char local[64] = {0};
	uint64_t sp = (uint64_t)(uintptr_t)local;
	expect(thread, "a variable", sp, true);
	expect(thread, "the stack's first word", low, false);
	expect(thread, "what is not in use yet", sp - 65536, false);
	expect(thread, "listed", shared.list[0].start + 8, true);
	expect(thread, "not listed", shared.list[0].start - 8, false);
}

static void *in_thread(void *unused)
{
	pthread_attr_t a;
	void *low;
	size_t size, guard;
	pthread_getattr_np(pthread_self(), &a);
	pthread_attr_getstack(&a, &low, &size);
	pthread_attr_getguardsize(&a, &guard);
	pthread_attr_destroy(&a);
	uint64_t start = (uint64_t)(uintptr_t)low - guard, tp = mg_thread_pointer();
	for (uint64_t at = MG_BLOCK_LOW; at < MG_BLOCK_HIGH; at += 8)
		if (load(tp + at) == start)
			mg.stack_field = at;
	if (!mg.stack_field) {
		failures++;
		printf("a thread's block does not name its stack\n");
		return unused;
	}
	ask("a thread", load(tp + mg.stack_field));
	return unused;
}

int main(void)
{
	char *page = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t;
	if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_READ))
		return 1;
	shared.list[0].start = (uint64_t)(uintptr_t)page + 4096;
	shared.list[0].end = shared.list[0].start + 4096;
	shared.session.ranges_offset = (uint64_t)((char *)shared.list - (char *)&shared.session);
	shared.session.range_max = 1;
	shared.session.ranges_count[0] = 1;
	mg.session = &shared.session;
	mg.gate = &gate;
	if (pthread_create(&t, NULL, in_thread, NULL) || pthread_join(t, NULL))
		return 1;
	mg.main_tp = mg_thread_pointer();
	mg.main_high = ((uint64_t)(uintptr_t)&t + 4095) & ~UINT64_C(4095);
	mg.main_low = mg.main_high - 8192;
	ask("the main thread", mg.main_low - MAIN_GAP);
	if (mg.main_low < mg.main_high - 16384) {
		failures++;
		printf("the main thread's stack reaches down to %#lx\n",
		       (unsigned long)mg.main_low);
	}
	return failures != 0;
}
