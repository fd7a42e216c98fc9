/* SPDX-License-Identifier: MIT
 * Builds a snapshot from traces: finds them (snapshot_inputs.c), places them on one clock, finds
 * their points (snapshot_points.c), replays them in step (snapshot_step.c), and writes process
 * after process.
 */
#include "snapshot_build.h"

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/progress.h"
#include "snapshot_insert.h"
#include "libcommon/symbols/symbols.h"
#include "libcommon/trace/sums.h"
#include "libcommon/base/thread.h"
#include "format/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- progress ---- */

#define SHOW_NS 100000000u

static void show_progress(void *arg)
{
	struct build *b = arg;
	uint64_t done = 0, now = ms_clock_ns(CLOCK_MONOTONIC);
	if (now < b->due_ns) /* skipped until due: adding up the bytes of thousands of traces takes
				time */
		return;
	b->due_ns = now + SHOW_NS;
	for (size_t i = 0; i < b->all.n; i++)
		done += ms_recording_offset(b->all.v[i]->keep.rec);
	ms_progress(b->replaying, NULL, done, b->bytes, NULL);
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

/* Uses the peak of `p`, the only process, as the peak of the sum. */
static void take_sum(struct build *b, struct running *p)
{
	const struct ms_recording *t = p->keep.rec;
	b->sum.peak = p->keep.share.at_peak = t->replay.peak_bytes;
	b->sum.peak_ns = t->replay.peak_tick * t->head->tick_ns;
}

/* Takes the sums at the end of the trace of `p`, the only process, instead of replaying it, if there
 * are any and nothing else is asked for. */
static bool take_sums(struct build *b, struct running *p)
{
	const struct ms_recording *t = p->keep.rec;
	if (b->all.n > 1 || !t->replay.brief || t->replay.moment_count || t->parts ||
	    t->stop_tick != MS_NEVER || t->stop_event != MS_NEVER)
		return false;
	struct ms_recording *sums = ms_sums_open(p->path);
	if (!sums || ms_has(&sums->end, MS_END_SUCCESSOR)) {
		ms_recording_close(sums);
		return false;
	}
	ms_recording_close(p->keep.rec);
	p->keep.rec = sums;
	p->ended = true;
	take_sum(b, p);
	ms_recording_park(sums);
	return true;
}

int ms_build_start(struct build *b, struct running *p)
{
	if (ms_points_set(b, p) != 0)
		return -1;
	if (b->opt->taker && b->opt->no_site_details && !p->keep.counted_from)
		ms_replay_brief(&p->keep.rec->replay);
	if (take_sums(b, p))
		return 0;
	if (ms_progress_on()) {
		p->keep.rec->on_block = show_progress;
		p->keep.rec->on_block_arg = b;
	}
	p->keep.rec->may_read_ahead = b->all.n == 1;
	p->keep.offset_ns = p->start_ns >= b->origin_ns ? p->start_ns - b->origin_ns : 0;
	p->next_ns = p->keep.offset_ns;
	ms_build_enqueue(b, p);
	return 0;
}

/* ---- the database ---- */

/* Tells whether some process was only polled, or is counted from later than its start, so that the
 * sum of all processes is unknown. */
static bool some_in_part(const struct build *b)
{
	bool part = false;
	for (size_t i = 0; i < b->all.n; i++)
		part |= ms_part_is_headless(&b->all.v[i]->keep) ||
			ms_recording_is_polled(b->all.v[i]->keep.rec);
	return part;
}

/* Writes how many chains of interpreter frames could not be read, and the first unknown
 * interpreter. */
static void put_interpreters(const struct build *b, struct ms_insert *in)
{
	uint64_t unread = 0;
	const char *unknown = NULL;
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_fields *e = &b->all.v[i]->keep.rec->end;
		unread += e->number[MS_END_CHAINS_UNREAD];
		if (!unknown && ms_has(e, MS_END_INTERPRETER_UNKNOWN))
			unknown = e->text[MS_END_INTERPRETER_UNKNOWN];
	}
	if (unread)
		ms_put_row(in, ms_text("key", "chains_unread"), ms_int("value", unread));
	if (unknown)
		ms_put_row(in, ms_text("key", "interpreter_unknown"), ms_text("value", unknown));
}

static int fill_meta(struct build *b, sqlite3 *db)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{"complete", b->res->incomplete == 0}, {"processes", b->all.n},
		{"symbols", !b->opt->no_symbols},      {"sum_peak_bytes", b->sum.peak},
		{"sum_peak_time_ns", b->sum.peak_ns},
	};
	size_t n = sizeof rows / sizeof *rows - (some_in_part(b) ? 2 : 0);
	struct ms_insert in = ms_insert(db, "meta", b->err);
	for (size_t i = 0; i < n; i++)
		ms_put_row(&in, ms_text("key", rows[i].key), ms_int("value", rows[i].value));
	if (b->successor_missing)
		ms_put_row(&in, ms_text("key", "successor_missing"),
			   ms_text("value", b->successor_missing));
	if (b->unreadable)
		ms_put_row(&in, ms_text("key", "unreadable"), ms_text("value", b->unreadable));
	if (b->unreadable_count)
		ms_put_row(&in, ms_text("key", "traces_unreadable"),
			   ms_int("value", b->unreadable_count));
	put_interpreters(b, &in);
	return ms_insert_close(&in);
}

/* A second thread makes the empty database during the replay, because parsing the schema takes as
 * long as replaying 100,000 events. */
#define STACK_BYTES (512u << 10)

struct maker {
	pthread_t thread;
	bool running;
	sqlite3 *db;
	struct ms_err err;
};

static void *make(void *arg)
{
	struct maker *m = arg;
	m->db = ms_snapshot_new(&m->err);
	return NULL;
}

static sqlite3 *made(struct maker *m)
{
	if (m->running)
		pthread_join(m->thread, NULL);
	else
		make(m);
	return m->db;
}

/* Writes the timeline of the sum of all processes to table sum_timeline. */
static int fill_sum(const struct ms_sum *s, sqlite3 *db, struct ms_err *err)
{
	struct ms_insert in = ms_insert(db, "sum_timeline", err);
	uint64_t last = 0, processes = 0;
	bool begun = false; /* stays false until the first bucket at or after --from */
	for (size_t i = 0; i < s->buckets; i++) {
		bool used = s->bucket[i].used;
		begun |= used;
		if (!begun)
			continue;
		/* A bucket without a change has the last figures of the previous bucket. */
		uint64_t most = used && s->bucket[i].most > last ? s->bucket[i].most : last;
		uint64_t count = used && s->bucket[i].processes > processes ? s->bucket[i].processes
									    : processes;
		last = used ? s->bucket[i].last : last;
		processes = used ? s->bucket[i].processes_last : processes;
		ms_put_row(&in, ms_int("time_ns", i * s->width_ns), ms_int("live_max", most),
			   ms_int("live_last", last), ms_int("processes", count));
	}
	return ms_insert_close(&in);
}

/* Tells whether a taker may receive the rows: not if rows are corrected later. */
static bool may_be_taken(const struct build *b)
{
	for (size_t i = 0; i < b->all.n; i++)
		if (ms_is_corrected(&b->all.v[i]->keep))
			return false;
	return true;
}

/* Fills `db`. Returns it, or closes it and returns NULL on failure. */
static sqlite3 *fill(struct build *b, sqlite3 *db)
{
	struct ms_symbols_options so = {.sysroot = b->opt->sysroot,
					.debug_dirs = b->opt->debug_dirs,
					.no_cache = b->opt->no_cache,
					.debuginfod_ns = b->opt->debuginfod_ns};
	struct ms_filling f = {.db = db,
			       .err = b->err,
			       .labels = b->labels,
			       .label_count = b->label_count,
			       .symbols = b->opt->no_symbols ? NULL : ms_symbols_new(&so),
			       .wrappers = b->opt->wrappers,
			       .no_site_details = b->opt->no_site_details,
			       .site = b->opt->site,
			       .one_process = b->all.n == 1,
			       .look_again = b->opt->sysroot || b->opt->debug_dirs ||
					     b->opt->debuginfod_ns};
	f.taker = may_be_taken(b) ? b->opt->taker : NULL;
	int rc = ms_sql_exec(db, "BEGIN", b->err) || fill_meta(b, db);
	if (rc == 0 && !some_in_part(b))
		rc = fill_sum(&b->sum, db, b->err);
	for (size_t i = 0; i < b->all.n && rc == 0; i++) {
		if (!f.one_process)
			ms_progress("summing up traces", "traces", i, b->all.n, NULL);
		rc = ms_fill_process(&f, &b->all.v[i]->keep);
	}
	rc = rc || ms_fill_one_time(&f) || ms_fill_replaced(db, b->err) ||
	     ms_sql_exec(db, "COMMIT", b->err);
	b->res->symbols_trouble = f.symbols ? ms_symbols_trouble(f.symbols) : NULL;
	ms_symbols_free(f.symbols);
	free(f.signs.v);
	if (rc == 0)
		return db;
	sqlite3_close(db);
	return NULL;
}

/* ---- */

/* Raises the limit of open files to its maximum, since a folder may hold more traces than the
 * default limit. Returns the limit. */
static uint64_t raise_file_limit(void)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) != 0)
		return 256;
	if (lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
		getrlimit(RLIMIT_NOFILE, &lim);
	}
	return lim.rlim_cur;
}

/* Opens and replays all traces, before a database is filled. */
static int replay(struct build *b)
{
	set_clock(b);
	b->replaying = b->all.n == 1 ? "replaying the trace"
				     : ms_arena_printf(&b->arena, "replaying %zu traces", b->all.n);
	if (ms_points_every(b) != 0)
		return -1;
	for (size_t i = 0, first = b->all.n; i < first; i++)
		if (ms_build_start(b, b->all.v[i]) != 0)
			return -1;
	if (ms_build_replay(b) != 0 || ms_points_check(b) != 0)
		return -1;
	ms_build_number(b);
	ms_build_count(b);
	return 0;
}

static sqlite3 *build(struct build *b, const char *const *traces, size_t n)
{
	struct maker m = {0};
	if (ms_points_parse(b) != 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (ms_build_input(b, traces[i]) != 0)
			return NULL;
	m.running = ms_thread_start(&m.thread, STACK_BYTES, make, &m) == 0;
	int rc = replay(b);
	sqlite3 *db = made(&m);
	if (rc == 0 && db)
		return fill(b, db);
	if (rc == 0)
		ms_err_set(b->err, "%s", m.err.text);
	sqlite3_close(db);
	return NULL;
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
	uint64_t began = ms_clock_ns(CLOCK_MONOTONIC);
	*b.res = (struct ms_build_result){0};
	b.files_max = raise_file_limit();
	sqlite3 *db = build(&b, traces, n);
	b.res->seconds = (double)(ms_clock_ns(CLOCK_MONOTONIC) - began) / 1e9;
	for (size_t i = 0; i < b.all.n; i++) {
		ms_recording_close(b.all.v[i]->keep.rec);
		ms_recording_close(b.all.v[i]->glance);
	}
	for (size_t i = 0; i < b.spooled.n; i++)
		close(b.spooled.v[i]);
	MS_FREE(b.all.v, b.queue.v);
	for (size_t i = 0; i < b.folders.n; i++)
		ms_run_index_free(&b.folders.v[i].index);
	MS_FREE(b.folders.v, b.spooled.v);
	ms_arena_free(&b.arena);
	return db;
}

sqlite3 *ms_snapshot_build(const char *const *traces, size_t n, const struct ms_build_options *opt,
			   struct ms_build_result *res, struct ms_err *err)
{
	return ms_snapshot_build_from(traces, n, NULL, opt, res, err);
}

/* ---- from an existing model ---- */

sqlite3 *ms_snapshot_of(struct ms_recording *rec, const struct ms_build_options *opt,
			struct ms_err *err)
{
	struct ms_build_result res = {0};
	struct running p = {.keep.rec = rec, .path = rec->path, .ended = true};
	struct build b = {.opt = opt, .res = &res, .err = err};
	sqlite3 *db = NULL;
	*MS_PUSH(&b.all) = &p;
	set_clock(&b);
	if (ms_points_parse(&b) == 0 && ms_points_set(&b, &p) == 0) {
		ms_recording_finish(rec);
		ms_points_ended(&b, &p);
		take_sum(&b, &p);
		ms_build_number(&b);
		ms_build_count(&b);
		db = ms_snapshot_new(err);
	}
	if (db)
		db = fill(&b, db);
	free(b.all.v);
	ms_arena_free(&b.arena);
	return db;
}
