/* SPDX-License-Identifier: MIT
 * The processes of -p, one or several: each is attached to by itself, all are recorded in one run.
 *
 * The first that can be had gets FILE, each further one a trace in FILE.d/. One that cannot is kept
 * with its reason, and costs the others nothing. While one of them is worked at, it is c->attach;
 * else that is the first.
 */
#ifndef MULTI_ATTACH_H
#define MULTI_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct attach;
struct control;
struct ms_err;
struct options;
struct session;
struct standby_attach;

#define MULTI_ATTACH_MAX 256u

struct multi_attach {
	size_t asked; /* processes that -p named */
	struct {
		struct attach_process {
			struct attach *attach;
			struct standby_attach *standby; /* it is on standby; NULL = not */
			pid_t pid;
			char *program;           /* path of its executable */
			struct session *session; /* until it is given to the draining thread */
			bool failed;             /* it is recorded no more, or never was */
		} * v;
		size_t n, cap;
	} all;
	struct {
		struct refusal {
			pid_t pid;
			char *why; /* a whole message */
		} * v;
		size_t n, cap;
	} refused;
};

/* Reads what -p said, "12" or "12,13", and adds it to the numbers asked for. 0, or -1 with `err`
 * set. */
int multi_attach_parse(struct options *o, const char *text, struct ms_err *err);
/* Looks at each of them, which none notices. 0, or -1 with `err` set: none can be had; c->attach is
 * the first that can. */
int multi_attach_look(struct control *c, struct ms_err *err);
/* Maps the guest into each of them. The same. */
int multi_attach_prepare(struct control *c, struct ms_err *err);
/* Replaces the entries in each of them: from here on it is recorded. The same. */
int multi_attach_go(struct control *c, struct ms_err *err);
/* Detaches from all of them. */
void multi_attach_detach(struct control *c);
/* Have all of them ended? */
bool multi_attach_ended(const struct control *c);
void multi_attach_free(struct control *c);

#endif
