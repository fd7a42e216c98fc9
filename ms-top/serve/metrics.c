/* SPDX-License-Identifier: MIT
 * /metrics: figures of the latest moment, independent of the screen.
 *
 * Sites are labelled by the function and line that they are named after. Labels must be unique, so
 * the largest call stacks are merged by label. Growing ones come first, then the largest; the rest
 * are summed up as one more, so that the total is all live memory. So there are at most SITES_MOST
 * + 1 labels, for any program.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve_private.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/metrics.h"
#include "libcommon/base/order.h"
#include "libcommon/base/path.h"
#include "libcommon/base/utf8.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_sampled.h"
#include "format/trace.h"

#define SITES_MOST 20u
#define STACKS_MOST 200u /* number of stacks considered for labels */

struct writer {
	FILE *f;
	bool open; /* OpenMetrics */
	const struct ms_recording *rec;
};

/* ---- values ---- */

/* Writes NAME{pid="..",name=".."; the caller adds the rest, after a comma. */
static void begin(const struct writer *w, const char *name, const char *end)
{
	const char *exe = w->rec->info.text[MS_INFO_EXE];
	fprintf(w->f, "memscope_%s%s{pid=\"%" PRIu64 "\",name=\"", name, end,
		w->rec->info.number[MS_INFO_PID]);
	ms_metrics_value(w->f, exe ? ms_base_name(exe) : "?");
	fputc('"', w->f);
}

static void put_gauge(const struct writer *w, const char *name, const char *unit, const char *help,
		      double v, int digits)
{
	ms_metrics_family(w->f, w->open, name, "gauge", unit, help);
	begin(w, name, "");
	fprintf(w->f, "} %.*f\n", digits, v);
}

static void put_count(const struct writer *w, const char *name, const char *unit, const char *help,
		      uint64_t v)
{
	ms_metrics_family(w->f, w->open, name, "counter", unit, help);
	begin(w, name, "_total");
	fprintf(w->f, "} %" PRIu64 "\n", v);
}

/* ---- the whole ---- */

static void put_rss(const struct writer *w)
{
	uint64_t rss = trace_rss(w->rec, UINT64_MAX);
	if (rss != UINT64_MAX)
		put_gauge(w, "resident_bytes", "bytes", "Resident memory.", (double)rss, 0);
}

static void put_totals(const struct writer *w)
{
	struct trace_total x = trace_counts(&w->rec->replay);
	put_gauge(w, "live_bytes", "bytes", "Bytes of live blocks.", (double)x.live_bytes, 0);
	put_gauge(w, "live_blocks", NULL, "Live blocks.", (double)x.live_blocks, 0);
	put_gauge(w, "peak_live_bytes", "bytes",
		  "Largest number of live bytes since the recording began.", (double)x.peak_bytes,
		  0);
	put_count(w, "allocations", NULL, "Allocations since the recording began.", x.allocations);
	put_count(w, "frees", NULL, "Blocks freed since the recording began.", x.frees);
	put_count(w, "allocated_bytes", "bytes", "Bytes allocated since the recording began.",
		  x.bytes);
}

/* Writes the trend: 1 for the word that applies, 0 for the others. A trend over too short a time
 * has no rate. */
static void put_trend(const struct writer *w, const struct ms_trend *t)
{
	bool grows = t->kind == MS_TREND_GROWING;
	ms_metrics_family(w->f, w->open, "live_trend", "gauge", NULL,
			  "Trend of live bytes: 1 for the current trend, 0 for the others.");
	for (int k = MS_TREND_SHORT; k <= MS_TREND_DOUBLING; k++) {
		begin(w, "live_trend", "");
		fprintf(w->f, ",trend=\"%s\"} %d\n", ms_trend_word((enum ms_trend_kind)k),
			k == (int)t->kind);
	}
	if (t->kind == MS_TREND_SHORT)
		return;
	put_gauge(w, "live_growth_bytes_per_second", "bytes_per_second",
		  "Growth rate of live bytes; 0 unless the trend is growing.", grows ? t->slope : 0,
		  3);
	put_gauge(w, "live_growth_confidence_ratio", "ratio",
		  "Confidence that live bytes grow, 0 to 1; 0 unless the trend is growing.",
		  grows ? t->confidence : 0, 3);
}

/* ---- sites ---- */

struct label {
	char text[256];
	uint64_t bytes, blocks;
	double growth; /* bytes per second */
};

/* Stores the sites with the most live bytes in `v`, sorted. Returns how many. */
static size_t choose(const struct ms_replay *r, uint32_t v[STACKS_MOST])
{
	size_t have = 0;
	for (uint32_t i = 0; i < r->site_count; i++) {
		uint64_t bytes = r->sites[i].live.bytes;
		if (!bytes || (have == STACKS_MOST && bytes <= r->sites[v[have - 1]].live.bytes))
			continue;
		size_t at = have < STACKS_MOST ? have++ : have - 1;
		for (; at && r->sites[v[at - 1]].live.bytes < bytes; at--)
			v[at] = v[at - 1];
		v[at] = i;
	}
	return have;
}

/* Replaces the characters that the writer of metrics would replace, so that labels that become
 * equal can be merged. */
static void clean(char *s)
{
	for (size_t n; *s; s += n) {
		uint32_t c;
		n = ms_utf8_next(s, strlen(s), &c);
		if (!n || c < ' ' || c == 0x7f)
			*s = '?';
		n += !n;
	}
}

static void put_name(const struct trace *t, uint32_t node, char *text, size_t room)
{
	char name[160], place[90];
	struct trace_site_name n = trace_site_name(t, node);
	trace_frame_name(&n.user, name, sizeof name);
	trace_frame_place(&n.user, place, sizeof place);
	snprintf(text, room, "%s%s%s", name, place[0] ? " " : "", place);
	clean(text);
}

/* Returns the trend of a site. The trends of sites on the screen are cached, and computed again
 * only after another sample. */
static struct ms_trend trend_of(struct trace *t, uint32_t site)
{
	if (!t->in_past && site < t->site_count)
		return trace_trend(t, &t->sites[site]);
	return ms_growth_trend(t->follow->rec->replay.growth, site);
}

static size_t make_labels(struct trace *t, const uint32_t *v, size_t n,
			  struct label labels[STACKS_MOST])
{
	const struct ms_replay *r = &t->follow->rec->replay;
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		char text[sizeof labels[0].text];
		struct ms_trend trend = trend_of(t, v[i]);
		put_name(t, r->sites[v[i]].node, text, sizeof text);
		size_t k = 0;
		while (k < count && strcmp(labels[k].text, text) != 0)
			k++;
		if (k == count)
			strcpy(labels[count++].text, text);
		labels[k].bytes += r->sites[v[i]].live.bytes;
		labels[k].blocks += ms_replay_live_blocks(r, v[i]);
		labels[k].growth += trend.kind == MS_TREND_GROWING ? trend.slope : 0;
	}
	return count;
}

MS_COMPARE(in_order, struct label,
	   MS_ORDER(y->growth > 0, x->growth > 0) ?: MS_ORDER(y->bytes, x->bytes))

static void put_site(const struct writer *w, const char *name, const char *site, double v,
		     int digits)
{
	begin(w, name, "");
	fputs(",site=\"", w->f);
	ms_metrics_value(w->f, site);
	fprintf(w->f, "\"} %.*f\n", digits, v);
}

static void put_labels(const struct writer *w, const struct label *v, size_t n)
{
	static const struct {
		const char *name, *unit, *help;
	} families[] = {
		{"site_live_bytes", "bytes",
		 "Live bytes by allocating function and line; [other]: all others."},
		{"site_live_blocks", NULL, "Live blocks by allocating function and line."},
		{"site_growth_bytes_per_second", "bytes_per_second",
		 "Growth rate by allocating function and line; 0 unless the trend is growing."},
	};
	for (int f = 0; f < 3; f++) {
		ms_metrics_family(w->f, w->open, families[f].name, "gauge", families[f].unit,
				  families[f].help);
		for (size_t i = 0; i < n; i++)
			put_site(w, families[f].name, v[i].text,
				 f == 0   ? (double)v[i].bytes
				 : f == 1 ? (double)v[i].blocks
					  : v[i].growth,
				 f == 2 ? 3 : 0);
	}
}

static void put_sites(const struct writer *w, struct trace *t)
{
	const struct ms_replay *r = &w->rec->replay;
	struct label *labels = ms_xcalloc(STACKS_MOST + 1, sizeof *labels);
	uint32_t v[STACKS_MOST];
	struct label other = {.text = "[other]", .bytes = r->live_bytes};
	for (size_t i = 0; i < r->site_count; i++)
		other.blocks += ms_replay_live_blocks(r, i);
	size_t n = make_labels(t, v, choose(r, v), labels);
	qsort(labels, n, sizeof *labels, in_order);
	n = n < SITES_MOST ? n : SITES_MOST;
	for (size_t i = 0; i < n; i++) {
		other.bytes -= labels[i].bytes;
		other.blocks -= labels[i].blocks;
	}
	labels[n] = other;
	put_labels(w, labels, n + 1);
	free(labels);
}

/* ---- the recorder ---- */

static void put_recorder(const struct writer *w, const struct trace *t)
{
	const struct ms_recording *rec = w->rec;
	uint64_t places = 0, lag = ms_follow_lag(t->follow);
	ms_trace_damaged_bytes(rec->file, &places);
	bool works = rec->state == MS_TRACE_GROWING && t->follow->file != MS_FILE_CUT;
	put_gauge(w, "up", NULL, "1 while the process is running and being recorded, else 0.",
		  works, 0);
	put_gauge(w, "recorder_reached_seconds", "seconds",
		  "Time of the newest event read, in seconds since the recording began.",
		  (double)ms_follow_reached(t->follow) / 1e9, 3);
	if (lag != UINT64_MAX)
		put_gauge(w, "recorder_lag_seconds", "seconds",
			  "Time by which the recorder and ms-top lag behind the program.",
			  (double)lag / 1e9, 3);
	put_count(w, "recorder_events", NULL, "Events in the trace.", rec->replay.events);
	put_count(w, "recorder_lost_events", NULL,
		  "Events that could not be recorded; if any, live figures may be wrong.",
		  ms_recording_lost(rec));
	put_gauge(w, "recorder_trace_bytes", "bytes", "Size of the trace.", (double)t->follow->size,
		  0);
	put_gauge(w, "recorder_damaged_places", NULL, "Places in the trace that cannot be read.",
		  (double)(places + rec->bad_blocks), 0);
	put_gauge(w, "recorder_sampled_bytes", "bytes",
		  "Bytes that one sample stands for; 0: every event is recorded.",
		  (double)(rec->replay.sampled ? rec->replay.sampled->mean : 0), 0);
}

char *metrics_text(struct trace *t, bool open, size_t *n)
{
	char *text = NULL;
	struct writer w = {.f = open_memstream(&text, n), .open = open, .rec = t->follow->rec};
	struct ms_trend trend = trace_whole_trend(t);
	if (!w.f)
		return NULL;
	put_recorder(&w, t);
	put_rss(&w);
	/* a polled process has no figures of blocks */
	if (!ms_recording_is_polled(w.rec)) {
		put_totals(&w);
		put_trend(&w, &trend);
		put_sites(&w, t);
	}
	if (open)
		fputs("# EOF\n", w.f);
	return fclose(w.f) == 0 ? text : NULL;
}
