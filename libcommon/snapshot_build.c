/* SPDX-License-Identifier: MIT
 * Traces into a snapshot: which traces, on one clock, replayed in step, then written process by
 * process.
 *
 * All processes are replayed together, always the one whose next event is earliest, up to the next
 * event of any other. So at every moment the sum of their live bytes is known and its peak is exact
 * (to a tick), and each trace is still read once. What a process holds leaves the sum when it ends.
 */
#include "snapshot_private.h"

#include "arena.h"
#include "err.h"
#include "point.h"
#include "snapshot_insert.h"
#include "symbols.h"
#include "units.h"
#include "format/trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A process being replayed. */
struct running {
	struct ms_kept_process keep;
	const char *path;
	uint64_t start_ns; /* on the clock that all traces share */
	uint64_t next_ns;  /* what comes next of it, on that clock from its origin */
	bool ended;        /* all events are applied, next_ns is its end */
	bool gone;         /* its end is past */
	dev_t dev;
	ino_t ino;
};

struct build {
	const struct ms_build_options *opt;
	struct ms_build_result *res;
	struct ms_err *err;
	struct ms_arena arena;
	const char *const *labels;
	size_t label_count;
	struct ms_point *points; /* one per label */
	struct {
		struct running **v; /* in order of being added */
		size_t n, cap;
	} all;
	struct {
		struct running **v; /* binary heap, least next_ns first */
		size_t n, cap;
	} queue;
	bool wall; /* the traces share no monotonic clock: wall time is taken */
	uint64_t origin_ns;
	uint64_t live, sum_peak, sum_peak_ns;
	const char *successor_missing;
	struct ms_stream *stream; /* what "-" means, or NULL */
	struct {
		int *v;
		size_t n, cap;
	} spooled;      /* descriptors of copies */
	uint64_t bytes; /* of all files, for progress */
	struct timespec shown;
};

/* ---- progress ---- */

static double seconds_since(const struct timespec *t)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
}

static void show_progress(void *arg)
{
	struct build *b = arg;
	if (seconds_since(&b->shown) < 0.3)
		return;
	clock_gettime(CLOCK_MONOTONIC, &b->shown);
	uint64_t done = 0;
	for (size_t i = 0; i < b->all.n; i++)
		done += ms_trace_offset(b->all.v[i]->keep.rec->file);
	if (b->bytes)
		fprintf(stderr, "\rreplaying: %3.0f %%", 100.0 * (double)done / (double)b->bytes);
}

static void end_progress(const struct build *b)
{
	if (b->opt->progress && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- which traces ---- */

static bool known_file(const struct build *b, const struct stat *st)
{
	for (size_t i = 0; i < b->all.n; i++)
		if (b->all.v[i]->ino == st->st_ino && b->all.v[i]->dev == st->st_dev)
			return true;
	return false;
}

/* Takes over `rec`, which may be NULL. */
static int add_recording(struct build *b, struct ms_recording *rec, const char *path,
			 const struct stat *st)
{
	if (!rec)
		return -1;
	struct running *p = ms_arena_alloc(&b->arena, sizeof *p);
	p->keep.rec = rec;
	p->path = path;
	if (S_ISREG(st->st_mode)) {
		p->dev = st->st_dev;
		p->ino = st->st_ino;
		b->bytes += (uint64_t)st->st_size;
	}
	if (b->opt->progress && isatty(STDERR_FILENO)) {
		rec->on_block = show_progress;
		rec->on_block_arg = b;
	}
	*MS_PUSH(&b->all) = p;
	return 0;
}

/* Opens one trace. A file that is there already is not taken twice. */
static int add_trace(struct build *b, const char *path)
{
	struct stat st = {0};
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && known_file(b, &st))
		return 0;
	return add_recording(b, ms_recording_open(path, b->err), path, &st);
}

static int is_trace_name(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return n > 6 && strcmp(e->d_name + n - 6, ".trace") == 0;
}

static int add_folder(struct build *b, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, is_trace_name, alphasort);
	if (n < 0)
		return ms_err_sys(b->err, "cannot read the folder '%s'", path);
	int rc = n ? 0 : ms_err_set(b->err, "no traces in the folder '%s'", path);
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_trace(b,
				       ms_arena_printf(&b->arena, "%s/%s", path, names[i]->d_name));
		free(names[i]);
	}
	free(names);
	return rc;
}

static bool needs_glance(const struct build *b)
{
	for (size_t i = 0; i < b->label_count; i++)
		if (b->points[i].kind == MS_POINT_BEFORE || b->points[i].kind == MS_POINT_CLOCK ||
		    b->points[i].kind == MS_POINT_MARK)
			return true;
	return false;
}

/* A pipe cannot be looked at twice: where a point needs that, a copy is made. */
static int add_copy(struct build *b, int fd, const char *name)
{
	struct ms_stream *s = b->stream;
	int copy = ms_spool(fd, s ? s->head : "", s ? s->head_size : 0, name, b->err);
	if (copy < 0)
		return -1;
	*MS_PUSH(&b->spooled) = copy;
	return add_trace(b, ms_arena_printf(&b->arena, "/proc/self/fd/%d", copy));
}

static int add_standard_input(struct build *b)
{
	struct ms_stream *s = b->stream;
	struct stat none = {0};
	if (needs_glance(b))
		return add_copy(b, s ? s->fd : STDIN_FILENO, "standard input");
	if (!s)
		return add_trace(b, "-");
	struct ms_recording *rec =
		ms_recording_open_fd(s->fd, s->name, s->head, s->head_size, b->err);
	if (rec)
		s->fd = -1;
	return add_recording(b, rec, "-", &none);
}

static int add_input(struct build *b, const char *path)
{
	struct stat st;
	if (strcmp(path, "-") == 0)
		return add_standard_input(b);
	bool there = stat(path, &st) == 0;
	if (there && S_ISDIR(st.st_mode))
		return add_folder(b, path);
	if (!there || S_ISREG(st.st_mode) || !needs_glance(b))
		return add_trace(b, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ms_err_sys(b->err, "cannot open '%s'", path);
	int rc = add_copy(b, fd, path);
	close(fd);
	return rc;
}

/* ---- one clock ---- */

static const char *text_of(const struct running *p, unsigned field)
{
	const struct ms_fields *i = &p->keep.rec->info;
	return ms_has(i, field) && i->text[field] ? i->text[field] : "";
}

static void set_clock(struct build *b)
{
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_fields *f = &b->all.v[i]->keep.rec->info;
		b->wall |= !ms_has(f, MS_INFO_START_MONO) ||
			   strcmp(text_of(b->all.v[i], MS_INFO_BOOT_ID),
				  text_of(b->all.v[0], MS_INFO_BOOT_ID)) != 0;
	}
	b->origin_ns = UINT64_MAX;
	for (size_t i = 0; i < b->all.n; i++) {
		struct running *p = b->all.v[i];
		uint64_t start =
			p->keep.rec->info.number[b->wall ? MS_INFO_START_WALL : MS_INFO_START_MONO];
		p->start_ns = start <= INT64_MAX ? start : 0;
		b->origin_ns = p->start_ns < b->origin_ns ? p->start_ns : b->origin_ns;
	}
}

/* ---- points ---- */

/* By the time of the moment: the state holds every event up to and including `ns`. */
static void keep_time(struct running *p, struct ms_kept_point *k, uint64_t ns)
{
	struct ms_recording *t = p->keep.rec;
	*k = (struct ms_kept_point){MS_KEPT_MOMENT, ns, 0};
	k->moment = ms_replay_moment(&t->replay, ns / t->head->tick_ns + 1, MS_NEVER);
}

static void keep_mark(struct running *p, struct ms_kept_point *k, const struct ms_point *want,
		      const struct ms_recording *glance)
{
	const struct ms_row *found = NULL;
	uint64_t nth = 0;
	for (size_t i = 0; i < glance->marks.n; i++) {
		const struct ms_row *m = &glance->marks.v[i];
		const char *name = m->text[MS_MARK_NAME - 2];
		if (!name || strlen(name) != (size_t)want->mark_length ||
		    memcmp(name, want->mark, (size_t)want->mark_length) != 0)
			continue;
		nth++;
		if (want->nth == 0 || nth == want->nth)
			found = m;
	}
	if (!found)
		return;
	if (!ms_has(found, MS_MARK_EVENT)) {
		keep_time(p, k, found->number[MS_MARK_TIME]);
		return;
	}
	*k = (struct ms_kept_point){MS_KEPT_MOMENT, found->number[MS_MARK_TIME], 0};
	k->moment = ms_replay_moment(&p->keep.rec->replay, MS_NEVER, found->number[MS_MARK_EVENT]);
}

/* The first `clock` (ns after midnight UTC) at or after the start, as ns since the start. */
static uint64_t after_start(uint64_t start_wall, uint64_t clock)
{
	const uint64_t day = UINT64_C(86400000000000);
	uint64_t time_of_day = start_wall % day;
	return (clock + day - time_of_day) % day;
}

static void set_point(struct running *p, const struct ms_point *want, struct ms_kept_point *k,
		      const struct ms_recording *glance)
{
	uint64_t length = glance ? ms_recording_length(glance) : 0;
	switch (want->kind) {
	case MS_POINT_PEAK:
		k->kind = MS_KEPT_PEAK;
		break;
	case MS_POINT_END:
		k->kind = MS_KEPT_END;
		break;
	case MS_POINT_START:
		k->kind = MS_KEPT_START;
		break;
	case MS_POINT_AFTER:
		keep_time(p, k, want->ns);
		break;
	case MS_POINT_BEFORE:
		if (want->ns <= length)
			keep_time(p, k, length - want->ns);
		break;
	case MS_POINT_CLOCK:
		if (glance && ms_has(&glance->info, MS_INFO_START_WALL))
			keep_time(p, k,
				  after_start(glance->info.number[MS_INFO_START_WALL], want->ns));
		break;
	case MS_POINT_MARK:
		if (glance)
			keep_mark(p, k, want, glance);
		break;
	}
}

static int set_points(struct build *b, struct running *p)
{
	struct ms_recording *glance = NULL;
	if (needs_glance(b) && !(glance = ms_recording_glance(p->path, b->err)))
		return -1;
	p->keep.points = ms_arena_alloc(&b->arena, b->label_count * sizeof *p->keep.points);
	for (size_t i = 0; i < b->label_count; i++)
		set_point(p, &b->points[i], &p->keep.points[i], glance);
	ms_recording_close(glance);
	return 0;
}

/* Moments that the recording did not reach are absent. */
static void drop_unreached(struct build *b, struct running *p)
{
	for (size_t i = 0; i < b->label_count; i++) {
		struct ms_kept_point *k = &p->keep.points[i];
		if (k->kind == MS_KEPT_MOMENT && (!p->keep.rec->replay.moments[k->moment].taken ||
						  k->time_ns > ms_recording_length(p->keep.rec)))
			k->kind = MS_KEPT_ABSENT;
	}
}

static int check_points(struct build *b)
{
	for (size_t i = 0; i < b->label_count; i++) {
		uint64_t longest = 0;
		bool found = false;
		for (size_t k = 0; k < b->all.n; k++) {
			uint64_t length = ms_recording_length(b->all.v[k]->keep.rec);
			found |= b->all.v[k]->keep.points[i].kind != MS_KEPT_ABSENT;
			longest = length > longest ? length : longest;
		}
		if (found)
			continue;
		char buf[MS_UNIT_BUF];
		if (b->points[i].kind != MS_POINT_MARK)
			return ms_err_set(b->err, "no point '%s' in the recording: it lasted %s",
					  b->labels[i], ms_format_duration(buf, longest));
		const char *names = "none";
		const struct ms_recording *t = b->all.v[0]->keep.rec;
		for (size_t m = 0; m < t->marks.n && m < 8; m++)
			names = ms_arena_printf(&b->arena, "%s%s%s", m ? names : "", m ? ", " : "",
						t->marks.v[m].text[MS_MARK_NAME - 2]
							? t->marks.v[m].text[MS_MARK_NAME - 2]
							: "");
		return ms_err_set(b->err, "no point '%s' in the recording: its marks are: %s",
				  b->labels[i], names);
	}
	return 0;
}

/* ---- replay in step ---- */

static bool earlier(const struct running *a, const struct running *b)
{
	return a->next_ns != b->next_ns ? a->next_ns < b->next_ns
					: a->keep.offset_ns < b->keep.offset_ns;
}

static void enqueue(struct build *b, struct running *p)
{
	*MS_PUSH(&b->queue) = p;
	struct running **v = b->queue.v;
	for (size_t i = b->queue.n - 1; i && earlier(v[i], v[(i - 1) / 2]); i = (i - 1) / 2) {
		struct running *t = v[i];
		v[i] = v[(i - 1) / 2];
		v[(i - 1) / 2] = t;
	}
}

static struct running *dequeue(struct build *b)
{
	struct running **v = b->queue.v, *first = v[0];
	v[0] = v[--b->queue.n];
	for (size_t i = 0, c; (c = 2 * i + 1) < b->queue.n; i = c) {
		if (c + 1 < b->queue.n && earlier(v[c + 1], v[c]))
			c++;
		if (!earlier(v[c], v[i]))
			break;
		struct running *t = v[i];
		v[i] = v[c];
		v[c] = t;
	}
	return first;
}

static int start(struct build *b, struct running *p)
{
	p->keep.offset_ns = p->start_ns >= b->origin_ns ? p->start_ns - b->origin_ns : 0;
	p->next_ns = p->keep.offset_ns;
	if (set_points(b, p) != 0)
		return -1;
	enqueue(b, p);
	return 0;
}

/* An image that execed another names the trace of that one. */
static int follow_successor(struct build *b, const struct running *p)
{
	const struct ms_fields *e = &p->keep.rec->end;
	const char *slash = strrchr(p->path, '/');
	if (!p->keep.rec->has_end || !e->text[MS_END_SUCCESSOR] || !e->text[MS_END_SUCCESSOR][0])
		return 0;
	const char *name = e->text[MS_END_SUCCESSOR];
	const char *path = ms_arena_printf(&b->arena, "%.*s%s",
					   slash ? (int)(slash - p->path) + 1 : 0, p->path, name);
	if (strcmp(p->path, "-") == 0 || strncmp(p->path, "/proc/self/fd/", 14) == 0 ||
	    access(path, R_OK) != 0) {
		b->successor_missing = name;
		return 0;
	}
	size_t before = b->all.n;
	if (add_trace(b, path) != 0)
		return -1;
	if (b->all.n == before)
		return 0;
	struct running *q = b->all.v[before];
	q->start_ns = q->keep.rec->info.number[b->wall ? MS_INFO_START_WALL : MS_INFO_START_MONO];
	return start(b, q);
}

/* One turn of one process: its events up to `until`, or its end. */
static int turn(struct build *b, struct running *p, uint64_t until)
{
	struct ms_replay *r = &p->keep.rec->replay;
	uint64_t before = r->live_bytes, next = 0;
	if (p->ended) {
		b->live -= before;
		p->gone = true;
		return 0;
	}
	r->run_max = before;
	int rc = ms_recording_run(p->keep.rec, until - p->keep.offset_ns, &next, b->err);
	if (rc < 0)
		return -1;
	uint64_t most = b->live - before + r->run_max;
	if (most > b->sum_peak) {
		b->sum_peak = most;
		b->sum_peak_ns = p->keep.offset_ns + r->run_max_tick * p->keep.rec->head->tick_ns;
	}
	b->live += r->live_bytes - before;
	p->ended = rc == 0;
	p->next_ns = p->keep.offset_ns + (rc ? next : ms_recording_length(p->keep.rec));
	enqueue(b, p);
	if (p->ended) {
		ms_blocks_free(&r->blocks);
		drop_unreached(b, p);
		return follow_successor(b, p);
	}
	return 0;
}

static int replay_all(struct build *b)
{
	while (b->queue.n) {
		struct running *p = dequeue(b);
		uint64_t until = b->queue.n ? b->queue.v[0]->next_ns : UINT64_MAX;
		if (until < p->next_ns)
			until = p->next_ns;
		if (turn(b, p, until) != 0)
			return -1;
	}
	return 0;
}

/* ---- the database ---- */

static int by_start(const void *a, const void *b)
{
	const struct running *x = *(struct running *const *)a, *y = *(struct running *const *)b;
	const struct ms_fields *i = &x->keep.rec->info, *k = &y->keep.rec->info;
	if (x->keep.offset_ns != y->keep.offset_ns)
		return x->keep.offset_ns < y->keep.offset_ns ? -1 : 1;
	if (i->number[MS_INFO_IMAGE] != k->number[MS_INFO_IMAGE])
		return i->number[MS_INFO_IMAGE] < k->number[MS_INFO_IMAGE] ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Are both of one ms-record run? Its name is 16 bytes of any value. */
static bool same_session(const struct ms_fields *f, const struct ms_fields *g)
{
	const char *a = f->text[MS_INFO_SESSION], *b = g->text[MS_INFO_SESSION];
	size_t n = f->number[MS_INFO_SESSION];
	return a && b && n == g->number[MS_INFO_SESSION] && memcmp(a, b, n) == 0;
}

static void number_processes(struct build *b)
{
	qsort(b->all.v, b->all.n, sizeof *b->all.v, by_start);
	for (size_t i = 0; i < b->all.n; i++)
		b->all.v[i]->keep.id = (int64_t)i + 1;
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_fields *f = &b->all.v[i]->keep.rec->info;
		for (size_t k = 0; k < b->all.n; k++) {
			const struct ms_fields *g = &b->all.v[k]->keep.rec->info;
			if (i != k &&
			    f->number[MS_INFO_PARENT_IMAGE] == g->number[MS_INFO_IMAGE] + 1 &&
			    same_session(f, g))
				b->all.v[i]->keep.parent = (int64_t)k + 1;
		}
	}
}

static int fill_meta(struct build *b, sqlite3 *db)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{"complete", b->res->incomplete == 0}, {"processes", b->all.n},
		{"sum_peak_bytes", b->sum_peak},       {"sum_peak_time_ns", b->sum_peak_ns},
		{"symbols", !b->opt->no_symbols},
	};
	struct ms_insert in;
	ms_insert_open(&in, db, "meta", "key, value", b->err);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ms_put_text(&in, rows[i].key);
		ms_put(&in, rows[i].value);
		ms_put_row(&in);
	}
	if (b->successor_missing) {
		ms_put_text(&in, "successor_missing");
		ms_put_text(&in, b->successor_missing);
		ms_put_row(&in);
	}
	return ms_insert_close(&in);
}

static void count_conditions(struct build *b)
{
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_recording *t = b->all.v[i]->keep.rec;
		b->res->traces++;
		b->res->incomplete += !ms_recording_complete(t);
		b->res->growing += t->state == MS_TRACE_GROWING;
		b->res->events += t->replay.events;
	}
}

static sqlite3 *fill(struct build *b)
{
	sqlite3 *db = ms_snapshot_new(b->err);
	if (!db)
		return NULL;
	struct ms_symbols_options so = {.sysroot = b->opt->sysroot,
					.debug_dirs = b->opt->debug_dirs};
	struct ms_filling f = {.db = db,
			       .err = b->err,
			       .labels = b->labels,
			       .label_count = b->label_count,
			       .symbols = b->opt->no_symbols ? NULL : ms_symbols_new(&so),
			       .look_again = b->opt->sysroot || b->opt->debug_dirs};
	int rc = ms_sql_exec(db, "BEGIN", b->err) || fill_meta(b, db);
	for (size_t i = 0; i < b->all.n && rc == 0; i++)
		rc = ms_fill_process(&f, &b->all.v[i]->keep);
	rc = rc || ms_sql_exec(db, "COMMIT", b->err);
	ms_symbols_free(f.symbols);
	if (rc == 0)
		return db;
	sqlite3_close(db);
	return NULL;
}

/* ---- */

static int parse_points(struct build *b)
{
	static const char *const usual[] = {"peak", "end"};
	b->labels = b->opt->point_count ? b->opt->points : usual;
	b->label_count = b->opt->point_count ? b->opt->point_count : 2;
	b->points = ms_arena_alloc(&b->arena, b->label_count * sizeof *b->points);
	for (size_t i = 0; i < b->label_count; i++)
		if (ms_point_parse(b->labels[i], &b->points[i], b->err) != 0)
			return -1;
	return 0;
}

/* A folder may hold more traces than a shell's limit of open files. */
static void raise_file_limit(void)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static sqlite3 *build(struct build *b, const char *const *traces, size_t n)
{
	if (parse_points(b) != 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (add_input(b, traces[i]) != 0)
			return NULL;
	set_clock(b);
	for (size_t i = 0, first = b->all.n; i < first; i++)
		if (start(b, b->all.v[i]) != 0)
			return NULL;
	if (replay_all(b) != 0 || check_points(b) != 0)
		return NULL;
	number_processes(b);
	count_conditions(b);
	return fill(b);
}

sqlite3 *ms_snapshot_build_from(const char *const *traces, size_t n, struct ms_stream *stream,
				const struct ms_build_options *opt, struct ms_build_result *res,
				struct ms_err *err)
{
	static const struct ms_build_options none;
	struct ms_build_result ignored;
	struct build b = {.opt = opt ? opt : &none,
			  .res = res ? res : &ignored,
			  .err = err,
			  .stream = stream};
	struct timespec began;
	*b.res = (struct ms_build_result){0};
	clock_gettime(CLOCK_MONOTONIC, &began);
	b.shown = began;
	raise_file_limit();
	sqlite3 *db = build(&b, traces, n);
	end_progress(&b);
	b.res->seconds = seconds_since(&began);
	for (size_t i = 0; i < b.all.n; i++)
		ms_recording_close(b.all.v[i]->keep.rec);
	for (size_t i = 0; i < b.spooled.n; i++)
		close(b.spooled.v[i]);
	free(b.all.v);
	free(b.queue.v);
	free(b.spooled.v);
	ms_arena_free(&b.arena);
	return db;
}

sqlite3 *ms_snapshot_build(const char *const *traces, size_t n, const struct ms_build_options *opt,
			   struct ms_build_result *res, struct ms_err *err)
{
	return ms_snapshot_build_from(traces, n, NULL, opt, res, err);
}
