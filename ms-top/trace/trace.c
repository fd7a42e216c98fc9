/* SPDX-License-Identifier: MIT
 * Follows a trace: reads it, and sums up the figures of a frame.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/replay/replay_cells.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_sampled.h"
#include "format/trace.h"
#include "format/verdict.h"

#define WORK_NS 20000000u
#define THERE_NS 500000000u             /* longest wait for the file to exist */
#define LATE_NS 2000000000u             /* an event may come this long after a /proc sample */
#define WINDOW_NS 200000000u            /* shortest time span of rates */
#define ALL_EVENTS (UINT64_C(16) << 20) /* events that can be replayed in about a second */

/* ---- opening ---- */

static void read_process(struct trace *t)
{
	const struct ms_recording *r = t->follow->rec;
	const char *exe = r->info.text[MS_INFO_EXE];
	size_t n = (size_t)snprintf(t->process, sizeof t->process, "%s", exe ? basename(exe) : "?");
	for (size_t i = 1; i < r->args.n && n < sizeof t->process; i++)
		n += (size_t)snprintf(t->process + n, sizeof t->process - n, " %s", r->args.v[i]);
}

struct trace *trace_open(const char *path, const struct ms_wrappers *wrappers, struct ms_err *err)
{
	struct ms_follow *f = ms_follow_open(path, err);
	if (!f)
		return NULL;
	struct trace *t = ms_xcalloc(1, sizeof *t);
	t->follow = f;
	t->names = ms_names_new(wrappers);
	t->past = past_new();
	t->save = save_new(wrappers);
	t->shown = f->rec;
	for (int i = 0; i < TRACE_VIEWS; i++)
		list_init(&t->lists[i]);
	list_init(&t->frames);
	return t;
}

/* Tells whether a recording may begin in this file: the file is empty, but open in a recorder. With
 * `early`, an empty file without a recorder or a missing file counts, too. */
static bool is_beginning(const char *path, bool early)
{
	struct stat st;
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return early && errno == ENOENT;
	bool is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !st.st_size &&
		  (early || (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK));
	close(fd);
	return is;
}

struct trace *trace_open_begun(const char *path, const struct ms_wrappers *wrappers,
			       struct ms_err *err)
{
	uint64_t start = ms_clock_ns(CLOCK_MONOTONIC);
	for (;;) {
		/* checked first, since the recording may begin meanwhile */
		bool waits = is_beginning(path, ms_clock_ns(CLOCK_MONOTONIC) - start < THERE_NS);
		struct trace *t = trace_open(path, wrappers, err);
		if (t || !waits)
			return t;
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	}
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	recorder_stop(t->recorder);
	recorder_stop(t->asking);
	save_free(t->save);
	past_free(t->past);
	ms_names_free(t->names);
	ms_follow_close(t->follow);
	pattern_set(&t->filter, "");
	tree_free(&t->tree);
	kept_free(&t->kept);
	MS_FREE(t->sites, t->threads, t->base_sites, t->rows.v, t->ids, t->thread_rows.v,
		t->size_rows.v, t->site_threads, t);
}

/* ---- reading on ---- */

/* Forgets all sums; rates begin with the allocations in `s`, or with none if it is NULL. */
static void forget_sums(struct trace *t, const struct past_state *s)
{
	for (size_t i = 0; i < t->site_room; i++)
		t->sites[i] = (struct trace_site){
			.sum.before = s && i < s->site_count ? s->site_before[i] : 0};
	for (size_t i = 0; i < t->thread_room; i++)
		t->threads[i] = (struct trace_sum){
			.before = s && i < s->thread_count ? s->thread_before[i] : 0};
	t->before = s ? s->before : (struct trace_total){0};
	t->seen.rec = NULL;
}

/* Drops everything derived from the present recording, which is about to be replaced. */
static void leave(void *arg)
{
	struct trace *t = arg;
	past_drop(t->past);
	ms_names_forget(t->names);
	t->shown = NULL;
	t->whole.of = 0;
	t->in_past = t->waiting = t->has_base = t->in_site = false;
	t->site_count = t->thread_count = t->base_count = 0;
	forget_sums(t, NULL);
	t->rates = (struct trace_rates){0};
	t->detail = (struct site_detail){0};
	tree_forget(t);
	kept_forget(t);
	for (int i = 0; i < TRACE_VIEWS; i++)
		list_init(&t->lists[i]);
}

static void take_past(struct trace *t)
{
	const struct past_state *s = t->waiting ? past_get(t->past) : NULL;
	if (!s)
		return;
	t->waiting = false;
	if (!s->rec) {
		snprintf(t->news, sizeof t->news, "no such moment: %.200s", s->why);
		t->in_past = false;
		t->shown = t->follow->rec;
		return;
	}
	t->shown = s->rec;
	t->partial = s->partial;
	t->rates.seconds = (double)s->window_ns / 1e9;
	forget_sums(t, s);
}

int trace_work(struct trace *t, struct ms_err *err)
{
	int rc = ms_follow_step(t->follow, WORK_NS, err);
	if (rc < 0)
		return -1;
	if (rc == 0 && ms_follow_successor(t->follow, leave, t)) {
		t->shown = t->follow->rec;
		snprintf(t->news, sizeof t->news,
			 "the program called exec; its trace is now %.200s", t->follow->path);
		return 1;
	}
	take_past(t);
	if (!t->news[0])
		save_ended(t->save, t->news, sizeof t->news);
	if (t->recorder && !t->news[0])
		recorder_ended(t->recorder, t->news, sizeof t->news);
	if (t->asking && !t->news[0] && recorder_ended(t->asking, t->news, sizeof t->news)) {
		recorder_stop(t->asking);
		t->asking = NULL;
	}
	return rc;
}

int trace_again(struct trace *t, struct ms_err *err)
{
	if (ms_follow_again(t->follow, leave, t, err) != 0)
		return -1;
	t->shown = t->follow->rec;
	return 0;
}

/* ---- sums ---- */

static void make_room(struct trace *t, const struct ms_replay *r)
{
	t->sites = ms_xgrow(t->sites, &t->site_room, r->site_count, sizeof *t->sites);
	t->threads = ms_xgrow(t->threads, &t->thread_room, r->thread_count, sizeof *t->threads);
	t->site_count = r->site_count;
	t->thread_count = r->thread_count;
}

/* Takes figures of the replay; rates are kept. */
static void take(struct trace_sum *s, const struct ms_level *live, uint64_t calls, uint64_t bytes,
		 uint64_t temporary)
{
	s->live_bytes = live->bytes;
	s->live_blocks = live->blocks;
	s->allocations = calls;
	s->bytes = bytes;
	s->temporary = temporary;
}

/* Stores the verdict of the scan at the end for each site: the worst of any of its blocks. */
static void take_scan(struct trace *t, const struct ms_recording *rec)
{
	const struct ms_replay *r = &rec->replay;
	bool at_end = false;
	for (size_t i = 0; i < rec->verdicts.n; i++) {
		const struct ms_verdict_record *v = &rec->verdicts.v[i];
		if (v->is_scan) {
			at_end = strcmp(v->scan.label, "end") == 0;
			continue;
		}
		uint32_t site = v->site.stack < r->node_count ? r->site_of_node[v->site.stack] : 0;
		enum ms_verdict worst = ms_verdict_worst(&v->site);
		if (at_end && site && worst != MS_VERDICTS)
			t->sites[site - 1].scan = (uint8_t)(worst + 1);
	}
}

static void sum_up(struct trace *t)
{
	struct ms_replay *r = &t->shown->replay;
	ms_replay_sum_cells(r);
	make_room(t, r);
	for (size_t i = 0; i < t->site_count; i++) {
		const struct ms_replay_site *from = &r->sites[i];
		struct trace_site *s = &t->sites[i];
		take(&s->sum, &from->live, from->allocations, from->bytes, from->temporary);
		s->sum.live_blocks = ms_replay_live_blocks(r, i);
		s->peak_bytes = from->live.at_peak_bytes;
		s->node = from->node;
		s->scan = 0;
	}
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct ms_replay_thread *from = &r->threads[i];
		const struct ms_sampled *s = r->sampled;
		take(&t->threads[i], &from->live, from->allocations, from->bytes, from->temporary);
		t->threads[i].frees = !s                    ? from->frees
				      : i < s->thread_count ? s->threads[i].freed.blocks
							    : 0;
	}
	for (unsigned i = 0; i < MS_SIZE_CLASSES; i++) {
		const struct ms_replay_size *from = &r->sizes[i];
		take(&t->sizes[i], &from->live, from->allocations, from->bytes, from->temporary);
	}
	if (!t->in_past && t->shown->verdicts.n)
		take_scan(t, t->shown);
}

uint64_t trace_rss(const struct ms_recording *rec, uint64_t ns)
{
	for (size_t i = rec->samples.n; i-- > 0;) {
		const struct ms_row *s = &rec->samples.v[i];
		if (ms_has(s, MS_SAMPLE_RSS) && s->number[MS_SAMPLE_TIME] <= ns)
			return s->number[MS_SAMPLE_RSS];
	}
	return UINT64_MAX;
}

struct trace_total trace_counts(const struct ms_replay *r)
{
	const struct ms_sampled_site *s = r->sampled ? &r->sampled->total : NULL;
	return (struct trace_total){
		.live_bytes = r->live_bytes,
		.live_blocks = s ? s->live.blocks : r->live_blocks,
		.peak_bytes = r->peak_bytes,
		.allocations = s ? s->all.blocks : r->allocations,
		.frees = s ? s->freed.blocks : r->frees,
		.bytes = r->bytes,
		.temporary = r->temporary,
		.events = r->events,
	};
}

static void total_up(struct trace *t)
{
	const struct ms_recording *rec = t->shown;
	uint64_t ns = t->in_past ? t->past_ns : ms_follow_reached(t->follow);
	if (t->waiting)
		ns = t->total.ns; /* the figures are still of the previous moment that was shown */
	t->total = trace_counts(&rec->replay);
	t->total.ns = ns;
	t->total.peak_ns = rec->replay.peak_tick * rec->head->tick_ns;
	t->total.rss = trace_rss(t->follow->rec, ns);
}

/* Sets the rate; `all`: over the whole recording; `move`: the next window begins here. */
static void set_rate(struct trace_sum *s, double seconds, bool all, bool move)
{
	s->before = all ? 0 : s->before;
	s->per_second = s->allocations >= s->before && seconds > 0
				? (double)(s->allocations - s->before) / seconds
				: 0;
	if (move)
		s->before = s->allocations;
}

/* Updates rates over the time since the latest screen update that is old enough, or for a finished
 * trace, over the whole recording. */
static void rate_up(struct trace *t)
{
	const struct trace_total *now = &t->total, none = {0};
	bool over = !t->in_past && t->follow->caught_up && t->shown->state != MS_TRACE_GROWING;
	const struct trace_total *then = over ? &none : &t->before;
	uint64_t span = now->ns > then->ns ? now->ns - then->ns : 0;
	if (!over && !t->in_past && span < WINDOW_NS)
		return;
	double s = (double)span / 1e9, calls = (double)(now->allocations - then->allocations);
	bool move = !over && !t->in_past;
	t->rates = (struct trace_rates){
		.seconds = s,
		.allocations = s > 0 ? calls / s : 0,
		.frees = s > 0 ? (double)(now->frees - then->frees) / s : 0,
		.bytes = s > 0 ? (double)(now->bytes - then->bytes) / s : 0,
		.events = s > 0 ? (double)(now->events - then->events) / s : 0,
		.temporary = calls > 0 ? (double)(now->temporary - then->temporary) / calls : 0,
		.average = over,
	};
	for (size_t i = 0; i < t->site_count; i++)
		set_rate(&t->sites[i].sum, s, over, move);
	for (size_t i = 0; i < t->thread_count; i++)
		set_rate(&t->threads[i], s, over, move);
	if (move)
		t->before = *now;
}

/* Tells whether sums and order have been unchanged for two screen updates in a row, after which all
 * rates are 0. */
static bool nothing_new(struct trace *t)
{
	const struct ms_recording *rec = t->shown;
	struct trace_seen now = {.rec = rec,
				 .position = rec->replay.position,
				 .verdicts = rec->verdicts.n,
				 .answers =
					 t->filter.text[0] ? ms_names_answers(t->names, NULL) : 0,
				 .state = rec->state},
			  *then = &t->seen;
	bool same = now.rec == then->rec && now.position == then->position &&
		    now.verdicts == then->verdicts && now.answers == then->answers &&
		    now.state == then->state;
	now.times = same ? then->times + 1 : 0;
	*then = now;
	/* trends used for sorting are updated in turn, and continue during a recording */
	bool trends = t->sort == SITE_RATE || t->sort == SITE_VERDICT,
	     made = now.state != MS_TRACE_GROWING && now.times * TRACE_TRENDS > t->site_count;
	return now.times > 2 && (!trends || made);
}

/* ---- trends ---- */

/* Returns a trend, recomputed if there are new samples. */
static const struct ms_trend *renewed(const struct ms_recording *rec, struct trace_trend *x,
				      uint32_t site)
{
	const struct ms_growth *g = rec->replay.growth;
	/* also recomputed when the start of teardown is known */
	uint64_t key = g->every << 9 | (g->teardown > 0) << 8 | g->count;
	if (x->of != key)
		*x = (struct trace_trend){ms_growth_trend(g, site), key};
	return &x->trend;
}

struct ms_trend trace_whole_trend(struct trace *t)
{
	return *renewed(t->follow->rec, &t->whole, UINT32_MAX);
}

/* Tells whether the process with this pid runs the recorded program. In another pid namespace, the
 * pid may be of a different process. */
static bool is_it(int folder, const struct ms_recording *rec)
{
	char path[4096];
	const char *exe = rec->info.text[MS_INFO_EXE];
	ssize_t n = readlinkat(folder, "exe", path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0 && exe && strcmp(path, exe) == 0;
}

/* Forecasts when the live heap of a program being recorded will reach a limit. */
static void look_ahead(struct trace *t)
{
	char path[48];
	const struct ms_recording *rec = t->follow->rec;
	bool live = t->follow->same_boot == 1 && rec->state == MS_TRACE_GROWING && !t->in_past &&
		    !rec->replay.sampled;
	t->forecast = (struct forecast){0};
	if (!live || renewed(t->follow->rec, &t->whole, UINT32_MAX)->kind != MS_TREND_GROWING)
		return;
	snprintf(path, sizeof path, "/proc/%llu",
		 (unsigned long long)rec->info.number[MS_INFO_PID]);
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	if (is_it(folder, rec)) {
		struct limits l;
		limits_read(&l, folder);
		t->forecast = limits_forecast(&l, &t->whole.trend);
	}
	close(folder);
}

/* Chooses the order once, when the present trace has been read; later changes keep it. */
static void choose_sort(struct trace *t)
{
	if (!t->sort_open || !t->follow->caught_up)
		return;
	t->sort_open = false;
	for (size_t i = 0; i < t->site_count && trace_has_peak(t); i++)
		if (t->sites[i].scan == MS_VERDICT_IS_DIRECT + 1)
			t->sort = SITE_VERDICT;
}

/* ---- all of it ---- */

void trace_look(struct trace *t)
{
	struct ms_recording *rec = t->follow->rec;
	take_past(t);
	t->looks++;
	read_process(t);
	/* Even without events, the history of live bytes continues: in a finished trace to its end,
	 * as in ms-snap; in a growing one until LATE_NS ago, since later events may still
	 * arrive. */
	uint64_t late = rec->state == MS_TRACE_GROWING ? LATE_NS : 0,
		 reached = ms_follow_reached(t->follow);
	if (t->follow->caught_up && reached > late) {
		rec->replay.growth->exits =
			rec->state != MS_TRACE_GROWING && ms_recording_exited(rec);
		ms_growth_end(&rec->replay, (reached - late) / rec->head->tick_ns);
	}
	bool same = nothing_new(t);
	if (!same)
		sum_up(t);
	total_up(t);
	choose_sort(t);
	if (!same) {
		rate_up(t);
		trace_rows(t);
	}
	if (t->view == TRACE_TREE && !same)
		tree_make(t);
	kept_look(t);
	if (t->view == TRACE_KEPT)
		kept_make(t);
	if (t->in_site)
		site_look(t, t->detail.node);
	look_ahead(t);
	t->answers = ms_names_answers(t->names, NULL);
}

/* ---- of a site ---- */

struct trace_site *trace_find(const struct trace *t, uint32_t node)
{
	const struct ms_replay *r = &t->shown->replay;
	uint32_t site = node < r->node_count ? r->site_of_node[node] : 0;
	return site && site <= t->site_count ? &t->sites[site - 1] : NULL;
}

struct ms_trend trace_trend(const struct trace *t, struct trace_site *s)
{
	return *renewed(t->shown, &s->trend, (uint32_t)(s - t->sites));
}

static bool is_flat(const struct trace *t, const struct trace_site *s)
{
	const struct ms_growth *g = t->shown->replay.growth;
	float room[MS_GROWTH_SAMPLES];
	const float *v = ms_growth_samples(g, (uint32_t)(s - t->sites), room);
	for (size_t i = g->count / 10 + 1; v && i < g->count; i++) {
		double at = (double)(g->first + i * g->every) * g->tick_seconds;
		if (v[i] != v[i - 1])
			return g->teardown > 0 && at > g->teardown;
	}
	return true;
}

/* Tells whether the site had no blocks in any sample, over a time that is enough to judge a
 * trend. */
static bool held_nothing(const struct trace *t, const struct trace_site *s)
{
	const struct ms_growth *g = t->shown->replay.growth;
	float room[MS_GROWTH_SAMPLES];
	return !s->sum.live_blocks && g->count >= MS_TREND_SAMPLES && !t->partial &&
	       !ms_growth_samples(g, (uint32_t)(s - t->sites), room) &&
	       (double)(g->count * g->every) * g->tick_seconds >= MS_TREND_SECONDS;
}

const char *trace_verdict(const struct trace *t, struct trace_site *s)
{
	const char *scan = s->scan ? ms_verdict_word((enum ms_verdict)(s->scan - 1)) : NULL;
	struct ms_trend trend = trace_trend(t, s);
	bool temporary = !t->shown->replay.sampled && !t->partial && s->sum.allocations >= 10 &&
			 s->sum.temporary * 10 >= s->sum.allocations * 8;
	/* a worse result of a scan has precedence, as in ms-snap */
	if (scan && s->scan <= MS_VERDICT_IS_INDIRECT + 1)
		return scan;
	if ((trend.kind == MS_TREND_GROWING || trend.kind == MS_TREND_DOUBLING) &&
	    !t->shown->replay.sampled)
		return history_word(&trend);
	if (scan)
		return scan;
	if (temporary)
		return "temporary";
	if (is_flat(t, s) && (trend.kind == MS_TREND_STEADY || held_nothing(t, s)))
		return "flat";
	return trend.kind == MS_TREND_GROWING ? "growing" : history_word(&trend);
}

/* ---- a baseline ---- */

void trace_set_base(struct trace *t)
{
	if (t->in_past)
		return;
	t->base_sites =
		ms_xgrow(t->base_sites, &t->base_room, t->site_count, sizeof *t->base_sites);
	for (size_t i = 0; i < t->site_count; i++)
		t->base_sites[i] = t->sites[i].sum;
	t->base_count = t->site_count;
	t->base = t->total;
	t->has_base = true;
	trace_rows(t);
}

double trace_since_base(const struct trace *t, const struct trace_site *s)
{
	const struct ms_replay *r = &t->follow->rec->replay;
	uint32_t site = s->node < r->node_count ? r->site_of_node[s->node] : 0;
	if (!t->has_base)
		return 0;
	double then =
		site && site <= t->base_count ? (double)t->base_sites[site - 1].live_bytes : 0;
	return (double)s->sum.live_bytes - then;
}

/* ---- what is missing ---- */

bool trace_paused(const struct ms_recording *rec)
{
	for (size_t i = 0; i < rec->losses.n; i++)
		if (rec->losses.v[i].number[MS_LOSS_REASON] == MS_LOST_PAUSED)
			return true;
	return false;
}

/* ---- time ---- */

uint64_t trace_step(const struct trace *t)
{
	uint64_t step = ms_round_down(ms_follow_reached(t->follow) / 60),
		 tick_ns = t->follow->rec->head->tick_ns;
	return step >= 1000 && step > tick_ns ? step : tick_ns;
}

void trace_travel(struct trace *t, uint64_t ns)
{
	const struct ms_recording *rec = t->follow->rec;
	uint64_t tick_ns = rec->head->tick_ns;
	char path[64];
	if (ns == MS_NEVER || ns >= ms_follow_reached(t->follow)) {
		past_drop(t->past);
		t->in_past = t->waiting = t->partial = false;
		t->shown = t->follow->rec;
		forget_sums(t, NULL);
		return;
	}
	/* names the open file, whose path may refer to another file by now */
	snprintf(path, sizeof path, "/proc/self/fd/%d", t->follow->fd);
	t->past_ns = ns / tick_ns * tick_ns;
	t->in_past = t->waiting = true;
	past_ask(t->past, path, t->past_ns, rec->replay.position > ALL_EVENTS);
}

char *trace_point(const struct trace *t, char text[MS_UNIT_BUF])
{
	const struct ms_recording *rec = t->follow->rec;
	uint64_t latest_ns = rec->replay.last_tick * rec->head->tick_ns;
	return ms_format_seconds(text, t->in_past ? t->past_ns : latest_ns);
}

const char *trace_state(const struct trace *t, bool *trouble)
{
	const struct ms_follow *f = t->follow;
	const struct ms_recording *r = f->rec;
	uint64_t places = 0, bytes = ms_trace_damaged_bytes(r->file, &places);
	*trouble = true;
	if (f->file == MS_FILE_CUT)
		return "the file was truncated: what was read is kept (^L rereads it)";
	if (f->file == MS_FILE_REPLACED)
		return "the file was replaced by another one: ^L reads that";
	if (f->file == MS_FILE_REMOVED)
		return "the file was removed";
	if (bytes || places || r->bad_blocks || r->replay.bad_events)
		return "DAMAGED: part of the file cannot be read";
	if (f->caught_up && r->state == MS_TRACE_NO_END)
		return "INCOMPLETE: the recorder is gone";
	*trouble = false;
	if (!f->caught_up)
		return "reading";
	return r->state == MS_TRACE_GROWING ? "recording" : "ended";
}
