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

#include "libcommon/proc/proc_sample.h"

struct ms_err;
struct control_options;

/* What room cli fills in; what a recording has too is in the options of that. */
struct poll_options {
	bool on, quiet;
	pid_t pid;         /* of -p; 0 = a command is run */
	const char *csv;   /* file, "-" = standard output; NULL = none */
	uint64_t max_heap; /* bytes; 0 = none */
	double warn_rate;  /* bytes a second; growth that is slower is not warned of */
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
	uint64_t start_mono, start_wall, duration_ns;
	enum poll_end end;
	int status;               /* waitpid's, of a command that ended; -1 = not known */
	int pid_out;              /* its number */
	int signals;              /* descriptor */
	sigset_t mask;            /* of signals, as we inherited it */
	uint64_t forwarded_ns;    /* when one was handed on to the command; 0 = none was */
	bool over;                /* there is nothing more to watch */
	bool unread;              /* nobody reads standard output, where samples go */
	FILE *csv;                /* NULL = none */
	int csv_errno;            /* why it could not be written */
	bool table;               /* the live table is shown */
	uint64_t table_ns;        /* when the next line may be */
	struct poll_trace *trace; /* NULL = none */
};

/* Polls until the end. The status for ms-record, as waitpid's; or -1 with `err` set and *own the
 * exit status. */
int poll_run(const struct poll_options *o, const struct control_options *rec, int *own,
	     struct ms_err *err);

/* ---- what is said: poll_say.c ---- */

/* Opens what --csv asks for, and looks whether there is a terminal. 0, or -1 with `err` set. */
int poll_say_start(struct poll *p, struct ms_err *err);
/* Failures are kept for the end: watching goes on, unless p->unread is set. */
void poll_say_sample(struct poll *p, const struct ms_proc_sample *s);
/* The diagnosis, to `to`. */
void poll_say_end(struct poll *p, FILE *to);
/* 0, or -1 with `err` set: the CSV could not be written. */
int poll_say_close(struct poll *p, struct ms_err *err);

/* ---- -o: poll_trace.c ---- */

/* Begins a trace with samples only. 0, or -1 with `err` set. */
int poll_trace_open(struct poll *p, struct ms_err *err);
/* The same. */
void poll_trace_sample(struct poll *p, const struct ms_proc_sample *s);
/* 0, or -1 with `err` set when anything of it could not be written. */
int poll_trace_close(struct poll *p, struct ms_err *err);
