/* SPDX-License-Identifier: MIT
 * Makes sites of blocks whose call stacks are not known: a function of a module that stands for the
 * dump, named after what is known of the blocks.
 */
#include "dump_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump_blocks.h"
#include "format/trace.h"
#include "libcommon/base/order.h"
#include "libcommon/symbols/symbols.h"
#include "ms-record/code/modules.h"
#include "ms-record/graph/graph.h"
#include "ms-record/session/session.h"

#define SMALL 1024u /* smaller blocks are apart by each size that glibc gives */
#define UNIT 16u

/* Makes a site. */
static uint32_t add(struct dump_sites *t, const char *name)
{
	struct session *s = t->s;
	if (!t->module)
		t->module = modules_named(&s->modules, MODULE_SOURCE, "core dump");
	modules_function(&s->modules, t->module, (uint32_t)++t->sites, name);
	struct ms_frame f = {.module = t->module, .address = MS_SOURCE_ADDRESS(t->sites, 0)};
	return stacks_node(&s->stacks, 0, &f);
}

/* Returns the name of a type in C++ or Python, in memory to be freed. */
static char *plain(const char *type)
{
	static const char vtable[] = "vtable for ";
	char *name = ms_demangle(type);
	if (!name || strncmp(name, vtable, sizeof vtable - 1))
		return name ?: ms_xstrdup(type);
	memmove(name, name + sizeof vtable - 1, strlen(name + sizeof vtable - 1) + 1);
	return name;
}

static uint32_t of_type(struct dump_sites *t, const char *type)
{
	uint32_t n, hash = ms_hash_text(type);
	for (size_t at = hash; (n = ms_lookup_next(&t->index, hash, &at));)
		if (!strcmp(t->v[n - 1].type, type))
			return t->v[n - 1].node;
	char *name = plain(type);
	*MS_PUSH(t) = (struct dump_site){ms_xstrdup(type), add(t, name)};
	ms_lookup_add(&t->index, hash, (uint32_t)t->n);
	free(name);
	return t->v[t->n - 1].node;
}

static uint32_t of_size(struct dump_sites *t, uint64_t size)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	char name[64];
	unsigned bits = 63 - (unsigned)__builtin_clzll(size | 1);
	bool small = size < SMALL;
	uint32_t *node = small ? &t->small[size / UNIT] : &t->large[bits];
	if (*node)
		return *node;
	if (small)
		snprintf(name, sizeof name, "block_of_%u", (unsigned)(size / UNIT * UNIT + 8));
	else
		snprintf(name, sizeof name, "block_of_%u%s_or_more", 1u << bits % 10,
			 units[bits / 10 - 1]);
	return *node = add(t, name);
}

uint32_t dump_site(struct dump_sites *t, const char *type, uint64_t size)
{
	return type ? of_type(t, type) : of_size(t, size);
}

void dump_sites_free(struct dump_sites *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].type);
	MS_FREE(t->v, t->index.slots);
}

/* ---- order ---- */

struct ordered {
	uint64_t number; /* 0 = older than all that have one */
	uint32_t index;
};

MS_COMPARE(by_number, struct ordered,
	   MS_ORDER(x->number, y->number) ?: MS_ORDER(x->index, y->index))

uint32_t *dump_order(const struct dump_blocks *b, const struct graph_block *v, uint32_t count)
{
	struct ordered *all = ms_xrealloc(NULL, (size_t)count + 1, sizeof *all);
	uint32_t *order = ms_xrealloc(NULL, (size_t)count + 1, sizeof *order);
	for (uint32_t i = 0; i < count; i++)
		all[i] =
			(struct ordered){v[i].number ? 1 + b->known[v[i].number - 1].number : 0, i};
	MS_SORT(all, count, by_number);
	for (uint32_t i = 0; i < count; i++)
		order[i] = all[i].index;
	free(all);
	return order;
}
