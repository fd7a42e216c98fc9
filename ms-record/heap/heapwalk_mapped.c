/* SPDX-License-Identifier: MIT
 * Finds blocks that have a mapping of their own, because they are large. No list has them; their
 * headers are at the beginning of pages, and glibc counts the blocks, which shows whether all were
 * found.
 */
#include <string.h>

#include "heapwalk_private.h"
#include "libcommon/base/arena.h"

#define MAPPED 2u
#define LOOKS_MOST (1u << 18)
#define ALIGN_MOST (UINT64_C(1) << 30)

/* Reads glibc's count of blocks that have their own mapping. Returns false if it is unknown. */
static bool counted(const struct walk *k, uint64_t *n)
{
	uint32_t count;
	if (!k->mapped_at || !walk_get(k, k->mapped_at, &count, sizeof count))
		return false;
	*n = count;
	return true;
}

/* Returns the size of the mapping that begins at `at` if it can be that of one block, else 0. */
static uint64_t mapping(const struct walk *k, uint64_t at, uint64_t end)
{
	uint64_t head[2];
	if (end - at < PAGE || !walk_get(k, at, head, sizeof head) || (head[1] & 7) != MAPPED)
		return 0;
	uint64_t bytes = head[1] & ~UINT64_C(7);
	return !head[0] && bytes && bytes % PAGE == 0 && bytes <= end - at ? bytes : 0;
}

/* Adds a block. The header of an aligned block is not at the start of the mapping, but contains
 * its distance from the start. */
static void add_block(struct walk *k, uint64_t at, uint64_t bytes)
{
	uint64_t head[2], off = 0;
	for (uint64_t align = 32; align <= ALIGN_MOST && align - 16 < bytes && !off; align *= 2) {
		uint64_t to = ((at + 16 + align - 1) & ~(align - 1)) - 16 - at;
		if (to && walk_written(k, at + to) && walk_get(k, at + to, head, sizeof head) &&
		    head[0] == to && head[1] == ((bytes - to) | MAPPED))
			off = to;
	}
	*MS_PUSH(&k->out->used) = (struct heapwalk_block){at + off + 16, bytes - off - 16};
	k->out->mapped++;
}

static bool may_have(const struct walk *k, size_t i)
{
	const struct attach_map *m = &k->maps.v[i], *below = i ? m - 1 : NULL;
	/* The space into which an arena's last heap may grow looks like a stack's guard. */
	bool stack = below && below->end == m->start && !below->read && !below->write &&
		     !walk_in_heap(k, m->start - 1);
	return m->read && m->write && !m->shared && !m->inode &&
	       (!m->path[0] || (m->path[0] == '[' && !strncmp(m->path, "[anon:", 6) &&
				strcmp(m->path, "[anon:memscope]") != 0)) &&
	       !stack && !walk_in_heap(k, m->start + PAGE - 8);
}

/* Searches a map for blocks, from its start. `each`: checks every page, also after other
 * mappings. */
static void look(struct walk *k, const struct attach_map *m, bool each)
{
	unsigned *looks = &k->pages.looks;
	for (uint64_t at = m->start, bytes; at < m->end && *looks < LOOKS_MOST && !walk_over(k);) {
		bytes = 0;
		if (walk_written(k, at)) {
			++*looks;
			bytes = mapping(k, at, m->end);
		}
		if (bytes)
			add_block(k, at, bytes);
		else if (!each)
			return;
		at += bytes ? bytes : PAGE;
	}
}

void walk_mapped(struct walk *k)
{
	uint64_t want = 0;
	size_t before = k->out->used.n;
	if (!counted(k, &want)) {
		walk_missing(k, "the number of mmapped blocks is not known");
		return;
	}
	/* Other mappings may come first in the same map: then every page is checked. */
	for (int each = 0; each < 2 && want && k->out->mapped != want && !walk_over(k); each++) {
		k->pages.looks = 0;
		k->pages.n = 0;
		k->out->used.n = before;
		k->out->mapped = 0;
		for (size_t i = 0; i < k->maps.n; i++)
			if (may_have(k, i))
				look(k, &k->maps.v[i], each);
		counted(k, &want);
	}
	if (k->out->mapped != want)
		walk_missing(k, "not all mmapped blocks were found");
}
