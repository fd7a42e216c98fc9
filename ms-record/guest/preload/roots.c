/* SPDX-License-Identifier: MIT
 * The preload backend: memory that the program declares as a root (ms_root).
 *
 * ms-record reads the table from the process's memory when it looks for leaks, so roots declared
 * before a recording began (--standby) count too, and a forked child continues with its copy. The
 * table is never locked: a signal handler may run at any time, and a scan stops threads anywhere.
 *
 *  R1 An entry counts while `start` is an address and `bytes` is not 0. A thread that takes a free
 *     entry marks it busy, then sets `bytes`, and `start` last: a range is visible whole or not at
 *     all.
 *  R2 An entry keeps its address until the root is withdrawn. If two threads declare different
 *     sizes for one address at the same time, either may remain.
 */
#include "ms-record/guest/core.h"
#include "preload.h"

static struct mg_roots roots;

void mg_roots_init(void)
{
	mg.session->roots = (uint64_t)&roots;
}

/* Changes entry `i` from `was` to `now`; false = the entry was not `was`. */
static bool change(uint32_t i, uint64_t was, uint64_t now)
{
	return __atomic_compare_exchange_n(&roots.v[i].start, &was, now, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* Returns the first entry from `first` on with that `start`; MG_ROOTS = none. */
static uint32_t find(uint32_t first, uint64_t start)
{
	uint32_t used = __atomic_load_n(&roots.used, __ATOMIC_ACQUIRE);
	for (uint32_t i = first; i < used; i++)
		if (__atomic_load_n(&roots.v[i].start, __ATOMIC_RELAXED) == start)
			return i;
	return MG_ROOTS;
}

/* Marks a free entry busy, whether new or used before, and returns its index; MG_ROOTS = none is
 * free. */
static uint32_t take(void)
{
	for (uint32_t i = find(0, 0); i < MG_ROOTS; i = find(i + 1, 0))
		if (change(i, 0, MG_ROOT_BUSY))
			return i;
	uint32_t used = __atomic_load_n(&roots.used, __ATOMIC_RELAXED);
	for (uint32_t i = used; i < MG_ROOTS; i++) {
		if (!change(i, 0, MG_ROOT_BUSY))
			continue;
		while (used <= i &&
		       !__atomic_compare_exchange_n(&roots.used, &used, i + 1, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return i;
	}
	return MG_ROOTS;
}

static void take_back(uint64_t start)
{
	for (uint32_t i = find(0, start); i < MG_ROOTS; i = find(i + 1, start)) {
		if (!change(i, start, MG_ROOT_BUSY))
			continue;
		__atomic_store_n(&roots.v[i].bytes, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&roots.v[i].start, 0, __ATOMIC_RELEASE);
	}
}

MG_EXPORT void memscope_v1_root(const void *address, size_t bytes)
{
	uint64_t start = ~(uint64_t)address;
	if (!address || !bytes) {
		if (address)
			take_back(start);
		return;
	}
	uint32_t i = find(0, start);
	if (i < MG_ROOTS) {
		__atomic_store_n(&roots.v[i].bytes, bytes, __ATOMIC_RELAXED);
		return;
	}
	if ((i = take()) == MG_ROOTS) {
		__atomic_fetch_add(&roots.refused, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&roots.v[i].bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&roots.v[i].start, start, __ATOMIC_RELEASE);
}
