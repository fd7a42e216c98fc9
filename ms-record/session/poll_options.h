/* SPDX-License-Identifier: MIT
 * The options of --poll.
 */
#ifndef POLL_OPTIONS_H
#define POLL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ms_err;
struct option;
struct options;

struct poll_options {
	bool on;
	pid_t pid;             /* of -p; 0 = a command is run */
	const char *csv;       /* file, "-" = standard output; NULL = none */
	const char *proc_root; /* NULL = /proc */
	uint64_t max_heap;     /* bytes; 0 = none */
	double warn_rate;      /* bytes a second; growth that is slower is not warned of */
};

/* Values of getopt_long for them: one range, which options.c hands on. */
enum {
	OPT_POLL = 0x1000,
	OPT_POLL_CSV,
	OPT_POLL_PROC_ROOT,
	OPT_POLL_MAX_HEAP,
	OPT_POLL_WARN_RATE,
	OPT_POLL_END
};
#define POLL_LONGS                                                                                 \
	{"poll", no_argument, NULL, OPT_POLL}, {"csv", optional_argument, NULL, OPT_POLL_CSV},     \
		{"proc-root", required_argument, NULL, OPT_POLL_PROC_ROOT},                        \
		{"max-heap", required_argument, NULL, OPT_POLL_MAX_HEAP},                          \
	{                                                                                          \
		"warn-rate", required_argument, NULL, OPT_POLL_WARN_RATE                           \
	}
extern const char poll_options_help[];

/* Takes one of them. 0, or -1 with `err` set. */
int poll_option(struct poll_options *p, int c, const char *arg, struct ms_err *err);
/* All were read: `given` says which options there were, by value (of those below OPT_POLL).
 * Refuses what would do nothing. 0, or -1 with `err` set. */
int poll_options_check(struct options *o, const struct option *longs, const bool *given,
		       struct ms_err *err);
/* "1M/s", "5M/10m": bytes a second. 0, or -1 with `err` set. */
int poll_rate(const char *s, double *rate, struct ms_err *err);

#endif
