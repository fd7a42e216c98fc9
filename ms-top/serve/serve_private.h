/* SPDX-License-Identifier: MIT
 * Declarations shared by the files of room serve only.
 */
#pragma once

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "serve.h"
#include "libcommon/base/err.h"

/* Forms of a report that ms-report makes. */
enum answer_kind {
	ANSWER_PAGE,
	ANSWER_JSON,
	ANSWER_RETAINED,
	ANSWER_HEAP, /* differs from ANSWER_ALLOCS only in the type shown first */
	ANSWER_ALLOCS,
	ANSWER_TEXT,
	ANSWER_KINDS
};
#define SERVE_KEEP_NS UINT64_C(1000000000) /* time for which an answer is reused */
#define SERVE_WAITING 8u /* requests that may wait for the child; others are refused for now */

/* ---- listen.c ---- */

struct listening {
	int fd;          /* -1 = none */
	bool local;      /* reachable only from this machine */
	char path[108];  /* path of a Unix socket; "" = no Unix socket */
	char where[160]; /* result of serve_where */
	uint64_t dev, ino;
};
/* Opens the listening socket. Returns 0, or -1 with `err` set. */
int listen_open(struct listening *l, const struct serve_options *o, struct ms_err *err);
void listen_close(struct listening *l);

/* ---- access.c ---- */

#define TOKEN_MOST 256u
/* Reads the token from a file, which only its owner may access. Returns 0, or -1 with `err` set. */
int token_read(char token[TOKEN_MOST + 1], const char *path, struct ms_err *err);
/* Tells whether an Authorization header has the token. `given` may be NULL. */
bool token_matches(const char *token, const char *given);
/* Tells whether a Host header names this host. It does not if a foreign page was loaded from a
 * domain that was then rebound to this address. NULL (no browser) is accepted. */
bool host_is_local(const char *host);

/* ---- child.c ---- */

/* Describes a child process that makes one answer, on descriptors that we keep. */
struct child {
	int pid; /* 0 = no child */
	enum answer_kind kind;
	int base;      /* earlier snapshot, for changes since then; -1 = everything */
	bool snapshot; /* only the snapshot is wanted */
	uint64_t start_ns, snapshot_ns;
	int image, out, errors; /* memory files */
};
#define CHILD_NONE ((struct child){.base = -1, .image = -1, .out = -1, .errors = -1})
/* Starts a child. `image`: an existing snapshot to use, -1 = make one of the trace. Returns 0, or
 * -1 with `err` set. */
int child_start(struct child *c, struct serve *s, int image, struct ms_err *err);
/* Tells whether the child has ended; *status 0 = success. */
bool child_ended(struct child *c, int *status);
/* Kills the child, and closes its files. */
void child_drop(struct child *c);

/* ---- ask.c ---- */

enum ask_state { ASK_NONE, ASK_WAITS, ASK_DONE, ASK_FAILED };

/* Holds the answer that a request waits for. */
struct ask {
	enum ask_state state;
	bool names; /* request for names of functions, not for a report */
	enum answer_kind kind;
	uint64_t due_ns; /* earliest time of the answer */
	bool wants_base; /* the report covers only changes from the request until due_ns */
	int base;        /* snapshot at the request; -1 = not made yet */
	int fd;          /* the finished answer; -1 = none */
	char error[512]; /* why the request failed */
	struct request *of;
	struct ask *next; /* next waiting request */
};

struct asking {
	struct ask *first;
	struct child child;
	int image; /* latest snapshot, reused for a while; -1 = none */
	uint64_t image_ns;
	struct answer {
		int fd; /* -1 = none */
		uint64_t ns;
	} answers[ANSWER_KINDS];
};
void asking_init(struct asking *a);
void asking_close(struct asking *a);
/* Requests an answer from ms-report. `seconds`: changes in that time from now on, 0 = everything.
 * Returns false if too many requests wait. The answer may be ready at once. */
bool ask_report(struct serve *s, struct ask *q, enum answer_kind kind, unsigned seconds);
/* Waits for requested names of functions, for a limited time. */
void ask_names(struct serve *s, struct ask *q);
/* Makes a waiting request fail: its client is gone. */
void ask_give_up(struct serve *s, struct ask *q);
/* Removes a request that nobody waits for. */
void ask_drop(struct serve *s, struct ask *q);
/* Starts the child if possible, and calls request_wake for finished requests. Returns true if some
 * are still waiting. */
bool asking_work(struct serve *s);

/* ---- pprof.c, metrics.c: texts, to be freed; NULL = out of memory ---- */

char *pprof_cmdline(const struct trace *t, size_t *n);
/* Answers /symbol. `asked`: addresses separated by +; "" = only tells whether there are symbols.
 * Requests names. */
char *pprof_symbol(const struct trace *t, const char *asked, size_t *n);
/* Returns an empty profile called `name`, as in Go; NULL = there is no such profile. */
char *pprof_empty(const char *name, size_t *n);
extern const char pprof_index[];
char *metrics_text(struct trace *t, bool open, size_t *n);

/* ---- serve.c ---- */

struct client;
struct request;

struct serve {
	const struct serve_options *opt;
	struct listening at;
	char token[TOKEN_MOST + 1]; /* "" = no token required */
	struct MHD_Daemon *http;
	struct trace *trace; /* set during serve_work */
	struct asking asking;
	struct client *clients;
	unsigned client_count, client_most;
	uint64_t sweep_ns;
	struct metrics_kept {
		char *text; /* NULL = none */
		size_t n;
		uint64_t ns;
	} metrics[2]; /* index 0: older text format; index 1: OpenMetrics */
	bool busy;
};
/* Resumes a request when its answer is ready, or has failed. */
void request_wake(struct request *q);
