/* SPDX-License-Identifier: MIT
 * Implements --poll=openmetrics: writes the current state of the process for Prometheus, for
 * node_exporter's textfile collector or any server of files.
 *
 * That collector and promtool read the older text format, which names counters differently and
 * lacks OpenMetrics' other types and its timestamps. So all values are gauges without a
 * timestamp, which are the same in both formats; the time of the sample is a gauge of its own.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/metrics.h"
#include "poll.h"

#define METRICS_NS UINT64_C(1000000000)

/* Begins a metric family. Its UNIT line is only a comment in the older format. */
static void put_family(FILE *f, const char *name, const char *unit, const char *help)
{
	ms_metrics_family(f, true, name, "gauge", unit, help);
}

static void put_labels(const struct poll *p, FILE *f, const char *name)
{
	fprintf(f, "memscope_%s{pid=\"%d\",name=\"", name, p->pid_out);
	ms_metrics_value(f, p->taker.proc.name);
	fputc('"', f);
}

static void put_number(const struct poll *p, FILE *f, const char *name, const char *unit,
		       const char *help, uint64_t v)
{
	put_family(f, name, unit, help);
	put_labels(p, f, name);
	fprintf(f, "} %" PRIu64 "\n", v);
}

static void put_real(const struct poll *p, FILE *f, const char *name, const char *unit,
		     const char *help, double v)
{
	put_family(f, name, unit, help);
	put_labels(p, f, name);
	fprintf(f, "} %.3f\n", v);
}

/* Writes the trend as a set of states, one of which is 1. Omits the growth rate while the run is
 * too short. */
static void put_trend(const struct poll *p, FILE *f)
{
	struct ms_trend t = p->over ? p->heap : poll_trend(p, POLL_HEAP);
	put_family(f, "heap_trend", NULL,
		   "Trend of the heap: 1 for the one that applies, 0 for the others.");
	for (int k = MS_TREND_SHORT; k <= MS_TREND_DOUBLING; k++) {
		put_labels(p, f, "heap_trend");
		fprintf(f, ",trend=\"%s\"} %d\n", ms_trend_word((enum ms_trend_kind)k),
			k == (int)t.kind);
	}
	if (t.kind == MS_TREND_SHORT)
		return;
	bool grows = t.kind == MS_TREND_GROWING;
	put_real(p, f, "heap_growth_bytes_per_second", "bytes_per_second",
		 "Growth rate of the heap, 0 unless it is judged to grow.", grows ? t.slope : 0);
	put_real(p, f, "heap_growth_confidence_ratio", "ratio",
		 "Confidence that the heap grows, 0 to 1; 0 unless the trend is growing.",
		 grows ? t.confidence : 0);
}

static void put_all(const struct poll *p, FILE *f, const struct ms_proc_sample *s)
{
	const struct ms_proc_sample *x = &p->taker.last_one;
	put_number(p, f, "up", NULL, "1 while the process runs and is polled, else 0.", !p->over);
	put_number(p, f, "resident_bytes", "bytes", "Resident memory.", s->rss);
	put_number(p, f, "heap_bytes", "bytes",
		   "Resident bytes of brk and private anonymous memory.", s->heap);
	put_number(p, f, "heap_peak_bytes", "bytes", "The largest heap of all samples.",
		   p->series.peak.figure[POLL_HEAP]);
	put_number(p, f, "virtual_bytes", "bytes", "Address space (VSZ).", s->vsz);
	if (p->taker.detailed) {
		put_number(p, f, "proportional_bytes", "bytes",
			   "Resident memory, shared pages divided among their users.", x->pss);
		put_number(p, f, "private_bytes", "bytes", "Resident memory of this process alone.",
			   x->private);
		put_number(p, f, "swapped_bytes", "bytes", "Memory swapped out.", x->swap);
	}
	put_trend(p, f);
	put_real(p, f, "sample_timestamp_seconds", "seconds", "Unix time of the sample.",
		 (double)(p->start_wall + s->ns) / 1e9);
	fputs("# EOF\n", f);
}

/* Rewrites the file. An error is kept until the next call, which tries again: only the last
 * error is reported. */
static void write_file(struct poll *p, const struct ms_proc_sample *s)
{
	char *text = NULL;
	size_t n = 0;
	struct ms_file file;
	struct ms_err err = {0};
	FILE *f = open_memstream(&text, &n);
	if (f)
		put_all(p, f, s);
	if (!f || fclose(f) != 0)
		ms_err_sys(&err, "cannot write '%s'", p->opt->metrics);
	else if (ms_file_begin(&file, p->opt->metrics, &err) == 0) {
		file.shared = true; /* the collector runs as another user */
		int rc = ms_write_all(file.fd, text, n);
		if (rc != 0)
			ms_err_sys(&err, "cannot write '%s'", p->opt->metrics);
		ms_file_end(&file, rc, &err);
	}
	p->metrics_err = err;
	free(text);
}

int poll_metrics_start(struct poll *p, struct ms_err *err)
{
	struct ms_file file;
	if (!p->opt->metrics)
		return 0;
	if (ms_file_begin(&file, p->opt->metrics, err) != 0)
		return -1;
	bool direct = file.direct;
	ms_file_end(&file, -1, err); /* discards the file: it was only a check */
	return direct ? ms_err_set(err,
				   "cannot write '%s': --poll=openmetrics needs a regular file: "
				   "each sample replaces it",
				   p->opt->metrics)
		      : 0;
}

void poll_metrics_sample(struct poll *p, const struct ms_proc_sample *s)
{
	p->metrics_last = *s;
	if (!p->opt->metrics || s->ns < p->metrics_ns)
		return;
	p->metrics_ns = s->ns + METRICS_NS;
	write_file(p, s);
}

int poll_metrics_close(struct poll *p, struct ms_err *err)
{
	if (p->opt->metrics && p->series.n)
		write_file(p, &p->metrics_last);
	return p->metrics_err.text[0] ? ms_err_set(err, "%s", p->metrics_err.text) : 0;
}
