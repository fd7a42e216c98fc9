/* SPDX-License-Identifier: MIT
 * Room poll: figures of /proc over time.
 *   In:  processes and an interval.
 *   Out: a table, a diagnosis, a trace of samples.
 *   Used by: main.
 *
 * --poll: a process watched through /proc, without anything in it.
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

/* Holds the options of --poll, which room cli fills in; those that a recording has too are in its
 * own options. */
struct poll_options {
	bool on, quiet;
	pid_t pid;         /* of -p; 0 = a command is run */
	const char *csv;   /* file, "-" = standard output; NULL = none */
	uint64_t max_heap; /* bytes; 0 = none */
	double warn_rate;  /* bytes a second; growth that is slower is not warned of */
	double max_growth; /* bytes a second, of a recording too: faster is a finding; < 0 = none */
	const char *metrics; /* file of --poll=openmetrics; NULL = none */
};

/* The samples that the diagnosis looks at: every second one goes when there are too many. */
#define POLL_POINTS 65536u
enum poll_figure { POLL_HEAP, POLL_RSS, POLL_VSZ, POLL_FIGURES };
struct poll_point {
	uint64_t ns, figure[POLL_FIGURES];
};
struct poll_series {
	struct poll_point *v;
	size_t n, cap;
	uint64_t every, skip; /* one in every + 1 is kept; so many were not since then */
	uint64_t samples;     /* in all */
	struct poll_point first, last, peak; /* peak: each figure's largest */
};
void poll_keep(struct poll_series *s, const struct ms_proc_sample *p);

/* How it ended. */
enum poll_end { POLL_ENDED, POLL_STOPPED, POLL_MAX_HEAP };

struct poll {
	const struct poll_options *opt;
	const struct control_options *rec; /* what a recording has, too */
	struct ms_proc_sampler taker;
	struct poll_series series;
	struct ms_proc_sample last; /* the last sample shown */
	struct ms_proc_peak peak_rss;
	uint64_t start_mono, start_wall, duration_ns;
	enum poll_end end;
	int status;            /* waitpid's, of a command that ended; -1 = not known */
	int pid_out;           /* its number */
	int signals;           /* descriptor */
	sigset_t mask;         /* of signals, as we inherited it */
	uint64_t forwarded_ns; /* when one was handed on to the command; 0 = none was */
	bool over;             /* there is nothing more to watch */
	bool unread;           /* nobody reads standard output, where samples go */
	struct ms_trend heap;  /* of the whole time, as soon as that is over */
	FILE *csv;             /* NULL = none */
	int csv_errno;         /* why it could not be written */
	bool table;            /* the live table is shown */
	uint64_t table_ns;     /* when the next line may be */
	uint64_t metrics_ns;   /* when the file of metrics may be written next */
	struct ms_proc_sample metrics_last;
	struct ms_err metrics_err; /* why that failed the last time */
	struct poll_trace *trace;  /* NULL = none */
};

/* Polls until the end. The status for ms-record, as waitpid's; or -1 with `err` set and *own the
 * exit status. */
int poll_run(const struct poll_options *o, const struct control_options *rec, int *own,
	     struct ms_err *err);

/* ---- what is said: poll_say.c ---- */

/* Opens what --poll=csv asks for, and looks whether there is a terminal. 0, or -1 with `err` set. */
int poll_say_start(struct poll *p, struct ms_err *err);
/* Failures are kept for the end: watching goes on, unless p->unread is set. */
void poll_say_sample(struct poll *p, const struct ms_proc_sample *s);
/* Returns the trend of a figure's series so far. */
struct ms_trend poll_trend(const struct poll *p, enum poll_figure f);
/* The diagnosis, to `to`. */
void poll_say_end(struct poll *p, FILE *to);
/* Tells whether the heap grew faster than --fail-on allows, and says so; also says why, if it
 * cannot be judged. */
bool poll_say_too_fast(const struct poll *p, FILE *to);
/* 0, or -1 with `err` set: the CSV could not be written. */
int poll_say_close(struct poll *p, struct ms_err *err);

/* ---- --poll=openmetrics: poll_metrics.c ---- */

/* Can the file be written? 0, or -1 with `err` set. */
int poll_metrics_start(struct poll *p, struct ms_err *err);
/* The file anew, at most once a second, and at the end. A failure is kept for then. */
void poll_metrics_sample(struct poll *p, const struct ms_proc_sample *s);
/* 0, or -1 with `err` set. */
int poll_metrics_close(struct poll *p, struct ms_err *err);

/* ---- -o: poll_trace.c ---- */

/* Begins a trace with samples only. 0, or -1 with `err` set. */
int poll_trace_open(struct poll *p, struct ms_err *err);
/* Adds a sample to the trace, if there is one. */
void poll_trace_sample(struct poll *p, const struct ms_proc_sample *s);
/* 0, or -1 with `err` set when anything of it could not be written. */
int poll_trace_close(struct poll *p, struct ms_err *err);
