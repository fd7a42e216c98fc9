/* SPDX-License-Identifier: MIT
 * Address space that is taken as threads come: windows of rings, writers, slots of forked children,
 * rooms for deep stacks. What the program may have is limited at any time, by itself (RLIMIT_AS).
 *
 *  G1 No descriptor is needed: mremap of a shared mapping with an old length of 0 makes another one
 *     of the same file, from the same place on and as long as wanted. The front of it, up to the
 *     wanted place, is given back.
 *
 *  G2 Chunk c > 0 holds as many elements as all before it. Whoever needs one maps it; of several
 *     threads at once one wins, by compare-and-swap, and the others give back what they mapped.
 *
 *  G3 Under a seccomp filter nothing is mapped, and under a limit nothing that is more than a
 *     sixteenth of it, but for what every thread needs: then that chunk's rings cannot be used.
 */
#include "core.h"

#define MMAP 9
#define MUNMAP 11
#define MREMAP 25
#define MREMAP_MAYMOVE 1
#define MADVISE 28
#define DONTDUMP 16
#define PRLIMIT 302
#define LIMIT_AS 9
#define AHEAD 1024u /* rings, before a filter */

uint64_t mg_limit(uint32_t resource)
{
	uint64_t limit[2] = {0};
	long r = mg_syscall(PRLIMIT, 0, resource, 0, (uint64_t)limit, 0, 0);
	return r ? UINT64_MAX : limit[0];
}

uint64_t mg_grow_budget(void)
{
	uint64_t limit = mg_limit(LIMIT_AS);
	return limit == UINT64_MAX ? limit : limit / 16;
}

/* Nothing there is the program's. */
static void own(unsigned char *start, size_t bytes)
{
	uint32_t i = __atomic_fetch_add(&mg.session->own_count, 1, __ATOMIC_RELAXED);
	if (i >= MG_OWN_MAX)
		return;
	mg.session->own[i][0] = (uint64_t)start;
	mg.session->own[i][1] = (uint64_t)start + bytes;
}

static void unmap(unsigned char *start, uint64_t bytes)
{
	mg_syscall(MUNMAP, (uint64_t)start, bytes, 0, 0, 0, 0);
}

/* Private memory, or (G1) what lies `skip` behind `shared`. */
static unsigned char *map(unsigned char *shared, uint64_t skip, uint64_t bytes)
{
	long r;
	bool starting = mg_gate == &mg_closed_gate;
	__atomic_fetch_add(&mg.calling, 1, __ATOMIC_SEQ_CST); /* confine.c, C1 */
	if (mg_filtered() || (!starting && bytes > mg_grow_budget()))
		r = -1;
	else if (shared)
		r = mg_syscall(MREMAP, (uint64_t)shared, 0, skip + bytes, MREMAP_MAYMOVE, 0, 0);
	else
		r = mg_syscall(MMAP, 0, bytes, 1 | 2, 0x02 | 0x20 | 0x4000, UINT64_MAX, 0);
	unsigned char *m = r < 0 ? NULL : (unsigned char *)r;
	if (m && skip)
		unmap(m, skip);
	if (m)
		mg_syscall(MADVISE, (uint64_t)(m + skip), bytes, DONTDUMP, 0, 0, 0);
	__atomic_fetch_sub(&mg.calling, 1, __ATOMIC_SEQ_CST);
	return m ? m + skip : NULL;
}

void *mg_grow_own(uint64_t bytes)
{
	unsigned char *m = map(NULL, 0, bytes);
	if (m)
		own(m, bytes);
	return m;
}

static uint32_t chunk_of(uint32_t i)
{
	return i < MG_CHUNK_FIRST ? 0 : 28 - (uint32_t)__builtin_clz(i);
}

static uint32_t first_of(uint32_t chunk)
{
	return chunk ? MG_CHUNK_FIRST / 2 << chunk : 0;
}

void *mg_grown(unsigned char *const *chunks, uint32_t i, size_t each)
{
	uint32_t c = chunk_of(i);
	unsigned char *m = __atomic_load_n(&chunks[c], __ATOMIC_ACQUIRE);
	return m ? m + (i - first_of(c)) * each : NULL;
}

void mg_grow_whole(unsigned char **chunks, void *base, uint32_t count, size_t each)
{
	for (uint32_t c = 0; c < MG_CHUNKS; c++)
		chunks[c] = first_of(c) < count ? (unsigned char *)base + first_of(c) * each : NULL;
}

/* G2 */
void *mg_grow(unsigned char **chunks, uint32_t i, size_t each)
{
	void *have = mg_grown(chunks, i, each);
	if (have || i >= mg.writers_all)
		return have;
	uint32_t c = chunk_of(i), first = first_of(c), end = first_of(c + 1);
	bool shared = chunks == mg.windows;
	uint64_t bytes = ((end < mg.writers_all ? end : mg.writers_all) - first) * (uint64_t)each;
	unsigned char *nobody = NULL;
	unsigned char *m = map(shared ? chunks[0] : NULL, shared ? first * each : 0, bytes);
	if (!m)
		return NULL;
	if (!__atomic_compare_exchange_n(&chunks[c], &nobody, m, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		unmap(m, bytes);
	else if (!shared)
		own(m, bytes);
	return mg_grown(chunks, i, each);
}

unsigned char *mg_grow_slot(uint32_t i)
{
	uint64_t each = mg.head->slot_bytes;
	return mg.slots_mapped ? mg.slot_memory + i * each : map(mg.slot_memory, i * each, each);
}

void mg_grow_ahead(bool here)
{
	bool limited = mg_grow_budget() != UINT64_MAX; /* the rest is the program's */
	uint32_t ahead = limited ? 2 * MG_CHUNK_FIRST : AHEAD;
	for (uint32_t i = 0; here && i < ahead && i < mg.writers_all; i += MG_CHUNK_FIRST) {
		mg_grow(mg.windows, i, mg.session->window_bytes);
		mg_grow(mg.writers, i, mg.writer_bytes);
	}
	for (uint32_t i = 0; here && i < (limited ? 1 : MG_DEEP_MAX); i++)
		if (!mg.deep[i] && !(mg.deep[i] = mg_grow_own(mg_deep_bytes())))
			break;
	unsigned char *m = mg.slot_count && !mg.slots_mapped
				   ? map(mg.slot_memory, 0, mg.slot_count * mg.head->slot_bytes)
				   : NULL;
	if (m) {
		mg.slot_memory = m;
		__atomic_store_n(&mg.slots_mapped, true, __ATOMIC_RELEASE);
	}
}
