/* SPDX-License-Identifier: MIT
 * The judges of the guest's unwinder, in a test library only: libunwind and glibc's backtrace()
 * look at every stack that the guest takes. At exit the counts go to the file named by GUEST_JUDGE:
 * judged, libunwind's and backtrace()'s disagreements, and stacks that a judge could not see.
 */
#define UNW_LOCAL_ONLY
#include <execinfo.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>

#include "ms-record/guest/core.h"

#define FRAMES 1200
#define SHOWN 3

/* Asked once, at the start: the hook may stand inside the realloc of the environment itself. */
static bool only_backtrace;

__attribute__((constructor)) static void ask(void)
{
	only_backtrace = getenv("GUEST_JUDGE_ONLY_BACKTRACE") != NULL;
}

void mg_judge(struct mg_writer *t, const uint64_t *frame);
static uint64_t judged, bad_unwind, bad_backtrace, unseen;
static __thread bool busy __attribute__((tls_model("initial-exec")));
static __thread void *seen[FRAMES] __attribute__((tls_model("initial-exec")));

/* 1 the same, 0 not, -1 the hook's caller was not seen. */
static int compare(const struct mg_writer *t, uint64_t first, int n)
{
	int from = 0;
	while (from < n && (uint64_t)seen[from] != first)
		from++;
	if (from == n)
		return -1;
	bool cut = n == FRAMES;
	while (n > from && !seen[n - 1])
		n--;
	uint32_t count = (uint32_t)(n - from);
	if (count != t->frames && !cut &&
	    !(t->root_flags & MG_F_TRUNCATED && t->frames >= MG_FRAMES_SHORT))
		return 0;
	for (uint32_t i = 0; i < count && i < t->frames; i++)
		if ((uint64_t)seen[from + (int)i] != (t->ip[t->frames - 1 - i] & ~MG_EXACT_IP))
			return 0;
	return 1;
}

static void count(const char *who, int verdict, uint64_t *bad, const struct mg_writer *t, int n)
{
	if (verdict < 0)
		__atomic_fetch_add(&unseen, 1, __ATOMIC_RELAXED);
	if (verdict || __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED) >= SHOWN ||
	    !getenv("GUEST_JUDGE_SHOW"))
		return;
	fprintf(stderr, "%s differs\n", who);
	for (int i = 0; i < n || i < (int)t->frames; i++)
		fprintf(stderr, "  %p %#llx\n", i < n ? seen[i] : NULL,
			i < (int)t->frames ? (unsigned long long)t->ip[t->frames - 1 - (uint32_t)i]
					   : 0);
}

void mg_judge(struct mg_writer *t, const uint64_t *frame)
{
	if (busy)
		return;
	busy = true;
	__atomic_fetch_add(&judged, 1, __ATOMIC_RELAXED);
	int n = only_backtrace ? 0 : unw_backtrace(seen, FRAMES);
	if (n)
		count("libunwind", compare(t, frame[1], n), &bad_unwind, t, n);
	n = backtrace(seen, FRAMES);
	count("backtrace", compare(t, frame[1], n), &bad_backtrace, t, n);
	busy = false;
}

__attribute__((destructor)) static void report(void)
{
	busy = true;
	const char *name = getenv("GUEST_JUDGE");
	FILE *f = name ? fopen(name, "w") : NULL;
	if (!f)
		return;
	fprintf(f, "judged %llu\nbad_libunwind %llu\nbad_backtrace %llu\nunseen %llu\n",
		(unsigned long long)judged, (unsigned long long)bad_unwind,
		(unsigned long long)bad_backtrace, (unsigned long long)unseen);
	fclose(f);
}
