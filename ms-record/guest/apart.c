/* SPDX-License-Identifier: MIT
 * Keeps the guest's memory out of operations of the program on all its mappings: mlockall, and
 * madvise on whatever /proc/self/maps lists.
 *
 *  K1 The address space reserved for the guest may be more than the program may lock, and would
 *     become resident if locked. So mlockall is done separately for each mapping of the program, if
 *     it would have succeeded without the guest: the kernel compares the size of all mappings with
 *     the limit. Only later mappings (MCL_FUTURE) are left to the kernel, which checks no limit for
 *     that.
 *
 *  K2 Whether a limit applies to this process is known only to the kernel (CAP_IPC_LOCK outside of
 *     all user namespaces), so the kernel is asked to lock all, without making anything resident.
 *     The guest's memory is unlocked afterwards.
 *
 *  K3 Memory that the guest maps later is grown from pages that were never locked: mremap leaves
 *     them so (grow.c, G4).
 *
 *  K4 The kernel's own mlockall is used under a seccomp filter, if the mappings cannot be read, and
 *     for a system call instruction of the program's own. (In the image, this code is used only if
 *     ms-record saw no filter; madvise needs no system call there.)
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core.h"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
#define CLOSE_ON_EXEC 02000000
#define HERE ((uint64_t)-100)
#define PAGE_BITS 12

struct piece {
	uint64_t start, end;
};

/* Marks the bounds of the guest's module: the preload library or the guest image. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Sets *p to the n-th memory range that belongs to the guest; ranges are not sorted. Returns false
 * if there are no more. */
static bool held(uint32_t n, struct piece *p)
{
	*p = (struct piece){(uint64_t)__ehdr_start, ((uint64_t)_end + 4095) & ~UINT64_C(4095)};
	if (n == 1)
		*p = (struct piece){mg.seeds, mg.seeds + mg.seed_count * UINT64_C(4096)};
	else if (n > 1 && n - 2 < MG_HELD_MAX)
		*p = (struct piece){mg.held[n - 2][0], mg.held[n - 2][1]};
	return n < MG_HELD_MAX + 2;
}

/* Tells whether address `at` belongs to the guest. If so, sets *end to the end of the guest's
 * range; else to the start of the next range of the guest, if that is before *end. */
static bool is_held(uint64_t at, uint64_t *end)
{
	struct piece h;
	for (uint32_t n = 0; held(n, &h); n++) {
		if (at >= h.start && at < h.end) {
			*end = h.end;
			return true;
		}
		if (h.start > at && h.start < *end)
			*end = h.start;
	}
	return false;
}

/* Removes the next part that does not belong to the guest from the front of `rest`, and stores it
 * in *part. Returns false if there is none. */
static bool next_part(struct piece *rest, struct piece *part)
{
	while (rest->start < rest->end) {
		uint64_t end = rest->end, start = rest->start;
		bool ours = is_held(start, &end);
		rest->start = end;
		*part = (struct piece){start, end};
		if (!ours)
			return true;
	}
	return false;
}

bool mg_next_apart(uint64_t *start, uint64_t end, struct mg_span *part)
{
	struct piece rest = {*start, end}, next = {0};
	bool any = next_part(&rest, &next);
	*start = rest.start;
	*part = (struct mg_span){next.start, next.end - next.start};
	return any;
}

/* ---- mlockall -------------------------------------------------------------------------------- */

/* Describes what visit() does with each part of the program's own mappings; `bytes` is the sum of
 * their sizes. */
struct visit {
	long number; /* system call made for each part; 0 = only its size is added */
	uint64_t flags, bytes;
};

static void visit(struct visit *v, struct piece mapping)
{
	struct piece part;
	while (mapping.end < MG_ADDRESS_END && next_part(&mapping, &part)) {
		v->bytes += part.end - part.start;
		if (v->number)
			mg_syscall(v->number, part.start, part.end - part.start, v->flags, 0, 0, 0);
	}
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Visits every mapping in /proc/self/maps. Parses only "START-END " in each line. */
static bool visit_all(struct visit *v)
{
	char text[1024] = {0};
	uint64_t n[2] = {0};
	int field = 0; /* 0, 1: index in `n`; 2 = skip the rest of the line */
	long got, fd = mg_syscall(SYS_openat, HERE, (uint64_t) "/proc/self/maps", CLOSE_ON_EXEC, 0,
				  0, 0);
	if (fd < 0)
		return false;
	while ((got = mg_syscall(SYS_read, (uint64_t)fd, (uint64_t)text, sizeof(text), 0, 0, 0)) >
	       0)
		for (long i = 0; i < got; i++) {
			int digit = digit_of(text[i]);
			if (text[i] == '\n') {
				visit(v, (struct piece){n[0], n[1]});
				n[0] = n[1] = 0;
				field = 0;
			} else if (field < 2 && digit >= 0) {
				n[field] = n[field] << 4 | (uint64_t)digit;
			} else if (field < 2) {
				field++;
			}
		}
	mg_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	return got == 0;
}

static long kernel(long number, uint64_t a, uint64_t b)
{
	return mg_syscall(number, a, b, 0, 0, 0, 0);
}

void mg_unlock_ours(void)
{
	struct piece h;
	for (uint32_t n = 0; held(n, &h); n++)
		if (h.end > h.start)
			kernel(SYS_munlock, h.start, h.end - h.start);
}

/* K2: lets the kernel decide whether the program may lock more memory than its limit. Returns 0, 1
 * or the kernel's error. */
static long lock_if_allowed(uint64_t flags)
{
	long r = kernel(SYS_mlockall, flags | MCL_ONFAULT, 0);
	if (r)
		return r;
	mg_unlock_ours();
	return flags & MCL_FUTURE ? kernel(SYS_mlockall, flags & ~(uint64_t)MCL_CURRENT, 0) : 0;
}

/* K1 */
long mg_lock_all(uint64_t flags)
{
	static bool future;
	uint64_t limit[2] = {0};
	struct visit size = {0}, lock = {.number = SYS_mlock};
	long r = 0;
	if (!(flags & MCL_CURRENT) || flags & ~(uint64_t)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ||
	    !visit_all(&size) ||
	    mg_syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (uint64_t)limit, 0, 0))
		return 1;
	if (size.bytes >> PAGE_BITS > limit[0] >> PAGE_BITS)
		r = lock_if_allowed(flags);
	else if (flags & MCL_FUTURE)
		r = kernel(SYS_mlockall, flags & ~(uint64_t)MCL_CURRENT, 0);
	else if (future) /* only munlockall and mlockall end MCL_FUTURE */
		r = kernel(SYS_munlockall, 0, 0);
	if (r)
		return r;
	future = flags & MCL_FUTURE;
	if (flags & MCL_ONFAULT)
		lock = (struct visit){.number = SYS_mlock2, .flags = 1}; /* MLOCK_ONFAULT */
	visit_all(&lock);
	return 0;
}
