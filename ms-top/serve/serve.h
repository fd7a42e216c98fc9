/* SPDX-License-Identifier: MIT
 * Serves a trace over HTTP: profiles for pprof and compatible readers, metrics for Prometheus, the
 * report as a page and as JSON.
 *
 *   listen.c    opens the listening socket
 *   access.c    controls access: tokens, and the names of this host that a browser may use
 *   serve.c     handles requests, with libmicrohttpd; closes slow connections
 *   ask.c       lets requests wait: for names, and for ms-report, which a child process runs on a
 *               copy of the model
 *   child.c     the child process
 *   pprof.c     immediate answers below /debug/pprof; metrics.c all of /metrics
 *
 * All code runs in the thread that calls serve_work, between keys and frames: it never waits, and
 * the model needs no lock. The child does slow work, one request at a time.
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
	bool allow_remote;      /* allow other addresses than loopback */
	bool full_names;
	const struct ms_wrappers *wrappers;
};

/* Starts listening. `o` must outlive the result. Returns NULL with `err` set on failure. */
struct serve *serve_open(const struct serve_options *o, struct ms_err *err);
/* Closes all connections, and ends the child. `s` may be NULL. */
void serve_close(struct serve *s);
/* Returns the address as a user types it: "http://127.0.0.1:6060/", "unix:/run/app.sock". */
const char *serve_where(const struct serve *s);
/* Returns a descriptor that is readable when there is something to do. */
int serve_fd(const struct serve *s);
/* Answers requests about the trace as read so far, for about 20 ms. Returns the ms after which to
 * call it again, even if serve_fd is not readable; -1 = when it is readable. */
int serve_work(struct serve *s, struct trace *t);
