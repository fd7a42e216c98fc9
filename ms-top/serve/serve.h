/* SPDX-License-Identifier: MIT
 * What a trace says, over HTTP: profiles for pprof and what reads those, metrics for Prometheus, the
 * report as a page and as JSON.
 *
 *   listen.c    where it listens: a socket of an address
 *   access.c    who may ask: tokens, and which names of this host a browser may have used
 *   serve.c     requests and their answers, by libmicrohttpd; clients that take too long
 *   ask.c       what is waited for: names, and ms-report in a child process, on a copy of the model
 *   child.c     that process
 *   pprof.c     what is answered at once below /debug/pprof; metrics.c all of /metrics
 *
 * All of it runs in the thread that asks serve_work, between keys and frames: nothing here waits, and
 * the model needs no lock. What takes longer is done by the child, one at a time.
 */
#pragma once

#include <stdbool.h>

struct ms_err;
struct ms_wrappers;
struct serve;
struct trace;

struct serve_options {
	const char *listen;     /* PORT, ADDRESS:PORT, unix:PATH */
	const char *token_file; /* NULL = none */
	bool allow_remote;      /* other addresses than those of this host */
	bool full_names;
	const struct ms_wrappers *wrappers;
};

/* Listens. `o` is kept. NULL with `err` set. */
struct serve *serve_open(const struct serve_options *o, struct ms_err *err);
/* Gives up all connections, and the child. `s` may be NULL. */
void serve_close(struct serve *s);
/* Returns where it listens, as it is typed: "http://127.0.0.1:6060/", "unix:/run/app.sock". */
const char *serve_where(const struct serve *s);
/* Returns a descriptor that is readable when there is something to do. */
int serve_fd(const struct serve *s);
/* Answers what can be answered now, of the trace as far as it was read, for some 20 ms. Returns in
 * how many ms it is to be called again, whether serve_fd says so or not; -1 = it says so. */
int serve_work(struct serve *s, struct trace *t);
