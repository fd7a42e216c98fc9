/* SPDX-License-Identifier: MIT
 * Finds what keeps live blocks alive: orders the roots, and leads through the steps.
 */
#include "keep.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "ms-record/base/clock.h"
#include "keep_work.h"

/* ---- roots and mappings in an order of their own ---- */

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct keep_root *roots = arg, *x = &roots[*(const uint32_t *)a],
			       *y = &roots[*(const uint32_t *)b];
	int c = MS_ORDER(x->rank, y->rank) ?: MS_ORDER(x->order, y->order);
	return c ?: MS_ORDER(x->kind, y->kind) ?: MS_ORDER(x, y);
}

static int by_size(const void *a, const void *b, void *arg)
{
	const struct keep_input *in = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = MS_ORDER(in->mapping_bytes[y], in->mapping_bytes[x]);
	if (!c && in->mapping_stacks)
		c = MS_ORDER(in->mapping_stacks[x], in->mapping_stacks[y]);
	return c ?: MS_ORDER(x, y);
}

/* Lists the words of each root, which have inner numbers from here on. */
static void sort_words(struct keep *k, const uint32_t *inner)
{
	const struct keep_input *in = k->in;
	uint32_t *end = k->first_word;
	for (size_t w = 0; w < in->word_count; w++)
		end[inner[in->words[w].root]]++;
	for (uint32_t r = 0; r < in->root_count; r++)
		end[r + 1] += end[r];
	for (size_t w = 0; w < in->word_count; w++) {
		uint32_t at = --end[inner[in->words[w].root]];
		k->word_to[at] = in->words[w].node;
		k->word_offset[at] = in->words[w].offset;
	}
}

static void order_roots(struct keep *k)
{
	const struct keep_input *in = k->in;
	k->outer = keep_take(k, in->root_count, sizeof *k->outer);
	k->turns = keep_take(k, in->root_count, sizeof *k->turns);
	k->moves = keep_take(k, in->root_count, sizeof *k->moves);
	k->first_word = keep_take(k, (uint64_t)in->root_count + 1, sizeof *k->first_word);
	k->word_to = keep_take(k, in->word_count, sizeof *k->word_to);
	k->word_offset = keep_take(k, in->word_count, sizeof *k->word_offset);
	uint32_t *inner = keep_take(k, in->root_count, sizeof *inner);
	if (k->state != KEEP_DONE)
		return;
	for (uint32_t r = 0; r < in->root_count; r++) {
		in->roots[r].observes = 0;
		k->outer[r] = r;
	}
	if (in->root_count)
		qsort_r(k->outer, in->root_count, sizeof *k->outer, by_rank, in->roots);
	for (uint32_t r = 0; r < in->root_count; r++) {
		inner[k->outer[r]] = r;
		k->moves[r] = !in->roots[k->outer[r]].first;
	}
	sort_words(k, inner);
	keep_drop(k, inner);
}

static void order_mappings(struct keep *k)
{
	uint32_t n = k->in->mapping_count;
	k->lone = keep_take(k, n, sizeof *k->lone);
	k->by_size = keep_take(k, n, sizeof *k->by_size);
	k->place = keep_take(k, n, sizeof *k->place);
	if (k->state != KEEP_DONE)
		return;
	for (uint32_t i = 0; i < n; i++)
		k->by_size[i] = i;
	if (n)
		qsort_r(k->by_size, n, sizeof *k->by_size, by_size, (void *)k->in);
	for (uint32_t i = 0; i < n; i++)
		k->place[k->by_size[i]] = i;
}

/* Orders the roots by the times at which they own: by rank, observers behind their rank. */
static void take_turns(struct keep *k)
{
	uint32_t n = 0, first = 0;
	while (first < k->in->root_count && keep_rank(k, first) == 1)
		first++;
	for (uint32_t moves = 0; moves <= 1 + ROUNDS_MOST; moves++)
		for (uint32_t r = 0; r < first; r++)
			if (k->moves[r] == moves)
				k->turns[n++] = r;
	for (; n < k->in->root_count; n++)
		k->turns[n] = n;
}

/* ---- all steps ---- */

static void find(struct keep *k)
{
	bool again = true;
	order_roots(k);
	order_mappings(k);
	for (uint32_t round = 0; again && !keep_over(k); round++) {
		take_turns(k);
		if (round)
			keep_number_again(k);
		else
			keep_number(k);
		if (!keep_over(k))
			keep_dominate(k);
		if (!keep_over(k))
			keep_reach(k);
		again = !keep_over(k) && keep_share(k, round < ROUNDS_MOST);
	}
	if (!keep_over(k))
		keep_span(k);
	if (!keep_over(k))
		keep_sum(k);
}

static uint64_t sum_sizes(const struct keep_input *in)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < in->block_count; i++)
		bytes += in->blocks[i].size;
	return bytes;
}

void keep_find(const struct keep_input *in, struct keep_result *out)
{
	uint64_t start_ns = clock_mono();
	struct keep k = {.in = in,
			 .mappings_at = in->block_count,
			 .nodes = in->block_count + in->mapping_count,
			 .live_bytes = sum_sizes(in)};
	uint64_t edges = in->first_edge[k.nodes], slots = edges + in->word_count;
	*out = (struct keep_result){0};
	if (slots >= UINT32_MAX || (uint64_t)k.nodes + in->root_count >= NEAR_CLASS)
		k.state = KEEP_MEMORY;
	else
		find(&k);
	if (!keep_over(&k))
		keep_tell(&k, out);
	keep_drop_all(&k);
	if (k.state != KEEP_DONE)
		keep_result_free(out);
	out->state = k.state;
	out->live_bytes = k.live_bytes;
	out->blocks = in->block_count;
	out->edges = edges;
	out->memory_bytes = k.most;
	out->took_ns = clock_mono() - start_ns;
}

void keep_result_free(struct keep_result *out)
{
	MS_FREE(out->rows, out->sets, out->paths);
	*out = (struct keep_result){0};
}
