/* SPDX-License-Identifier: MIT
 * Processes of which nothing is known but what /proc said.
 */
#include "facts.h"

#include <stdio.h>

enum proc_only proc_only_read(struct model *m)
{
	static const char count[] = "SELECT count(*) FROM process WHERE coalesce(options, '')";
	char sql[160];
	snprintf(sql, sizeof sql, "%s != 'poll'", count);
	if (m->processes.n && ms_sql_int(m->db, sql, 1) == 0)
		return PROC_ONLY_POLL;
	snprintf(sql, sizeof sql, "%s NOT IN ('maps', 'smaps')", count);
	return m->processes.n && ms_sql_int(m->db, sql, 1) == 0 ? PROC_ONLY_REGIONS : PROC_ONLY_NOT;
}

uint64_t proc_only_heap(struct model *m, uint32_t process)
{
	if (process == NONE)
		return UNKNOWN;
	int64_t v = ms_sql_int(
		m->db,
		ms_arena_printf(&m->arena,
				"SELECT heap_bytes FROM sample WHERE process = %lld"
				" AND heap_bytes IS NOT NULL ORDER BY time_ns DESC LIMIT 1",
				(long long)m->processes.v[process].id),
		-1);
	return v < 0 ? UNKNOWN : (uint64_t)v;
}
