/* SPDX-License-Identifier: MIT
 * Reads regions of running processes from /proc into a snapshot, row by row, or into lines.
 */
#include "regions.h"

#include "lines.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/proc/proc.h"
#include "libcommon/snapshot/snapshot_insert.h"
#include "libcommon/base/units.h"

/* Flag in stat of kernel threads, which have no memory of their own. */
#define PF_KTHREAD 0x00200000u
#define COMMAND_MAX 65536
#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS UINT64_C(250000000) /* interval of checking that standard output has a reader */

static int by_number(const void *a, const void *b)
{
	return MS_ORDER(*(const pid_t *)a, *(const pid_t *)b);
}

/* Parses a list of pids such as "1,2", and removes duplicates. */
static int take_pids(struct regions_options *o, const char *text, struct ms_err *err)
{
	char one[16];
	for (const char *p = text;; p++) {
		uint64_t pid;
		size_t n = strcspn(p, ",");
		snprintf(one, sizeof one, "%.*s", (int)n, p);
		if (ms_parse_count(n < sizeof one ? one : text, "-p", 1, INT32_MAX, &pid, err) != 0)
			return -1;
		pid_t number = (pid_t)pid;
		if (!o->pids.n ||
		    !bsearch(&number, o->pids.v, o->pids.n, sizeof number, by_number)) {
			*MS_PUSH(&o->pids) = number;
			qsort(o->pids.v, o->pids.n, sizeof number, by_number);
		}
		p += n;
		if (!*p)
			return 0;
	}
}

/* Refuses options that need --maps or --smaps. */
static int check_none(const struct regions_options *o, struct ms_err *err)
{
	const char *what = o->pid_texts.n ? o->pid_texts.v[0] : NULL;
	if (what)
		return ms_err_set(err,
				  "-p needs --maps or --smaps: 'ms-snap --smaps -p %s | "
				  "ms-report --regions' for its regions, 'ms-record --poll "
				  "-p %s' to watch its heap",
				  what, what);
	return o->all || o->skip_kernel || o->count || o->proc_root
		       ? ms_err_set(err, "-p all, --without=kernel, --every=count and --proc-root "
					 "need --maps or --smaps")
		       : 0;
}

int regions_check(struct regions_options *o, uint64_t every_ns, bool output, struct ms_err *err)
{
	if (!o->maps && !o->smaps)
		return check_none(o, err);
	if (o->maps && o->smaps)
		return ms_err_set(err, "--maps and --smaps: choose one, --smaps has all of --maps");
	if (!o->pid_texts.n == !o->all)
		return ms_err_set(err,
				  o->all ? "-p PID and -p all: choose one"
					 : "no process given: name some with -p PID, or -p all");
	if (o->skip_kernel && !o->all)
		return ms_err_set(err, "--without=kernel is for -p all");
	o->every_ns = every_ns ? every_ns : o->count ? SECOND_NS : 0;
	o->lines = o->every_ns && !output;
	for (size_t i = 0; i < o->pid_texts.n; i++)
		if (take_pids(o, o->pid_texts.v[i], err) != 0)
			return -1;
	return 0;
}

/* Describes a process that was seen before; pid and start identify it. */
struct known {
	pid_t pid;
	uint64_t start_ticks;
	int64_t id;
	uint64_t first_ns;
};

enum table { PROCESS, SNAPSHOT, REGION, SAMPLE, SKIPPED, TABLES };
static const char *const table_names[] = {"process", "snapshot", "region", "sample", "skipped"};

/* Holds a process given on the command line. */
struct target {
	struct ms_proc proc;
	bool over, told; /* over: the process has ended; told: its error was reported */
};

struct reading {
	const struct regions_options *o;
	const struct ms_cli *cli;
	struct lines *lines; /* output as lines; NULL = rows of a snapshot */
	struct target *targets;
	size_t target_count;
	bool failed; /* one of several processes could not be read */
	struct ms_insert rows[TABLES];
	MS_ARRAY(struct known) known;
	int64_t snapshots;
	struct utsname machine;
	struct ms_regions regions;
	uint64_t wall_ns; /* start of reading, ns since 1970 */
	uint64_t time_ns; /* ns since the start */
};

/* ---- processes ---- */

static const char *command(struct ms_arena *a, const struct ms_proc *p)
{
	MS_ARRAY(const char *) words = {0};
	char *args = ms_arena_alloc(a, COMMAND_MAX);
	size_t n = COMMAND_MAX;
	ms_proc_text_at(p->folder, "cmdline", args, n);
	/* some programs write their state over their arguments and clear the rest */
	while (n && !args[n - 1])
		n--;
	for (size_t at = 0; at < n; at += strlen(args + at) + 1)
		*MS_PUSH(&words) = args + at;
	const char *json = words.n ? ms_json_array(a, words.v, words.n) : NULL;
	free(words.v);
	return json;
}

static const struct known *add_process(struct reading *r, const struct ms_proc *p,
				       const struct ms_proc_stat *st)
{
	struct known *k = MS_PUSH(&r->known);
	struct ms_arena a = {0};
	char exe[4097];
	ssize_t n = readlinkat(p->folder, "exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	*k = (struct known){p->pid, p->start_ticks, (int64_t)r->known.n, r->time_ns};
	const char *kernel = ms_arena_printf(&a, "%s %s", r->machine.sysname, r->machine.release);
	ms_put_row(&r->rows[PROCESS], ms_int("id", k->id), ms_int("pid", p->pid),
		   ms_int("ppid", st->field[MS_STAT_PPID]), ms_text("comm", st->name),
		   ms_text("exe", *exe ? exe : NULL), ms_text("command", command(&a, p)),
		   ms_text("host", r->machine.nodename), ms_text("kernel", kernel),
		   ms_int("started_ns", r->wall_ns + r->time_ns), ms_int("offset_ns", r->time_ns),
		   ms_text("machine", r->machine.machine), ms_int("page_size", p->page_bytes),
		   ms_text("recorder", "ms-snap " MS_VERSION), ms_int("complete", 1),
		   ms_text("state", "complete"), ms_int("events", 0), ms_int("attached", 1),
		   ms_text("options", r->o->smaps ? "smaps" : "maps"));
	ms_arena_free(&a);
	return k;
}

static const struct known *find_process(struct reading *r, const struct ms_proc *p,
					const struct ms_proc_stat *st)
{
	for (size_t i = 0; i < r->known.n; i++)
		if (r->known.v[i].pid == p->pid && r->known.v[i].start_ticks == p->start_ticks)
			return &r->known.v[i];
	return add_process(r, p, st);
}

/* ---- what they hold ---- */

static void put_parts(struct ms_insert *in, bool smaps, const struct ms_proc_memory *m)
{
	ms_put(in, ms_int_if("pss_bytes", smaps, m->pss),
	       ms_int_if("private_bytes", smaps, m->private_clean + m->private_dirty),
	       ms_int_if("swap_bytes", smaps, m->swap));
}

static void put_region(struct reading *to, int64_t process, const struct ms_region *r)
{
	const struct ms_proc_memory *m = &r->memory;
	struct ms_insert *in = &to->rows[REGION];
	bool smaps = to->o->smaps;
	ms_put(in, ms_int("process", process), ms_int("snapshot", to->snapshots),
	       ms_address("start", r->map.start), ms_address("end", r->map.end),
	       ms_text("kind", ms_region_word(r->kind)), ms_text("perms", r->map.perms),
	       ms_text("path", *r->map.path ? r->map.path : NULL),
	       ms_int_if("file_offset", r->map.inode != 0, r->map.offset),
	       ms_int_if("rss_bytes", smaps, m->rss));
	put_parts(in, smaps, m);
	ms_put_row(in, ms_int_if("shared_clean_bytes", smaps, m->shared_clean),
		   ms_int_if("shared_dirty_bytes", smaps, m->shared_dirty),
		   ms_int_if("private_clean_bytes", smaps, m->private_clean),
		   ms_int_if("private_dirty_bytes", smaps, m->private_dirty));
}

static void put_sample(struct reading *r, const struct known *k, const struct ms_proc *p,
		       const struct ms_proc_stat *st, const struct ms_proc_memory *all,
		       uint64_t vsz)
{
	struct ms_insert *in = &r->rows[SAMPLE];
	const uint64_t *f = st->field;
	ms_put(in, ms_int("process", k->id), ms_int("time_ns", r->time_ns - k->first_ns),
	       ms_int("rss_bytes", all->rss));
	put_parts(in, r->o->smaps, all);
	ms_put_row(in, ms_int("vsz_bytes", vsz), ms_int("minor_faults", f[MS_STAT_MINFLT]),
		   ms_int("major_faults", f[MS_STAT_MAJFLT]),
		   ms_int("user_ns", f[MS_STAT_UTIME] * p->tick_ns),
		   ms_int("system_ns", f[MS_STAT_STIME] * p->tick_ns),
		   ms_int("threads", f[MS_STAT_THREADS]),
		   ms_int_if("heap_bytes", r->o->smaps, ms_regions_heap(&r->regions)));
}

static void put_process(struct reading *r, const struct ms_proc *p, const struct ms_proc_stat *st)
{
	struct ms_insert *in = &r->rows[SNAPSHOT];
	struct ms_proc_memory all;
	struct ms_proc_statm statm;
	uint64_t vsz;
	ms_regions_sum(&r->regions, &all, &vsz);
	if (!r->o->smaps)
		all.rss = ms_proc_read_statm(p, &statm) ? statm.rss : 0;
	if (r->lines) {
		lines_process(r->lines, p, st->name, r->wall_ns + r->time_ns,
			      &(struct lines_figures){&r->regions, all.rss, vsz});
		return;
	}
	const struct known *k = find_process(r, p, st);
	r->snapshots++;
	ms_put(in, ms_int("id", r->snapshots), ms_int("process", k->id), ms_text("label", "moment"),
	       ms_int("time_ns", r->time_ns - k->first_ns), ms_int("rss_bytes", all.rss));
	put_parts(in, r->o->smaps, &all);
	ms_end_row(in);
	put_sample(r, k, p, st, &all, vsz);
	for (size_t i = 0; i < r->regions.n; i++)
		put_region(r, k->id, &r->regions.v[i]);
}

/* ---- reading ---- */

static const char *reason_of(int e)
{
	return e == EACCES || e == EPERM   ? "permission denied"
	       : e == ESRCH || e == ENOENT ? "ended meanwhile"
					   : strerror(e);
}

static const char zombie[] = "ended, but not yet reaped by its parent";

/* Tells whether the reason is that the process has ended. */
static bool is_end(const char *why)
{
	return strncmp(why, "ended", 5) == 0;
}

/* Reads a process. Returns NULL if the process was added, or is not wanted; else why it could not
 * be read. */
static const char *read_open(struct reading *r, struct ms_proc *p)
{
	struct ms_proc_stat st;
	if (!ms_proc_read_stat(p, &st))
		return reason_of(ESRCH);
	bool kernel = st.field[MS_STAT_FLAGS] & PF_KTHREAD;
	if (st.state == 'Z' || st.state == 'X')
		return zombie;
	if (kernel && r->o->skip_kernel)
		return NULL;
	r->regions.n = 0;
	if (!kernel && ms_regions_read(p, r->o->smaps, &r->regions) != 0)
		return reason_of(errno);
	if (!kernel && !r->regions.n && !ms_proc_alive(p))
		return reason_of(ESRCH);
	put_process(r, p, &st);
	return NULL;
}

/* Adds a process that could not be read. In lines, zombies are omitted, because their end has been
 * reported already. */
static void put_without(struct reading *r, const struct ms_proc *p, const char *why)
{
	if (!r->lines)
		ms_put_row(&r->rows[SKIPPED], ms_int("time_ns", r->time_ns), ms_int("pid", p->pid),
			   ms_text("name", *p->name ? p->name : NULL), ms_text("reason", why));
	else if (why != zombie)
		lines_without(r->lines, p, is_end(why));
}

static int read_all(struct reading *r, struct ms_err *err)
{
	size_t n;
	pid_t *pids = ms_proc_list(r->o->proc_root, &n, err);
	if (!pids)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct ms_proc p;
		bool open = ms_proc_open(&p, r->o->proc_root, pids[i], NULL) == 0;
		const char *why = open ? read_open(r, &p) : reason_of(errno);
		if (why)
			put_without(r, &p, why);
		ms_proc_close(&p);
	}
	free(pids);
	return 0;
}

/* ---- those that were named ---- */

/* Opens the processes given by pid. A missing process is an error if it is the only one; otherwise
 * the others are read, and the exit status is 2. */
static int open_targets(struct reading *r, struct ms_err *err)
{
	const struct regions_options *o = r->o;
	size_t open = 0;
	r->targets = ms_xcalloc(o->pids.n + 1, sizeof *r->targets);
	for (size_t i = 0; i < o->pids.n; i++) {
		struct target *t = &r->targets[r->target_count++];
		struct ms_err why = {0};
		t->over = ms_proc_open(&t->proc, o->proc_root, o->pids.v[i],
				       o->pids.n > 1 ? &why : err) != 0;
		open += !t->over;
		if (!t->over)
			continue;
		if (o->pids.n == 1)
			return -1;
		ms_cli_remark(r->cli, "%s", why.text);
		r->failed = true;
	}
	return open || o->all ? 0 : ms_err_set(err, "none of these processes could be opened");
}

/* Reports, once per process, why a process cannot be read (any more). If it is the only process and
 * has ended, the snapshot ends without a message. */
static int tell_without(struct reading *r, struct target *t, const char *why, bool first,
			struct ms_err *err)
{
	const struct ms_proc *p = &t->proc;
	bool alone = r->o->pids.n == 1, end = is_end(why);
	if (alone && (first || (!end && r->lines)))
		return ms_err_set(err, "cannot read process %d ('%s')%s: %s", (int)p->pid, p->name,
				  first ? "" : " any more", why);
	if (!t->told && end && (r->lines || !alone))
		ms_cli_remark(r->cli, "process %d ('%s') ended", (int)p->pid, p->name);
	else if (!t->told && !end)
		ms_cli_remark(r->cli, "cannot read process %d ('%s')%s: %s", (int)p->pid, p->name,
			      first ? "" : " any more", why);
	r->failed |= !end;
	t->told = true;
	t->over = end;
	return 0;
}

/* Reads the given processes. Returns 0; 1 if none is left; or -1 with `err` set. */
static int read_targets(struct reading *r, bool first, struct ms_err *err)
{
	size_t left = 0;
	for (size_t i = 0; i < r->target_count; i++) {
		struct target *t = &r->targets[i];
		const char *why = t->over ? NULL : read_open(r, &t->proc);
		if (t->over)
			continue;
		left += !why;
		if (why && tell_without(r, t, why, first, err) != 0)
			return -1;
		if (why && r->o->pids.n > 1)
			put_without(r, &t->proc, why);
	}
	return left == 0;
}

/* ---- at intervals ---- */

/* Waits until `at` of the monotonic clock. False = a signal requested the end, or the lines have no
 * reader any more. */
static bool wait_until(const struct reading *r, uint64_t at, const sigset_t *enough)
{
	for (uint64_t now; (now = ms_clock_ns(CLOCK_MONOTONIC)) < at;) {
		uint64_t left = r->lines && at - now > LOOK_NS ? LOOK_NS : at - now;
		struct timespec t = ms_timespec(left);
		if (sigtimedwait(enough, NULL, &t) > 0)
			return false;
		if (r->lines && lines_unread())
			return true;
	}
	return true;
}

/* Reads all processes at one moment. Returns 0; 1 if none is left; or -1 with `err` set. */
static int read_time(struct reading *r, bool first, struct ms_err *err)
{
	int rc = r->o->all ? read_all(r, err) : read_targets(r, first, err);
	if (rc >= 0 && r->lines && lines_end(r->lines, r->wall_ns + r->time_ns, err) != 0)
		rc = -1;
	return rc;
}

static int read_times(struct reading *r, struct ms_err *err)
{
	const struct regions_options *o = r->o;
	uint64_t every_ns = o->every_ns, start = ms_clock_ns(CLOCK_MONOTONIC), next = 0,
		 count = every_ns ? o->count : 1;
	sigset_t enough, old;
	int rc = open_targets(r, err);
	sigemptyset(&enough);
	sigaddset(&enough, SIGINT);
	sigaddset(&enough, SIGTERM);
	if (every_ns)
		sigprocmask(SIG_BLOCK, &enough, &old);
	for (uint64_t i = 0; rc == 0 && (!count || i < count); i++) {
		if (!wait_until(r, start + next, &enough))
			break;
		/* Skips the readings that were due while this process was stopped: the state of the
		 * targets at those times is not known. */
		uint64_t since = ms_clock_ns(CLOCK_MONOTONIC) - start;
		r->time_ns = every_ns ? since - since % every_ns : 0;
		next = r->time_ns + every_ns;
		rc = read_time(r, i == 0, err);
	}
	if (every_ns)
		sigprocmask(SIG_SETMASK, &old, NULL);
	for (size_t i = 0; i < r->target_count; i++)
		ms_proc_close(&r->targets[i].proc);
	free(r->targets);
	return rc < 0 ? -1 : r->failed ? 2 : 0;
}

/* Labels moments by their time on the common clock, in the syntax of --at, for instance 1.5s. */
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
	" ('skipped', (SELECT count(*) FROM skipped WHERE reason NOT LIKE 'ended%'))";

static sqlite3 *read_rows(struct reading *r, int *status, struct ms_err *err)
{
	sqlite3 *db = ms_snapshot_new(err);
	bool several = r->o->all || r->o->pids.n > 1;
	uname(&r->machine);
	for (int t = 0; t < TABLES; t++)
		r->rows[t] = ms_insert(db, table_names[t], err);
	int rc = db ? ms_sql_exec(db, "BEGIN", err) : -1;
	if (rc == 0)
		rc = *status = read_times(r, err);
	rc = rc < 0;
	for (int t = 0; t < TABLES; t++)
		rc |= ms_insert_close(&r->rows[t]);
	rc = rc || ms_sql_exec(db, name_moments, err) ||
	     (several && ms_sql_exec(db, "INSERT INTO meta VALUES('all', 1)", err)) ||
	     ms_sql_exec(db, "COMMIT", err);
	if (rc == 0)
		return db;
	sqlite3_close(db);
	return NULL;
}

int regions_read(const struct regions_options *o, const struct ms_cli *cli, sqlite3 **db,
		 struct ms_err *err)
{
	struct reading r = {.o = o, .cli = cli, .wall_ns = ms_clock_ns(CLOCK_REALTIME)};
	int rc = -1;
	if (o->lines) {
		r.lines = lines_new(o->pids.n == 1, o->smaps);
		rc = read_times(&r, err);
	} else if (!(*db = read_rows(&r, &rc, err))) {
		rc = -1;
	}
	lines_free(r.lines);
	free(r.known.v);
	ms_regions_free(&r.regions);
	return rc;
}
