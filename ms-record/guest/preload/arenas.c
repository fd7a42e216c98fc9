/* SPDX-License-Identifier: MIT
 * The preload backend: tracks the memory that the next provider's allocator mapped for itself.
 *
 * Bytes there that are not in a block are the allocator's, for example thread caches that still
 * hold pointers to blocks in use. A leak scan must not take them for the program's. For an
 * allocator other than the C library's, whose calls of mmap and sbrk come to us, we note the ranges
 * that it maps, and remove those that are unmapped or mapped anew, before other code can use them.
 * For the C library's allocator we only note whether other code moved the end of its heap.
 *
 *  A1 A span is in the table only while all of it is the allocator's. If that cannot be ensured,
 *     because a signal or a fork interrupted a change of the table, `unsure` is set permanently.
 *  A2 Memory not in the table counts as the program's: noting less is always correct.
 */
#include "ms-record/guest/core.h"
#include "preload.h"

#define SPINS 10000u

/* Lists the spans of memory that the allocator mapped for itself. ms-record reads the list from the
 * process's memory; a forked child has a copy of its own. */
static struct mg_arenas arenas;
static uint64_t low, high = UINT64_MAX; /* range of the allocator's module; at first everything */
/* callers that mapped the spans, needed until the module is known */
static uint64_t callers[MG_ARENAS];

static void remove(uint32_t i)
{
	uint32_t last = --arenas.count;
	arenas.span[i][0] = arenas.span[last][0];
	arenas.span[i][1] = arenas.span[last][1];
	callers[i] = callers[last];
}

static void append(uint64_t start, uint64_t end, uint64_t caller)
{
	if (start >= end || arenas.count == MG_ARENAS)
		return;
	arenas.span[arenas.count][0] = start;
	arenas.span[arenas.count][1] = end;
	callers[arenas.count++] = caller;
}

/* Removes [start, end) from all spans. */
static void cut(uint64_t start, uint64_t end)
{
	for (uint32_t i = arenas.count; i-- > 0;) {
		uint64_t from = arenas.span[i][0], to = arenas.span[i][1], caller = callers[i];
		if (from >= end || to <= start)
			continue;
		remove(i);
		append(from, start < to ? start : to, caller);
		append(end > from ? end : from, to, caller);
	}
}

/* Adds [start, end), which is in no span, merged with adjacent spans. */
static void join(uint64_t start, uint64_t end, uint64_t caller)
{
	for (uint32_t i = arenas.count; i-- > 0;) {
		if ((arenas.span[i][1] != start && arenas.span[i][0] != end) ||
		    (high == UINT64_MAX && callers[i] != caller))
			continue;
		start = arenas.span[i][0] < start ? arenas.span[i][0] : start;
		end = arenas.span[i][1] > end ? arenas.span[i][1] : end;
		remove(i);
	}
	append(start, end, caller);
}

void mg_arena_gone(const void *address, uint64_t bytes)
{
	if (!__atomic_load_n(&arenas.count, __ATOMIC_RELAXED) || arenas.unsure)
		return;
	if (!mg_try_lock(&arenas.busy, SPINS)) {
		__atomic_store_n(&arenas.unsure, 1, __ATOMIC_RELAXED);
		return;
	}
	cut((uint64_t)address, (uint64_t)address + bytes);
	mg_unlock(&arenas.busy);
}

void mg_arena_mapped(const void *caller, const void *address, uint64_t bytes)
{
	uint64_t by = (uint64_t)caller, start = (uint64_t)address;
	mg_arena_gone(address, bytes);
	if (by < low || by >= high || arenas.unsure || !mg_try_lock(&arenas.busy, SPINS))
		return;
	join(start, start + bytes, by);
	mg_unlock(&arenas.busy);
}

void mg_arena_brk(void)
{
	__atomic_store_n(&arenas.brk, 1, __ATOMIC_RELAXED);
}

void mg_arenas_init(bool by_libc)
{
	struct mg_unwind_info info;
	bool known = !by_libc && mg_find_unwind_info((uint64_t)mg_real.malloc, &info);
	if (!mg_try_lock(&arenas.busy, SPINS))
		return;
	low = known ? info.start : 0;
	high = known ? info.end : 0;
	for (uint32_t i = arenas.count; i-- > 0;)
		if (callers[i] < low || callers[i] >= high)
			remove(i);
	mg_unlock(&arenas.busy);
	if (known || by_libc)
		mg.session->arenas = (uint64_t)&arenas;
}
