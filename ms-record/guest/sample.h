/* SPDX-License-Identifier: MIT
 * Sampling: what hooks ask sample.c.
 */
#pragma once

#include "core.h"

/* A block's key is its address, with the highest bit set for one of ms_alloc. */
#define MG_SAMPLE_USER (UINT64_C(1) << 63)

/* Returns the number of bytes up to and including the next sample point, at least 1, computed
 * from 64 random bits. `mean`: mean distance of sample points, in bytes. */
uint64_t mg_sample_distance(uint64_t random, uint64_t mean);
/* Starts the countdown of a writer that a thread has claimed. */
void mg_sample_begin(struct mg_writer *t);
/* Returns the number of bytes that the tables of sampled blocks need; the largest has 2^bits
 * buckets. mg_sample_table_init places the tables in zeroed memory of that size. */
#define MG_SAMPLE_BITS_MOST 16u
size_t mg_sample_table_bytes(uint32_t bits);
void mg_sample_table_init(void *memory, uint32_t bits);
/* Notes a block. */
void mg_sample_keep(uint64_t key);
/* Notes a block in a pool, unless it is noted already: pooled blocks are freed without a free
 * that is seen here. */
void mg_sample_keep_once(uint64_t key);
/* Restarts the countdown, without recording anything: it ran out on something that is not a
 * block. */
void mg_sample_again(struct mg_writer *t);
/* Restarts the countdown, and notes the block with this key as sampled. */
void mg_sample_take(struct mg_writer *t, uint64_t key);
/* Prefetches the memory that recording this block will access, which has probably left the
 * caches. Returns what mg_whole_ahead returns. */
struct mg_whole *mg_sample_ahead(const struct mg_writer *t, const uint64_t *frame, uint64_t key);
/* Counts down by `size`. True: the allocation is to be recorded, and mg_sample_take is to be
 * called. */
MG_INLINE bool mg_sample_due(struct mg_writer *t, uint64_t key, uint64_t size)
{
	bool due = mg_count_down(MG_UNTIL_SAMPLE(t), size + !size);
	if (MG_LIKELY(!due) && !(key & MG_SAMPLE_USER))
		/* not sampled, and not to be counted again: see mg_nesting_end */
		t->last_block = key;
	return due;
}
#define MG_SAMPLE_GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define MG_SAMPLE_PAGES 65536u
MG_INLINE uint8_t *mg_sample_page(uint64_t key)
{
	return &mg.sample_pages[key >> 12 & (MG_SAMPLE_PAGES - 1)];
}
/* Tells whether this block is certainly not a sampled one. */
MG_INLINE bool mg_sample_unknown(uint64_t key)
{
	return !__atomic_load_n(mg_sample_page(key), __ATOMIC_RELAXED);
}
/* Tells whether this allocation is to be recorded, and if so notes its block: the slow path of
 * mg_sample_due. `frame`: the hook's frame. */
bool mg_sample_alloc(const uint64_t *frame, uint64_t key, uint64_t size);
/* Tells whether this block's free is to be recorded, and if so removes the block. */
enum mg_sampled { MG_SAMPLED_NO, MG_SAMPLED_YES, MG_SAMPLED_UNSURE };
enum mg_sampled mg_sample_free(uint64_t key);
