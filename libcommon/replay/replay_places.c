/* SPDX-License-Identifier: MIT
 * Where events of the live-heap model belong: tables of sites, threads, and both together.
 */
#include "replay_private.h"

#include "libcommon/base/arena.h"

#include <stdlib.h>
#include <string.h>

void ms_replay_nodes(struct ms_replay *r, size_t count)
{
	if (count > r->node_count)
		r->node_count = count;
	if (count <= r->node_cap)
		return;
	size_t cap = r->node_cap ? r->node_cap : 1024;
	while (cap < count)
		cap *= 2;
	r->site_of_node = ms_xrealloc(r->site_of_node, cap, sizeof *r->site_of_node);
	memset(r->site_of_node + r->node_cap, 0, (cap - r->node_cap) * sizeof *r->site_of_node);
	r->node_cap = cap;
}

uint32_t ms_replay_new_site(struct ms_replay *r, uint32_t node)
{
	if (r->site_count == r->site_cap)
		r->sites = ms_xrealloc(r->sites, r->site_cap = r->site_cap ? r->site_cap * 2 : 256,
				       sizeof *r->sites);
	r->sites[r->site_count] = ms_replay_idle_site(node);
	r->site_of_node[node] = (uint32_t)++r->site_count;
	return (uint32_t)r->site_count - 1;
}

void ms_replay_more_threads(struct ms_replay *r, size_t count)
{
	size_t cap = r->thread_count ? r->thread_count : 16;
	while (cap < count)
		cap *= 2;
	r->threads = ms_xrealloc(r->threads, cap, sizeof *r->threads);
	for (size_t i = r->thread_count; i < cap; i++)
		r->threads[i] = (struct ms_replay_thread){.last = MS_NEVER};
	r->thread_count = cap;
}

static size_t record_home(const struct ms_replay *r, uint32_t site, uint32_t thread)
{
	uint64_t key = (uint64_t)site << 32 | thread;
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 24) & r->record_mask;
}

static void grow_record_table(struct ms_replay *r)
{
	size_t size = (r->record_mask + 1) * 2;
	free(r->record_table);
	r->record_table = memset(ms_xrealloc(NULL, size, sizeof *r->record_table), 0,
				 size * sizeof *r->record_table);
	r->record_mask = size - 1;
	for (size_t n = 0; n < r->record_count; n++) {
		size_t i = record_home(r, r->records[n].site, r->records[n].thread);
		while (r->record_table[i])
			i = (i + 1) & r->record_mask;
		r->record_table[i] = (uint32_t)n + 1;
	}
}

static uint32_t find_record(struct ms_replay *r, uint32_t site, uint32_t thread)
{
	size_t i = record_home(r, site, thread);
	for (; r->record_table[i]; i = (i + 1) & r->record_mask) {
		const struct ms_replay_site_thread *s = &r->records[r->record_table[i] - 1];
		if (s->site == site && s->thread == thread)
			return r->record_table[i] - 1;
	}
	if (r->record_count == r->record_cap)
		r->records = ms_xrealloc(r->records,
					 r->record_cap = r->record_cap ? r->record_cap * 2 : 256,
					 sizeof *r->records);
	r->records[r->record_count] =
		(struct ms_replay_site_thread){.site = site, .thread = thread};
	r->record_table[i] = (uint32_t)++r->record_count;
	if (r->record_count * 2 > r->record_mask)
		grow_record_table(r);
	return (uint32_t)r->record_count - 1;
}

uint32_t ms_replay_record(struct ms_replay *r, uint32_t site, uint32_t thread)
{
	uint32_t n = r->sites[site].record;
	if (n == UINT32_MAX || r->records[n].thread != thread)
		r->sites[site].record = n = find_record(r, site, thread);
	return n;
}
