/* SPDX-License-Identifier: MIT
 * What the files of room serve share among themselves.
 */
#pragma once

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "serve.h"
#include "libcommon/base/err.h"

/* Names the forms of a report that ms-report is asked for. */
enum answer_kind {
	ANSWER_PAGE,
	ANSWER_JSON,
	ANSWER_HEAP, /* which of a profile's types is shown first is all that these two differ in */
	ANSWER_ALLOCS,
	ANSWER_TEXT,
	ANSWER_KINDS
};
#define SERVE_KEEP_NS UINT64_C(1000000000) /* that an answer is given again */
#define SERVE_WAITING 8u /* that wait for the child; others are told to come again */

/* ---- listen.c ---- */

struct listening {
	int fd;          /* -1 = none */
	bool local;      /* no other machine can reach it */
	char path[108];  /* of a Unix socket; "" = it is none */
	char where[160]; /* serve_where */
	uint64_t dev, ino;
};
/* 0, or -1 with `err` set. */
int listen_open(struct listening *l, const struct serve_options *o, struct ms_err *err);
void listen_close(struct listening *l);

/* ---- access.c ---- */

#define TOKEN_MOST 256u
/* The token of a file that is for its owner alone. 0, or -1 with `err` set. */
int token_read(char token[TOKEN_MOST + 1], const char *path, struct ms_err *err);
/* Is that the header Authorization of one who knows the token? `given` may be NULL. */
bool token_matches(const char *token, const char *given);
/* Is that the header Host of one who asked for this host by its own name? A page of elsewhere, to
 * which a browser was led by a name that now leads here, has another. NULL: no browser. */
bool host_is_local(const char *host);

/* ---- child.c ---- */

/* A child process that makes one answer, on descriptors that it leaves to us. */
struct child {
	int pid; /* 0 = there is none; else: */
	enum answer_kind kind;
	int base;      /* a snapshot of earlier: what has changed since; -1 = all that is */
	bool snapshot; /* nothing but the snapshot is wanted */
	uint64_t start_ns, snapshot_ns;
	int image, out, errors; /* files in memory */
};
#define CHILD_NONE ((struct child){.base = -1, .image = -1, .out = -1, .errors = -1})
/* `image` is a snapshot that is taken as it is, or -1: one is made of the trace. 0, or -1 with `err`
 * set. */
int child_start(struct child *c, struct serve *s, int image, struct ms_err *err);
/* Has it ended? Then *status is 0 when all is well. */
bool child_ended(struct child *c, int *status);
/* Ends it, and closes what it left. */
void child_drop(struct child *c);

/* ---- ask.c ---- */

enum ask_state { ASK_NONE, ASK_WAITS, ASK_DONE, ASK_FAILED };

/* Holds the answer that a request waits for. */
struct ask {
	enum ask_state state;
	bool names; /* those of functions, for a while; else for ms-report: */
	enum answer_kind kind;
	uint64_t due_ns; /* not before */
	bool wants_base; /* what changes until then is asked for; */
	int base;        /* a snapshot from the beginning; -1 = not there yet */
	int fd;          /* the answer, once it is done; -1 = none */
	char error[512]; /* when it failed */
	struct request *of;
	struct ask *next; /* of those that wait */
};

struct asking {
	struct ask *first;
	struct child child;
	int image; /* the latest snapshot, which is given again for a while; -1 = none */
	uint64_t image_ns;
	struct answer {
		int fd; /* -1 = none */
		uint64_t ns;
	} answers[ANSWER_KINDS];
};
void asking_init(struct asking *a);
void asking_close(struct asking *a);
/* Asks ms-report; `seconds`: for what changes from now on until then, 0 = for all that is. False:
 * there are too many already. The answer may be there at once. */
bool ask_report(struct serve *s, struct ask *q, enum answer_kind kind, unsigned seconds);
/* Waits until names of functions that were asked for are known, if that is soon. */
void ask_names(struct serve *s, struct ask *q);
/* It fails, when it waits: its client is gone. */
void ask_give_up(struct serve *s, struct ask *q);
/* Nobody waits for it any more. */
void ask_drop(struct serve *s, struct ask *q);
/* Starts what can be started, and calls request_wake for what came. True: something is waited for. */
bool asking_work(struct serve *s);

/* ---- pprof.c, metrics.c: texts, to be freed; NULL = there is no memory ---- */

char *pprof_cmdline(const struct trace *t, size_t *n);
/* `asked`: addresses with + between; "" = only whether there are symbols. Asks for names. */
char *pprof_symbol(const struct trace *t, const char *asked, size_t *n);
/* A profile without a sample, as PATH has it in Go; NULL = there is no such. */
char *pprof_empty(const char *name, size_t *n);
extern const char pprof_index[];
char *metrics_text(struct trace *t, bool open, size_t *n);

/* ---- serve.c ---- */

struct client;
struct request;

struct serve {
	const struct serve_options *opt;
	struct listening at;
	char token[TOKEN_MOST + 1]; /* "" = none is asked for */
	struct MHD_Daemon *http;
	struct trace *trace; /* during serve_work */
	struct asking asking;
	struct client *clients;
	unsigned client_count, client_most;
	uint64_t sweep_ns;
	struct metrics_kept {
		char *text; /* NULL = none */
		size_t n;
		uint64_t ns;
	} metrics[2]; /* of the older format, of OpenMetrics */
	bool busy;
};
/* Resumes a request when its answer is there, or failed. */
void request_wake(struct request *q);
