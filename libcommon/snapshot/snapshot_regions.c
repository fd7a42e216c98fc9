/* SPDX-License-Identifier: MIT
 * A snapshot of regions, row by row.
 */
#include "snapshot_regions.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A process that was seen before, by number and start. */
struct known {
	pid_t pid;
	uint64_t start_ticks;
	int64_t id;
	uint64_t first_ns;
};

struct ms_region_snapshot {
	sqlite3 *db;
	struct ms_err *err;
	bool smaps, all;
	uint64_t wall_ns;
	struct ms_insert process, snapshot, region, sample, skipped;
	struct {
		struct known *v;
		size_t n, cap;
	} known;
	int64_t snapshots;
	struct utsname machine;
};

static int open_inserts(struct ms_region_snapshot *s)
{
	ms_insert_open(&s->process, s->db, "process",
		       "id, pid, ppid, comm, exe, command, host, kernel, started_ns, offset_ns, "
		       "machine, page_size, recorder, complete, state, events, attached, options",
		       s->err);
	ms_insert_open(&s->snapshot, s->db, "snapshot",
		       "id, process, label, time_ns, rss_bytes, pss_bytes, private_bytes, "
		       "swap_bytes",
		       s->err);
	ms_insert_open(&s->region, s->db, "region",
		       "process, snapshot, start, end, kind, perms, path, file_offset, rss_bytes, "
		       "pss_bytes, private_bytes, swap_bytes, shared_clean_bytes, "
		       "shared_dirty_bytes, private_clean_bytes, private_dirty_bytes",
		       s->err);
	ms_insert_open(&s->sample, s->db, "sample",
		       "process, time_ns, rss_bytes, pss_bytes, private_bytes, swap_bytes, "
		       "vsz_bytes, minor_faults, major_faults, user_ns, system_ns, threads, "
		       "heap_bytes",
		       s->err);
	ms_insert_open(&s->skipped, s->db, "skipped", "time_ns, pid, name, reason", s->err);
	return s->process.stmt && s->snapshot.stmt && s->region.stmt && s->sample.stmt &&
			       s->skipped.stmt
		       ? 0
		       : -1;
}

static int close_inserts(struct ms_region_snapshot *s)
{
	struct ms_insert *all[] = {&s->process, &s->snapshot, &s->region, &s->sample, &s->skipped};
	int rc = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		rc |= ms_insert_close(all[i]);
	return rc;
}

struct ms_region_snapshot *ms_region_snapshot_new(bool smaps, bool all, uint64_t wall_ns,
						  struct ms_err *err)
{
	struct ms_region_snapshot *s = ms_xcalloc(1, sizeof *s);
	s->err = err;
	s->smaps = smaps;
	s->all = all;
	s->wall_ns = wall_ns;
	uname(&s->machine);
	s->db = ms_snapshot_new(err);
	if (s->db && ms_sql_exec(s->db, "BEGIN", err) == 0 && open_inserts(s) == 0)
		return s;
	ms_region_snapshot_end(s);
	return NULL;
}

/* ---- processes ---- */

static void put_command(struct ms_insert *in, const struct ms_region_process *p)
{
	struct ms_arena a = {0};
	struct ms_strings words = {0};
	/* Some write their state over their arguments and leave the rest empty. */
	size_t n = p->args_bytes;
	while (n && !p->args[n - 1])
		n--;
	for (size_t at = 0; p->args && at < n; at += strlen(p->args + at) + 1)
		*MS_PUSH(&words) = p->args + at;
	ms_put_text(in, words.n ? ms_json_array(&a, &words) : NULL);
	free(words.v);
	ms_arena_free(&a);
}

static const struct known *add_process(struct ms_region_snapshot *s,
				       const struct ms_region_process *p)
{
	struct known *k = MS_PUSH(&s->known);
	struct ms_insert *in = &s->process;
	*k = (struct known){p->proc->pid, p->proc->start_ticks, (int64_t)s->known.n, p->time_ns};
	ms_put(in, (uint64_t)k->id);
	ms_put(in, (uint64_t)p->proc->pid);
	ms_put(in, p->stat->field[MS_STAT_PPID]);
	ms_put_text(in, p->stat->name);
	ms_put_text(in, p->exe);
	put_command(in, p);
	ms_put_text(in, s->machine.nodename);
	char kernel[sizeof s->machine.sysname + sizeof s->machine.release + 2];
	snprintf(kernel, sizeof kernel, "%s %s", s->machine.sysname, s->machine.release);
	ms_put_text(in, kernel);
	ms_put(in, s->wall_ns + p->time_ns);
	ms_put(in, p->time_ns);
	ms_put_text(in, s->machine.machine);
	ms_put(in, p->proc->page_bytes);
	ms_put_text(in, "ms-snap " MS_VERSION);
	ms_put(in, 1);
	ms_put_text(in, "complete");
	ms_put(in, 0);
	ms_put(in, 1);
	ms_put_text(in, s->smaps ? "smaps" : "maps");
	ms_put_row(in);
	return k;
}

static const struct known *find_process(struct ms_region_snapshot *s,
					const struct ms_region_process *p)
{
	for (size_t i = 0; i < s->known.n; i++)
		if (s->known.v[i].pid == p->proc->pid &&
		    s->known.v[i].start_ticks == p->proc->start_ticks)
			return &s->known.v[i];
	return add_process(s, p);
}

/* ---- what they hold ---- */

static void put_region(struct ms_region_snapshot *s, int64_t process, const struct ms_region *r)
{
	struct ms_insert *in = &s->region;
	const struct ms_proc_memory *m = &r->memory;
	const uint64_t figures[] = {
		m->rss,           m->pss,          m->private_clean + m->private_dirty,
		m->swap,          m->shared_clean, m->shared_dirty,
		m->private_clean, m->private_dirty};
	ms_put(in, (uint64_t)process);
	ms_put(in, (uint64_t)s->snapshots);
	ms_put_address(in, r->map.start);
	ms_put_address(in, r->map.end);
	ms_put_text(in, ms_region_word(r->kind));
	ms_put_text(in, r->map.perms);
	ms_put_text(in, *r->map.path ? r->map.path : NULL);
	ms_put_if(in, r->map.inode != 0, r->map.offset);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		ms_put_if(in, s->smaps, figures[i]);
	ms_put_row(in);
}

static void put_sample(struct ms_region_snapshot *s, const struct known *k,
		       const struct ms_region_process *p, const struct ms_proc_memory *all,
		       uint64_t rss, uint64_t vsz)
{
	struct ms_insert *in = &s->sample;
	const uint64_t *f = p->stat->field;
	ms_put(in, (uint64_t)k->id);
	ms_put(in, p->time_ns - k->first_ns);
	ms_put(in, rss);
	ms_put_if(in, s->smaps, all->pss);
	ms_put_if(in, s->smaps, all->private_clean + all->private_dirty);
	ms_put_if(in, s->smaps, all->swap);
	ms_put(in, vsz);
	ms_put(in, f[MS_STAT_MINFLT]);
	ms_put(in, f[MS_STAT_MAJFLT]);
	ms_put(in, f[MS_STAT_UTIME] * p->proc->tick_ns);
	ms_put(in, f[MS_STAT_STIME] * p->proc->tick_ns);
	ms_put(in, f[MS_STAT_THREADS]);
	ms_put_if(in, s->smaps, ms_regions_heap(p->regions));
	ms_put_row(in);
}

void ms_region_snapshot_add(struct ms_region_snapshot *s, const struct ms_region_process *p)
{
	const struct known *k = find_process(s, p);
	struct ms_proc_memory all;
	struct ms_insert *in = &s->snapshot;
	uint64_t vsz;
	ms_regions_sum(p->regions, &all, &vsz);
	uint64_t rss = s->smaps ? all.rss : p->statm ? p->statm->rss : 0;
	ms_put(in, (uint64_t)++s->snapshots);
	ms_put(in, (uint64_t)k->id);
	ms_put_text(in, "moment");
	ms_put(in, p->time_ns - k->first_ns);
	ms_put(in, rss);
	ms_put_if(in, s->smaps, all.pss);
	ms_put_if(in, s->smaps, all.private_clean + all.private_dirty);
	ms_put_if(in, s->smaps, all.swap);
	ms_put_row(in);
	put_sample(s, k, p, &all, rss, vsz);
	for (size_t i = 0; i < p->regions->n; i++)
		put_region(s, k->id, &p->regions->v[i]);
}

void ms_region_snapshot_skip(struct ms_region_snapshot *s, uint64_t time_ns, pid_t pid,
			     const char *name, const char *reason)
{
	ms_put(&s->skipped, time_ns);
	ms_put(&s->skipped, (uint64_t)pid);
	ms_put_text(&s->skipped, name);
	ms_put_text(&s->skipped, reason);
	ms_put_row(&s->skipped);
}

/* ---- the end ---- */

/* Moments by their time on the clock of all; 1.5s is what --at understands. */
static const char name_moments[] =
	"UPDATE process SET duration_ns ="
	" (SELECT max(time_ns) FROM snapshot s WHERE s.process = process.id);"
	"CREATE TEMP TABLE moment AS SELECT s.id, s.time_ns + p.offset_ns AS at"
	" FROM snapshot s JOIN process p ON p.id = s.process;"
	"UPDATE snapshot SET label = (SELECT CASE at"
	"  WHEN (SELECT max(at) FROM moment) THEN 'end' WHEN (SELECT min(at) FROM moment) THEN "
	"'start'"
	"  ELSE rtrim(rtrim(printf('%.3f', at / 1e9), '0'), '.') || 's' END"
	"  FROM moment m WHERE m.id = snapshot.id);"
	"DROP TABLE moment;"
	"INSERT INTO meta VALUES('complete', 1), ('symbols', 0),"
	" ('processes', (SELECT count(*) FROM process)),"
	" ('skipped', (SELECT count(*) FROM skipped))";

sqlite3 *ms_region_snapshot_end(struct ms_region_snapshot *s)
{
	sqlite3 *db = s->db;
	int rc = db ? close_inserts(s) : -1;
	rc = rc || ms_sql_exec(db, name_moments, s->err) ||
	     (s->all && ms_sql_exec(db, "INSERT INTO meta VALUES('all', 1)", s->err)) ||
	     ms_sql_exec(db, "COMMIT", s->err);
	free(s->known.v);
	free(s);
	if (rc == 0)
		return db;
	sqlite3_close(db);
	return NULL;
}
