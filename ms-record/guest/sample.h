/* SPDX-License-Identifier: MIT
 * Sampling: what hooks ask sample.c.
 */
#pragma once

#include "core.h"

/* A block's key is its address, with the highest bit set if ms_alloc allocated the block. */
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
/* Adds a block to the sampled blocks. */
void mg_sample_keep(uint64_t key);
/* Adds a block in a pool to the sampled blocks, unless it is among them already. An earlier
 * block at its address may still be, because no frees are reported for blocks in a pool. */
void mg_sample_keep_once(uint64_t key);
/* Restarts the countdown without recording anything, because it ended at something other than a
 * block. */
void mg_sample_again(struct mg_writer *t);
/* Restarts the countdown, and adds the block with this key to the sampled blocks. */
void mg_sample_take(struct mg_writer *t, uint64_t key);
/* Prefetches the memory that recording this block will access, because it is probably no longer
 * cached. Returns the result of mg_whole_ahead. */
struct mg_whole *mg_sample_ahead(const struct mg_writer *t, const uint64_t *frame, uint64_t key);
/* Subtracts `size` from the countdown. Returns true if the allocation has to be recorded; the
 * caller then calls mg_sample_take. */
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
/* Tells whether this allocation has to be recorded, and if so adds its block to the sampled
 * blocks: the slow path of mg_sample_due. `frame`: the hook's frame. */
bool mg_sample_alloc(const uint64_t *frame, uint64_t key, uint64_t size);
/* Tells whether this block's free has to be recorded, and if so removes the block from the
 * sampled blocks. */
enum mg_sampled { MG_SAMPLED_NO, MG_SAMPLED_YES, MG_SAMPLED_UNSURE };
enum mg_sampled mg_sample_free(uint64_t key);
