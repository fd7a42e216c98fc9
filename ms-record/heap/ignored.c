/* SPDX-License-Identifier: MIT
 * Lists blocks that the program declared to be no leaks.
 */
#include "ignored.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"

#define LEAST 4096u

MS_COMPARE(by_address, struct ignored_at,
	   MS_ORDER(x->address, y->address) ?: MS_ORDER(x->next, y->next))

/* Removes entries that a later entry of the same address replaces. */
static void tidy(struct ignored *g)
{
	size_t n = 0;
	qsort(g->v, g->n, sizeof *g->v, by_address);
	for (size_t i = 0; i < g->n; i++)
		if (i + 1 == g->n || g->v[i + 1].address != g->v[i].address)
			g->v[n++] = g->v[i];
	g->n = n;
	g->least = n * 2 > LEAST ? n * 2 : LEAST;
}

void ignored_add(struct ignored *g, uint64_t address, uint64_t next)
{
	if (g->n > g->least)
		tidy(g);
	*MS_PUSH(g) = (struct ignored_at){address, next};
}

void ignored_copy(struct ignored *to, const struct ignored *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		*MS_PUSH(to) = from->v[i];
}

void ignored_free(struct ignored *g)
{
	free(g->v);
	*g = (struct ignored){0};
}
