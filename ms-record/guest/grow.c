/* SPDX-License-Identifier: MIT
 * Maps address space as threads come: windows of rings, writers, slots of forked children, rooms
 * for deep stacks. The program may limit its address space at any time (RLIMIT_AS).
 *
 *  G1 No descriptor is needed: mremap of a shared mapping with an old length of 0 makes another
 *     mapping of the same file, from the same offset on and of any length. Its front, up to the
 *     wanted offset, is unmapped. Under a limit this is done in steps, each from the last page of
 *     the one before, so that never more is mapped than is wanted.
 *
 *  G2 Chunk c > 0 holds as many elements as all before it. A thread that needs a chunk maps it; if
 *     several do at once, one wins, by compare-and-swap, and the others unmap theirs.
 *
 *  G3 Under a seccomp filter nothing is mapped, and under a limit nothing larger than a sixteenth
 *     of it, except what every thread needs; then the rings of that chunk cannot be used.
 *
 *  G4 A program that locks all that it maps (mlockall with MCL_FUTURE) does not lock this: private
 *     memory begins as a page that was mapped before, and is moved and extended. The result keeps
 *     the properties of that page, or of the shared mapping, which is not locked (apart.c).
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core.h"

#define AHEAD 1024u /* rings mapped before a seccomp filter is installed */
#define STEP (1u << 20)
#define SEEDS 32u

uint64_t mg_grow_budget(void)
{
	uint64_t limit[2] = {UINT64_MAX};
	mg_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, (uint64_t)limit, 0, 0);
	return limit[0] == UINT64_MAX ? UINT64_MAX : limit[0] / 16;
}

/* Notes in the session that this memory is the guest's and holds no data of the program. */
static void own(unsigned char *start, size_t bytes)
{
	uint32_t i = __atomic_fetch_add(&mg.session->own_count, 1, __ATOMIC_RELAXED);
	if (i >= MG_OWN_MAX)
		return;
	mg.session->own[i][0] = (uint64_t)start;
	mg.session->own[i][1] = (uint64_t)start + bytes;
}

static void unmap(uint64_t start, uint64_t bytes)
{
	if (start && bytes)
		mg_syscall(SYS_munmap, start, bytes, 0, 0, 0, 0);
}

/* G1 */
static long map_behind(uint64_t from, uint64_t skip, uint64_t bytes)
{
	uint64_t step = mg_grow_budget() == UINT64_MAX ? skip : STEP, mine = 0;
	do {
		uint64_t k = skip < step ? skip : step, rest = skip == k ? bytes : 4096;
		long r = mg_syscall(SYS_mremap, from, 0, k + rest, MREMAP_MAYMOVE, 0, 0);
		unmap(mine, 4096);
		if (r < 0)
			return r;
		unmap((uint64_t)r, k);
		from = mine = (uint64_t)r + k;
		skip -= k;
	} while (skip);
	return (long)from;
}

void mg_note_ours(const void *start, uint64_t bytes)
{
	uint32_t i = __atomic_fetch_add(&mg.held_count, 1, __ATOMIC_RELAXED);
	if (i >= MG_HELD_MAX)
		return;
	mg.held[i][0] = (uint64_t)start;
	mg.held[i][1] = (uint64_t)start + bytes;
}

/* Unmaps a chunk that is superfluous, because another thread has mapped the same one first. */
static void give_back(const unsigned char *start, uint64_t bytes)
{
	for (uint32_t i = 0; i < MG_HELD_MAX; i++)
		if (mg.held[i][0] == (uint64_t)start)
			mg.held[i][0] = mg.held[i][1] = 0;
	unmap((uint64_t)start, bytes);
}

static long map_new(uint64_t bytes)
{
	return mg_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, UINT64_MAX, 0);
}

void mg_grow_init(void)
{
	long r = map_new(SEEDS * UINT64_C(4096));
	if (r < 0)
		return;
	mg_syscall(SYS_madvise, (uint64_t)r, SEEDS * UINT64_C(4096), MADV_DONTDUMP, 0, 0, 0);
	mg.seeds = (uint64_t)r;
	mg.seed_count = SEEDS;
}

/* G4 */
static long map_private(uint64_t bytes)
{
	uint32_t n = __atomic_load_n(&mg.seed_count, __ATOMIC_RELAXED);
	while (n && !__atomic_compare_exchange_n(&mg.seed_count, &n, n - 1, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
		continue;
	long r = n ? mg_syscall(SYS_mremap, mg.seeds + (n - 1) * UINT64_C(4096), 4096, bytes,
				MREMAP_MAYMOVE, 0, 0)
		   : -1;
	return r < 0 ? map_new(bytes) : r;
}

/* Maps `bytes` bytes: of private memory, or, if `shared` is given, of the file mapped there,
 * from `skip` bytes after `shared` on. */
static unsigned char *map(unsigned char *shared, uint64_t skip, uint64_t bytes)
{
	long r;
	__atomic_fetch_add(&mg.calling, 1, __ATOMIC_SEQ_CST); /* announces a system call: see C1 in
								 confine.c */
	if (mg_filtered() || (mg.gate != &mg_closed_gate && bytes > mg_grow_budget()))
		r = -1;
	else if (shared)
		r = map_behind((uint64_t)shared, skip, bytes);
	else
		r = map_private(bytes);
	if (r > 0)
		mg_note_ours((const void *)r, bytes);
	if (r > 0)
		mg_syscall(SYS_madvise, (uint64_t)r, bytes, MADV_DONTDUMP, 0, 0, 0);
	__atomic_fetch_sub(&mg.calling, 1, __ATOMIC_SEQ_CST);
	return r < 0 ? NULL : (unsigned char *)r;
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
		give_back(m, bytes);
	else if (!shared)
		own(m, bytes);
	return mg_grown(chunks, i, each);
}

unsigned char *mg_grow_slot(uint32_t i)
{
	uint64_t at = i * mg.head->slot_bytes;
	return mg.slots_mapped ? mg.slot_memory + at : map(mg.slot_memory, at, mg.head->slot_first);
}

void mg_grow_ahead(bool here)
{
	/* most of a limited address space is left to the program */
	bool limited = mg_grow_budget() != UINT64_MAX;
	uint32_t ahead = limited ? 2 * MG_CHUNK_FIRST : AHEAD;
	for (uint32_t i = 0; here && i < ahead && i < mg.session->ring_max; i += MG_CHUNK_FIRST) {
		mg_grow(mg.windows, i, mg.session->window_bytes);
		mg_grow(mg.writers, mg.writer_base + i, mg.writer_bytes);
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
