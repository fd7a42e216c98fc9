/* SPDX-License-Identifier: MIT
 * A snapshot of regions, row by row.
 */
#include "snapshot_regions.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

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
	MS_ARRAY(struct known) known;
	int64_t snapshots;
	struct utsname machine;
};

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
	s->process = ms_insert(s->db, "process", err);
	s->snapshot = ms_insert(s->db, "snapshot", err);
	s->region = ms_insert(s->db, "region", err);
	s->sample = ms_insert(s->db, "sample", err);
	s->skipped = ms_insert(s->db, "skipped", err);
	if (s->db && ms_sql_exec(s->db, "BEGIN", err) == 0)
		return s;
	ms_region_snapshot_end(s);
	return NULL;
}

/* ---- processes ---- */

static const char *command(struct ms_arena *a, const struct ms_region_process *p)
{
	struct ms_strings words = {0};
	/* Some write their state over their arguments and leave the rest empty. */
	size_t n = p->args_bytes;
	while (n && !p->args[n - 1])
		n--;
	for (size_t at = 0; p->args && at < n; at += strlen(p->args + at) + 1)
		*MS_PUSH(&words) = p->args + at;
	const char *json = words.n ? ms_json_array(a, &words) : NULL;
	free(words.v);
	return json;
}

static const struct known *add_process(struct ms_region_snapshot *s,
				       const struct ms_region_process *p)
{
	struct known *k = MS_PUSH(&s->known);
	struct ms_arena a = {0};
	*k = (struct known){p->proc->pid, p->proc->start_ticks, (int64_t)s->known.n, p->time_ns};
	const char *kernel = ms_arena_printf(&a, "%s %s", s->machine.sysname, s->machine.release);
	ms_put_row(&s->process, ms_int("id", k->id), ms_int("pid", p->proc->pid),
		   ms_int("ppid", p->stat->field[MS_STAT_PPID]), ms_text("comm", p->stat->name),
		   ms_text("exe", p->exe), ms_text("command", command(&a, p)),
		   ms_text("host", s->machine.nodename), ms_text("kernel", kernel),
		   ms_int("started_ns", s->wall_ns + p->time_ns), ms_int("offset_ns", p->time_ns),
		   ms_text("machine", s->machine.machine), ms_int("page_size", p->proc->page_bytes),
		   ms_text("recorder", "ms-snap " MS_VERSION), ms_int("complete", 1),
		   ms_text("state", "complete"), ms_int("events", 0), ms_int("attached", 1),
		   ms_text("options", s->smaps ? "smaps" : "maps"));
	ms_arena_free(&a);
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

static void put_parts(const struct ms_region_snapshot *s, struct ms_insert *in,
		      const struct ms_proc_memory *m)
{
	ms_put(in, ms_int_if("pss_bytes", s->smaps, m->pss),
	       ms_int_if("private_bytes", s->smaps, m->private_clean + m->private_dirty),
	       ms_int_if("swap_bytes", s->smaps, m->swap));
}

static void put_region(struct ms_region_snapshot *s, int64_t process, const struct ms_region *r)
{
	const struct ms_proc_memory *m = &r->memory;
	ms_put(&s->region, ms_int("process", process), ms_int("snapshot", s->snapshots),
	       ms_address("start", r->map.start), ms_address("end", r->map.end),
	       ms_text("kind", ms_region_word(r->kind)), ms_text("perms", r->map.perms),
	       ms_text("path", *r->map.path ? r->map.path : NULL),
	       ms_int_if("file_offset", r->map.inode != 0, r->map.offset),
	       ms_int_if("rss_bytes", s->smaps, m->rss));
	put_parts(s, &s->region, m);
	ms_put_row(&s->region, ms_int_if("shared_clean_bytes", s->smaps, m->shared_clean),
		   ms_int_if("shared_dirty_bytes", s->smaps, m->shared_dirty),
		   ms_int_if("private_clean_bytes", s->smaps, m->private_clean),
		   ms_int_if("private_dirty_bytes", s->smaps, m->private_dirty));
}

static void put_sample(struct ms_region_snapshot *s, const struct known *k,
		       const struct ms_region_process *p, const struct ms_proc_memory *all,
		       uint64_t rss, uint64_t vsz)
{
	const uint64_t *f = p->stat->field;
	ms_put(&s->sample, ms_int("process", k->id), ms_int("time_ns", p->time_ns - k->first_ns),
	       ms_int("rss_bytes", rss));
	put_parts(s, &s->sample, all);
	ms_put_row(&s->sample, ms_int("vsz_bytes", vsz), ms_int("minor_faults", f[MS_STAT_MINFLT]),
		   ms_int("major_faults", f[MS_STAT_MAJFLT]),
		   ms_int("user_ns", f[MS_STAT_UTIME] * p->proc->tick_ns),
		   ms_int("system_ns", f[MS_STAT_STIME] * p->proc->tick_ns),
		   ms_int("threads", f[MS_STAT_THREADS]),
		   ms_int_if("heap_bytes", s->smaps, ms_regions_heap(p->regions)));
}

void ms_region_snapshot_add(struct ms_region_snapshot *s, const struct ms_region_process *p)
{
	const struct known *k = find_process(s, p);
	struct ms_proc_memory all;
	uint64_t vsz;
	ms_regions_sum(p->regions, &all, &vsz);
	uint64_t rss = s->smaps ? all.rss : p->statm ? p->statm->rss : 0;
	s->snapshots++;
	ms_put(&s->snapshot, ms_int("id", s->snapshots), ms_int("process", k->id),
	       ms_text("label", "moment"), ms_int("time_ns", p->time_ns - k->first_ns),
	       ms_int("rss_bytes", rss));
	put_parts(s, &s->snapshot, &all);
	ms_end_row(&s->snapshot);
	put_sample(s, k, p, &all, rss, vsz);
	for (size_t i = 0; i < p->regions->n; i++)
		put_region(s, k->id, &p->regions->v[i]);
}

void ms_region_snapshot_skip(struct ms_region_snapshot *s, uint64_t time_ns, pid_t pid,
			     const char *name, const char *reason)
{
	ms_put_row(&s->skipped, ms_int("time_ns", time_ns), ms_int("pid", pid),
		   ms_text("name", name), ms_text("reason", reason));
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
