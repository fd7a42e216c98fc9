/* SPDX-License-Identifier: MIT
 * Where events of the live-heap model belong: tables of sites, threads, and both together.
 */
#include "replay_private.h"

#include "libcommon/base/arena.h"

void ms_replay_nodes(struct ms_replay *r, size_t count)
{
	if (count > r->node_count)
		r->node_count = count;
	r->site_of_node = ms_xgrow(r->site_of_node, &r->node_cap, count, sizeof *r->site_of_node);
}

uint32_t ms_replay_new_site(struct ms_replay *r, uint32_t node)
{
	*MS_APPEND(r->sites, r->site_count, r->site_cap) = ms_replay_idle_site(node);
	r->site_of_node[node] = (uint32_t)r->site_count;
	return (uint32_t)r->site_count - 1;
}

void ms_replay_more_threads(struct ms_replay *r, size_t count)
{
	size_t i = r->thread_count;
	r->threads = ms_xgrow(r->threads, &r->thread_count, count, sizeof *r->threads);
	for (; i < r->thread_count; i++)
		r->threads[i].last = MS_NEVER;
}

static uint32_t find_record(struct ms_replay *r, uint32_t site, uint32_t thread)
{
	uint32_t hash = ms_hash(site, thread), n;
	for (size_t at = hash; (n = ms_lookup_next(&r->record_index, hash, &at));)
		if (r->records[n - 1].site == site && r->records[n - 1].thread == thread)
			return n - 1;
	*MS_APPEND(r->records, r->record_count, r->record_cap) =
		(struct ms_replay_site_thread){.site = site, .thread = thread};
	ms_lookup_add(&r->record_index, hash, (uint32_t)r->record_count);
	return (uint32_t)r->record_count - 1;
}

uint32_t ms_replay_record(struct ms_replay *r, uint32_t site, uint32_t thread)
{
	uint32_t n = r->sites[site].record;
	if (n == UINT32_MAX || r->records[n].thread != thread)
		r->sites[site].record = n = find_record(r, site, thread);
	return n;
}
