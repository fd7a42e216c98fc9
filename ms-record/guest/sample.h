/* SPDX-License-Identifier: MIT
 * Sampling: what hooks ask sample.c.
 */
#pragma once

#include "core.h"

/* A block's key is its address, with the highest bit set for one of ms_alloc. */
#define MG_SAMPLE_USER (UINT64_C(1) << 63)

/* Bytes up to and with the next sample point, at least 1, from 64 random bits. */
uint64_t mg_sample_distance(uint64_t random, uint64_t mean);
/* A thread takes a writer. */
void mg_sample_begin(struct mg_writer *t);
/* Memory for the tables of sampled blocks, the largest with 2^bits buckets; it has to be zero. */
#define MG_SAMPLE_BITS_MOST 16u
size_t mg_sample_table_bytes(uint32_t bits);
void mg_sample_table_init(void *memory, uint32_t bits);
/* Notes a block. */
void mg_sample_keep(uint64_t key);
/* Notes a block in a pool unless it is noted already: its end is not seen here. */
void mg_sample_keep_once(uint64_t key);
/* The countdown has run out, and nothing is recorded: what it was for is not a block. */
void mg_sample_again(struct mg_writer *t);
/* The countdown has run out: the block with this key is sampled. */
void mg_sample_take(struct mg_writer *t, uint64_t key);
/* Has memory that recording this block will look at come into the caches, all at once: nothing of it
 * was used for long. What mg_whole_ahead says. */
struct mg_whole *mg_sample_ahead(const struct mg_writer *t, const uint64_t *frame, uint64_t key);
/* Counts down. True: the allocation is to be recorded, and mg_sample_take to be called. */
MG_INLINE bool mg_sample_due(struct mg_writer *t, uint64_t key, uint64_t size)
{
	bool due = mg_count_down(MG_UNTIL_SAMPLE(t), size + !size);
	if (MG_LIKELY(!due) && !(key & MG_SAMPLE_USER))
		t->last_block = key; /* it was decided: see mg_nesting_end */
	return due;
}
#define MG_SAMPLE_GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define MG_SAMPLE_PAGES 65536u
MG_INLINE uint8_t *mg_sample_page(uint64_t key)
{
	return &mg.sample_pages[key >> 12 & (MG_SAMPLE_PAGES - 1)];
}
/* Is it certain that this block is none that was sampled? */
MG_INLINE bool mg_sample_unknown(uint64_t key)
{
	return !__atomic_load_n(mg_sample_page(key), __ATOMIC_RELAXED);
}
/* The slow ways to the same. Is this allocation to be recorded? Then its block is noted. `frame` is
 * the hook's caller's. */
bool mg_sample_alloc(const uint64_t *frame, uint64_t key, uint64_t size);
/* Is this block's free to be recorded? Then the block is forgotten. */
enum mg_sampled { MG_SAMPLED_NO, MG_SAMPLED_YES, MG_SAMPLED_UNSURE };
enum mg_sampled mg_sample_free(uint64_t key);
