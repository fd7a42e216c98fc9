/* SPDX-License-Identifier: MIT
 * Sampling: which allocations are recorded when not all are, and which blocks those were.
 *
 * Every byte asked for is a sample point with probability 1 - exp(-1/mean), each by itself, and an
 * allocation is recorded when one of its bytes is: with probability 1 - exp(-size/mean), whatever
 * came before it. A size of 0 counts as one byte. Instead of drawing for each byte, a writer draws
 * how many bytes go by up to and with the next point (a geometric distribution, which is an
 * exponential one rounded up) and counts down. So an allocation that is not recorded costs a
 * subtraction. The countdown is the thread's and begins with its writer; one that is given up, or
 * goes on later, biases nothing, since it has no memory.
 *
 * The addresses of recorded blocks are kept, so that only the frees of these blocks are recorded:
 *
 *   pages   one byte per page, modulo 256 MiB: recorded blocks in it   (0 for most: nothing to do)
 *
 * and up to three tables, each larger than the one before, whose memory few programs ever touch:
 *
 *   counts  one byte per bucket: recorded blocks whose home it is
 *   slots   16 per bucket; a block lies in its home or in the next     (0 = empty)
 *
 * A free looks at its page only, whose byte lies beside those of its neighbours: what a program frees
 * lies together, and is not spread over the whole table as homes are.
 *
 *  S1 A block is added before the hook that made it returns, and removed before the real free is
 *     called: the thread that frees it finds it, and its address is absent when it is reused.
 *  S2 No other thread looks for the same address meanwhile, except in a program that frees twice.
 *     So slots are taken and emptied by compare-and-swap and nothing else orders them.
 *  S3 A bucket whose 32 slots are all in use is marked OVERFLOWED for good: some of its blocks are
 *     not there, but in the next table. Of the last one a free that finds none is sent as unsure, and
 *     their pages count them for good.
 *  S4 A page's count that has reached 255 stays so: it only tells whether the page may have blocks.
 */
#include "sample.h"

#define SLOTS 16u
#define WINDOW 32u      /* number of slots searched: those of the home bucket and of the next one */
#define WRITER_HOT 192u /* bytes of a writer that recording a sample accesses */
#define OVERFLOWED 0x80u
#define BITS_FIRST 8u
#define BITS_STEP 4u
#define GOLDEN MG_SAMPLE_GOLDEN
#define LN2 UINT64_C(0xb17217f7d1cf79ac)        /* scaled by 2^64 */
#define TWO_BY_LN2 UINT64_C(0xb8aa3b295c17f0bc) /* scaled by 2^62 */
#define LOG_BITS 52

/* ---- the countdown ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t times(uint64_t a, uint64_t b, unsigned shift)
{
	return (uint64_t)((unsigned __int128)a * b >> shift);
}

/* Returns -log2(u / 2^64) in units of 2^-LOG_BITS; for 0, the value for 1. With u / 2^64 = m /
 * 2^(zeros + 1) and m in [1, 2): log2(m) = 2 / ln 2 artanh((m - 1) / (m + 1)), or 1 - log2(2 /
 * m) if m is nearer to 2. Uses no table, which would not be cached, and no loop over bits. */
static uint64_t minus_log2(uint64_t u)
{
	const uint64_t one = UINT64_C(1) << 62, two = one * 2; /* scale of num and r */
	uint64_t zeros = u ? (uint64_t)__builtin_clzll(u) : 63;
	uint64_t m = (u ? u : 1) << zeros >> 1;
	bool upper = m > UINT64_C(0x5a827999fcef3242); /* sqrt(2), at the scale of m */
	uint64_t num = upper ? two - m : m - one, den = upper ? two + m : one + m; /* scale 2^62 */
	/* 1 / den: a linear estimate and three Newton steps. */
	uint64_t r =
		upper ? UINT64_C(0x8a8ba75ddc29a800) - times(UINT64_C(0x4abef385641ab000), den, 64)
		      : UINT64_C(0xe900f47985aad800) - times(UINT64_C(0xd323b76aa9a00000), den, 64);
	for (int i = 0; i < 3; i++)
		r = times(r, two - times(den, r, 64), 62);
	uint64_t z = times(num, r, 62), square = times(z, z, 64), sum = 0;
#pragma GCC unroll 7
	for (uint64_t k = 7; k > 0; k--) /* z^2 / 3 + z^4 / 5 + ... */
		sum = times(square, UINT64_MAX / (2 * k + 1) + sum, 64);
	uint64_t log2 = times(z + times(z, sum, 64), TWO_BY_LN2, 62 + 64 - LOG_BITS);
	return upper ? (zeros << LOG_BITS) + log2 : ((zeros + 1) << LOG_BITS) - log2;
}

uint64_t mg_sample_distance(uint64_t random, uint64_t mean)
{
	uint64_t log2 = minus_log2(random);
	/* mean * ln 2, scaled by 2^20 */
	uint64_t scale = (uint64_t)((unsigned __int128)mean * LN2 >> 44);
	unsigned __int128 one = (unsigned __int128)1 << (LOG_BITS + 20);
	uint64_t bytes = (uint64_t)(((unsigned __int128)log2 * scale + one - 1) >> (LOG_BITS + 20));
	return bytes ? bytes : 1;
}

void mg_sample_again(struct mg_writer *t)
{
	t->random += GOLDEN;
	*MG_UNTIL_SAMPLE(t) = (int64_t)mg_sample_distance(mix(t->random), mg.session->sample_bytes);
}

void mg_sample_begin(struct mg_writer *t)
{
	uint64_t index = (uint64_t)(t->ring - mg.rings) + 1;
	if (!t->random)
		t->random = mix(mg.session->sample_seed + mix(index * GOLDEN)) | 1;
	mg_sample_again(t);
}

/* ---- the blocks ---- */

static uint32_t bits_of(uint32_t table, uint32_t most)
{
	uint32_t bits = BITS_FIRST + table * BITS_STEP;
	return table + 1 < MG_SAMPLE_TABLES && bits < most ? bits : most;
}

static size_t bytes_of(uint32_t bits)
{
	size_t buckets = (size_t)1 << bits;
	return buckets + (buckets + 1) * SLOTS * sizeof(uint64_t);
}

size_t mg_sample_table_bytes(uint32_t bits)
{
	size_t bytes = MG_SAMPLE_PAGES + bytes_of(bits);
	for (uint32_t i = 0; bits_of(i, bits) < bits; i++)
		bytes += bytes_of(bits_of(i, bits));
	return bytes;
}

void mg_sample_table_init(void *memory, uint32_t bits)
{
	uint8_t *at = mg.sample_pages = memory;
	at += MG_SAMPLE_PAGES;
	for (uint32_t i = 0;; i++) {
		uint32_t n = bits_of(i, bits);
		mg.sample_tables[i] = (struct mg_sample_table){
			at, (uint64_t *)(void *)(at + ((size_t)1 << n)), 64 - n};
		mg.sample_last = (uint8_t)i;
		if (n == bits)
			break;
		at += bytes_of(n);
	}
}

static uint64_t home_of(const struct mg_sample_table *m, uint64_t key)
{
	return (key >> 4) * GOLDEN >> m->shift;
}

/* Adds `by` to the count of a page, unless the count is UINT8_MAX (S4). */
static void count_page(uint64_t key, int by)
{
	uint8_t *page = mg_sample_page(key), n = __atomic_load_n(page, __ATOMIC_RELAXED);
	while (n != UINT8_MAX && !__atomic_compare_exchange_n(page, &n, (uint8_t)(n + by), true,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

struct mg_whole *mg_sample_ahead(const struct mg_writer *t, const uint64_t *frame, uint64_t key)
{
	const struct mg_sample_table *m = mg.sample_tables;
	uint64_t home = home_of(m, key);
	_Static_assert(offsetof(struct mg_writer, random) < WRITER_HOT, "and what is before it");
	for (uint32_t i = 0; i < WRITER_HOT; i += 64)
		__builtin_prefetch((const char *)t + i, 1);
	__builtin_prefetch(&mg.session->state);
	__builtin_prefetch(mg_sample_page(key), 1);
	__builtin_prefetch(m->slots + home * SLOTS, 1);
	__builtin_prefetch(&m->counts[home], 1);
	__builtin_prefetch(t->window + t->offset, 1);
	__builtin_prefetch(t->window + t->offset + 64, 1);
	__builtin_prefetch(&t->ring->head, 1);
	return mg_whole_ahead(t, frame);
}

void mg_sample_take(struct mg_writer *t, uint64_t key)
{
	mg_sample_again(t);
	mg_sample_keep(key);
}

/* Replaces `was` by `now` in a slot of the home bucket or the next one; one of the two values is
 * 0 (empty). Returns false if no slot holds `was`. */
static bool change(const struct mg_sample_table *m, uint64_t home, uint64_t was, uint64_t now)
{
	uint64_t *slot = m->slots + home * SLOTS;
	for (uint32_t i = 0; i < WINDOW; i++, slot++) {
		uint64_t old = was;
		if (__atomic_load_n(slot, __ATOMIC_RELAXED) != was ||
		    !__atomic_compare_exchange_n(slot, &old, now, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(&m->counts[home], now ? 1 : -1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

void mg_sample_keep(uint64_t key)
{
	count_page(key, 1);
	for (uint32_t i = 0; i <= mg.sample_last; i++) {
		const struct mg_sample_table *m = &mg.sample_tables[i];
		uint64_t home = home_of(m, key);
		if (change(m, home, 0, key))
			return;
		__atomic_fetch_or(&m->counts[home], OVERFLOWED, __ATOMIC_RELAXED);
	}
}

void mg_sample_keep_once(uint64_t key)
{
	for (uint32_t i = 0; i <= mg.sample_last; i++) {
		const struct mg_sample_table *m = &mg.sample_tables[i];
		uint64_t home = home_of(m, key), *slot = m->slots + home * SLOTS;
		for (uint32_t k = 0; k < WINDOW; k++)
			if (__atomic_load_n(&slot[k], __ATOMIC_RELAXED) == key)
				return;
		if (!(__atomic_load_n(&m->counts[home], __ATOMIC_RELAXED) & OVERFLOWED))
			break;
	}
	mg_sample_keep(key);
}

enum mg_sampled mg_sample_free(uint64_t key)
{
	if (mg_sample_unknown(key))
		return MG_SAMPLED_NO;
	for (uint32_t i = 0; i <= mg.sample_last; i++) {
		const struct mg_sample_table *m = &mg.sample_tables[i];
		uint64_t home = home_of(m, key);
		uint8_t count = __atomic_load_n(&m->counts[home], __ATOMIC_RELAXED);
		if (count & ~OVERFLOWED && change(m, home, key, 0)) {
			count_page(key, -1);
			return mg.pools_sampled ? MG_SAMPLED_UNSURE : MG_SAMPLED_YES;
		}
		if (!(count & OVERFLOWED))
			return MG_SAMPLED_NO;
	}
	return MG_SAMPLED_UNSURE;
}

/* ---- what hooks ask ---- */

/* Returns the writer that holds this thread's countdown. A thread gets its writer at its first
 * allocation, recorded or not. */
static struct mg_writer *countdown_of(const uint64_t *frame)
{
	uintptr_t self = *MG_SELF;
	if (MG_LIKELY(self && !(self & 1)))
		return (struct mg_writer *)self;
	struct mg_writer *t = mg_enter_slow((struct mg_writer *)self, frame);
	if (t)
		mg_leave(t);
	return t;
}

bool mg_sample_alloc(const uint64_t *frame, uint64_t key, uint64_t size)
{
	struct mg_writer *t = countdown_of(frame);
	if (!t || !mg_sample_due(t, key, size))
		return false;
	if (MG_UNLIKELY(mg.hooked) && !(key & MG_SAMPLE_USER) && mg_custom_hides(frame)) {
		mg_sample_again(t);
		return false;
	}
	mg_sample_take(t, key);
	return true;
}
