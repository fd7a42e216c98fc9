/* SPDX-License-Identifier: MIT
 * A hash table of numbers: adding and growing.
 */
#include "lookup.h"

#include "arena.h"
#include "ready.h"

#include <stdlib.h>
#include <string.h>

static void put(struct ms_lookup *x, struct ms_lookup_slot s)
{
	size_t i = s.hash;
	while (x->slots[i & x->mask].number)
		i++;
	x->slots[i & x->mask] = s;
}

void ms_lookup_add(struct ms_lookup *x, uint32_t hash, uint32_t number)
{
	if (x->n * 2 >= x->mask) {
		struct ms_lookup old = *x;
		x->mask = old.slots ? old.mask * 2 + 1 : 255;
		x->slots = ms_xcalloc(x->mask + 1, sizeof *x->slots);
		ready_huge(x->slots, (x->mask + 1) * sizeof *x->slots);
		for (size_t i = 0; old.slots && i <= old.mask; i++)
			if (old.slots[i].number)
				put(x, old.slots[i]);
		free(old.slots);
	}
	put(x, (struct ms_lookup_slot){hash, number});
	x->n++;
}

void ms_lookup_clear(struct ms_lookup *x)
{
	if (x->n)
		memset(x->slots, 0, (x->mask + 1) * sizeof *x->slots);
	x->n = 0;
}
