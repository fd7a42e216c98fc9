/* SPDX-License-Identifier: MIT
 * Keeps where pointers lie, those to ranges of memory, and the types of blocks: what is needed beside
 * verdicts to find what keeps blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "graph_work.h"

void graph_keep(struct graph *g, struct graph_kept *kept)
{
	uint64_t end = g->low + g->span;
	g->kept = kept;
	kept->type_of_bytes = kept->type_count ? (size_t)g->count * sizeof *kept->type_of : 0;
	if (kept->type_of_bytes)
		kept->type_of = graph_zeroed(kept->type_of_bytes);
	if (!kept->range_count)
		return;
	/* Words that point to a range must not be sifted out. */
	const struct graph_range *first = kept->ranges, *last = first + kept->range_count - 1;
	g->low = !g->count || first->start < g->low ? first->start : g->low;
	end = !g->count || last->end > end ? last->end : end;
	g->span = end - g->low;
}

void graph_kept_free(struct graph_kept *k)
{
	MS_FREE(k->words.v, k->links.v, k->offsets);
	if (k->type_of)
		graph_release(k->type_of, k->type_of_bytes);
	*k = (struct graph_kept){0};
}

uint32_t graph_range_of(const struct graph *g, uint64_t address)
{
	const struct graph_kept *k = g->kept;
	size_t i = MS_COUNT_UP_TO(k->ranges, k->range_count, end, address);
	return i < k->range_count && k->ranges[i].start <= address ? g->count + (uint32_t)i
								   : NOBODY;
}

void graph_keep_type(struct graph *g, uint32_t block, const void *bytes, size_t size)
{
	static const uint8_t places[] = {0, 1, 3};
	struct graph_kept *k = g->kept;
	uint64_t first = k->types[0].start, last = k->types[k->type_count - 1].end, word;
	for (size_t i = 0; i < sizeof places && size >= 8 * (places[i] + UINT64_C(1)); i++) {
		memcpy(&word, (const uint8_t *)bytes + (size_t)8 * places[i], 8);
		if (word % 8 || word < first || word >= last)
			continue;
		size_t t = MS_COUNT_UP_TO(k->types, k->type_count, end, word);
		if (t == k->type_count || k->types[t].start > word)
			continue;
		k->type_of[block] = word | places[i];
		return;
	}
}

void graph_keep_word(struct graph *g, uint64_t address, uint32_t to)
{
	if (to != NOBODY)
		*MS_PUSH(&g->kept->words) = (struct graph_word){address, to};
}
