/* SPDX-License-Identifier: MIT
 * Traces into a snapshot: which traces (snapshot_inputs.c), on one clock, their points, replayed in
 * step (snapshot_step.c), then written process by process.
 */
#include "snapshot_build.h"

#include "arena.h"
#include "err.h"
#include "point.h"
#include "snapshot_insert.h"
#include "symbols.h"
#include "units.h"
#include "format/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- progress ---- */

static void show_progress(void *arg)
{
	struct build *b = arg;
	uint64_t done = 0;
	for (size_t i = 0; i < b->all.n && b->progress.on; i++)
		done += ms_trace_offset(b->all.v[i]->keep.rec->file);
	ms_progress_show(&b->progress, "replaying", done, b->bytes, NULL);
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

bool ms_build_needs_glance(const struct build *b)
{
	for (size_t i = 0; i < b->label_count; i++)
		if (b->points[i].kind == MS_POINT_BEFORE || b->points[i].kind == MS_POINT_CLOCK ||
		    b->points[i].kind == MS_POINT_MARK)
			return true;
	return false;
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
	if (ms_build_needs_glance(b) && !(glance = ms_recording_glance(p->path, b->err)))
		return -1;
	p->keep.points = ms_arena_alloc(&b->arena, b->label_count * sizeof *p->keep.points);
	for (size_t i = 0; i < b->label_count; i++)
		set_point(p, &b->points[i], &p->keep.points[i], glance);
	ms_recording_close(glance);
	return 0;
}

/* Moments that the recording did not reach are absent. */
void ms_build_ended(struct build *b, struct running *p)
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

int ms_build_start(struct build *b, struct running *p)
{
	if (b->progress.on) {
		p->keep.rec->on_block = show_progress;
		p->keep.rec->on_block_arg = b;
	}
	p->keep.offset_ns = p->start_ns >= b->origin_ns ? p->start_ns - b->origin_ns : 0;
	p->next_ns = p->keep.offset_ns;
	if (set_points(b, p) != 0)
		return -1;
	ms_build_enqueue(b, p);
	return 0;
}

/* ---- the database ---- */

static void put_text_row(struct ms_insert *in, const char *key, const char *value)
{
	if (!value)
		return;
	ms_put_text(in, key);
	ms_put_text(in, value);
	ms_put_row(in);
}

static int fill_meta(struct build *b, sqlite3 *db)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{"complete", b->res->incomplete == 0}, {"processes", b->all.n},
		{"sum_peak_bytes", b->sum.peak},       {"sum_peak_time_ns", b->sum.peak_ns},
		{"symbols", !b->opt->no_symbols},
	};
	struct ms_insert in;
	ms_insert_open(&in, db, "meta", "key, value", b->err);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ms_put_text(&in, rows[i].key);
		ms_put(&in, rows[i].value);
		ms_put_row(&in);
	}
	put_text_row(&in, "successor_missing", b->successor_missing);
	put_text_row(&in, "unreadable", b->unreadable);
	if (b->unreadable_count) {
		ms_put_text(&in, "traces_unreadable");
		ms_put(&in, b->unreadable_count);
		ms_put_row(&in);
	}
	return ms_insert_close(&in);
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
			       .progress = &b->progress,
			       .look_again = b->opt->sysroot || b->opt->debug_dirs};
	int rc = ms_sql_exec(db, "BEGIN", b->err) || fill_meta(b, db) ||
		 ms_sum_fill(&b->sum, db, b->err);
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
		if (ms_build_input(b, traces[i]) != 0)
			return NULL;
	set_clock(b);
	for (size_t i = 0, first = b->all.n; i < first; i++)
		if (ms_build_start(b, b->all.v[i]) != 0)
			return NULL;
	if (ms_build_replay(b) != 0 || check_points(b) != 0)
		return NULL;
	ms_build_number(b);
	ms_build_count(b);
	return fill(b);
}

static double seconds_since(const struct timespec *t)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
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
	ms_progress_start(&b.progress, b.opt->progress);
	raise_file_limit();
	sqlite3 *db = build(&b, traces, n);
	ms_progress_end(&b.progress);
	b.res->seconds = seconds_since(&began);
	for (size_t i = 0; i < b.all.n; i++)
		ms_recording_close(b.all.v[i]->keep.rec);
	for (size_t i = 0; i < b.spooled.n; i++)
		close(b.spooled.v[i]);
	free(b.all.v);
	free(b.queue.v);
	for (size_t i = 0; i < b.folders.n; i++)
		ms_run_index_free(&b.folders.v[i].index);
	free(b.folders.v);
	free(b.spooled.v);
	ms_arena_free(&b.arena);
	return db;
}

sqlite3 *ms_snapshot_build(const char *const *traces, size_t n, const struct ms_build_options *opt,
			   struct ms_build_result *res, struct ms_err *err)
{
	return ms_snapshot_build_from(traces, n, NULL, opt, res, err);
}
