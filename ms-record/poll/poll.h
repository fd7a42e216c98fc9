/* SPDX-License-Identifier: MIT
 * Room poll: figures of /proc over time.
 *   In:  processes and an interval.
 *   Out: a table, a diagnosis, a trace of samples.
 *   Used by: main.
 *
 * Implements --poll: watches a process through /proc, without any code inside it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libcommon/base/err.h"
#include "libcommon/proc/proc_sample.h"
#include "libcommon/stats/trend.h"

struct control_options;

/* Holds the options of --poll; the command-line code (cli) fills them in. Options shared with
 * recordings are in control_options. */
struct poll_options {
	bool on, quiet;
	pid_t pid;         /* process of -p; 0 = run a command */
	const char *csv;   /* CSV file, "-" = standard output; NULL = no CSV */
	uint64_t max_heap; /* limit of the heap in bytes; 0 = no limit */
	double warn_rate;  /* bytes a second; slower growth gives no warning */
	/* bytes a second, also for recordings; faster growth is a finding of --fail-on; < 0 = no
	 * limit */
	double max_growth;
	const char *metrics; /* file of --poll=openmetrics; NULL = none */
};

/* Maximum number of samples kept for the diagnosis; when there are more, every second one is
 * dropped. */
#define POLL_POINTS 65536u
enum poll_figure { POLL_HEAP, POLL_RSS, POLL_VSZ, POLL_FIGURES };
struct poll_point {
	uint64_t ns, figure[POLL_FIGURES];
};
struct poll_series {
	struct poll_point *v;
	size_t n, cap;
	/* every: samples dropped after each kept one; skip: samples since the last kept one */
	uint64_t every, skip;
	uint64_t samples;                    /* number of samples, kept or not */
	struct poll_point first, last, peak; /* peak: maximum of each figure */
};
void poll_keep(struct poll_series *s, const struct ms_proc_sample *p);

/* Lists the ways in which polling ends. */
enum poll_end { POLL_ENDED, POLL_STOPPED, POLL_MAX_HEAP };

struct poll {
	const struct poll_options *opt;
	const struct control_options *rec; /* options shared with recordings */
	struct ms_proc_sampler taker;
	struct poll_series series;
	struct ms_proc_sample last; /* the last sample shown */
	struct ms_proc_peak peak_rss;
	uint64_t start_mono, start_wall, duration_ns;
	enum poll_end end;
	int status;            /* status of an ended command, in waitpid's form; -1 = unknown */
	int pid_out;           /* pid of the process */
	int signals;           /* signalfd */
	sigset_t mask;         /* signal mask that ms-record inherited */
	uint64_t forwarded_ns; /* when a signal was last forwarded to the command; 0 = never */
	bool over;             /* the polling has ended */
	bool unread;           /* standard output, which receives the samples, is closed */
	struct ms_trend heap;  /* trend of the whole run, set at its end */
	FILE *csv;             /* NULL = no CSV */
	int csv_errno;         /* errno of a failed write of the CSV; 0 = no error */
	bool table;            /* show the live table */
	uint64_t table_ns;     /* earliest time of the table's next line, ns */
	uint64_t metrics_ns;   /* earliest time of the next write of the metrics file */
	struct ms_proc_sample metrics_last;
	struct ms_err metrics_err; /* error of the last write of the metrics file; empty = none */
	struct poll_trace *trace;  /* NULL = no trace */
};

/* Polls until the end. Returns ms-record's status in waitpid's form, or -1 with `err` set and
 * *own set to the exit status. */
int poll_run(const struct poll_options *o, const struct control_options *rec, int *own,
	     struct ms_err *err);

/* ---- output: poll_say.c ---- */

/* Opens the output of --poll=csv and checks for a terminal. Returns 0, or -1 with `err` set. */
int poll_say_start(struct poll *p, struct ms_err *err);
/* Prints a sample. Errors are kept for poll_say_close, and polling continues, unless p->unread
 * is set. */
void poll_say_sample(struct poll *p, const struct ms_proc_sample *s);
/* Returns the trend of a figure's series so far. */
struct ms_trend poll_trend(const struct poll *p, enum poll_figure f);
/* Prints the diagnosis to `to`. */
void poll_say_end(struct poll *p, FILE *to);
/* Tells whether the heap grew faster than --fail-on allows, and reports it; also reports if this
 * cannot be judged. */
bool poll_say_too_fast(const struct poll *p, FILE *to);
/* Ends the output. Returns 0, or -1 with `err` set if the CSV could not be written. */
int poll_say_close(struct poll *p, struct ms_err *err);

/* ---- --poll=openmetrics: poll_metrics.c ---- */

/* Checks that the file can be written. Returns 0, or -1 with `err` set. */
int poll_metrics_start(struct poll *p, struct ms_err *err);
/* Rewrites the file with a sample, at most once a second. An error is kept for
 * poll_metrics_close. */
void poll_metrics_sample(struct poll *p, const struct ms_proc_sample *s);
/* Rewrites the file a last time. Returns 0, or -1 with `err` set. */
int poll_metrics_close(struct poll *p, struct ms_err *err);

/* ---- -o: poll_trace.c ---- */

/* Begins a trace with samples only. Returns 0, or -1 with `err` set. */
int poll_trace_open(struct poll *p, struct ms_err *err);
/* Adds a sample to the trace, if there is one. */
void poll_trace_sample(struct poll *p, const struct ms_proc_sample *s);
/* Ends the trace. Returns 0, or -1 with `err` set if any part of it could not be written. */
int poll_trace_close(struct poll *p, struct ms_err *err);
