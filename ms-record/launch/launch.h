/* SPDX-License-Identifier: MIT
 * Room launch: a command is started so that it is recorded.
 *   In:  a command line and its environment.
 *   Out: a process that waits for its session, or is stopped at its beginning.
 *   Used by: control; cli for --doctor.
 *
 * Starting the command: found, checked, and run with the guest preloaded.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libcommon/base/cli.h"

struct ms_err;

/* Holds the options of the command to run; room cli fills them in. */
struct launch_options {
	char **command;            /* NULL-terminated */
	struct ms_cli_list env;    /* --env NAME=value */
	bool children_ignored;     /* SIGCHLD was ignored as we began, and is for the command */
	const char *needs_library; /* an option that needs a library in it; NULL = none */
};

struct launch {
	char *program;      /* path of the command */
	char *guest;        /* path of libmemscope-preload.so */
	const char *inject; /* why preloading does not do (see inject.h); NULL = it does */
	bool own_malloc;    /* that is why; but its guest is preloaded, and hooks what it has */
	const char *socket; /* name of the abstract socket */
	sigset_t mask;      /* of signals, as we inherited it */
	int status;         /* for our exit when something fails: 125, 126, 127 */
	pid_t pid;
	int go;     /* pipe: one byte lets the child exec */
	int result; /* pipe: errno of a failed exec, or the end */
};

/* Finds the command along PATH and checks that it can be recorded. 0, or -1 with `err` and
 * l->status set. */
int launch_find(struct launch *l, const struct launch_options *o, struct ms_err *err);
/* How a program is to be recorded that a traced process has become. */
enum launch_way {
	LAUNCH_NOT,     /* it cannot be: see launch_why */
	LAUNCH_PRELOAD, /* a library can be preloaded */
	LAUNCH_INJECT,
};
enum launch_way launch_way(const char *path, struct ms_err *err);
/* Why the executable `path` cannot be recorded, as half a sentence. malloc'ed. */
char *launch_why(const char *path);
/* Forks a child that waits to be released. 0, or -1 with `err` set. */
int launch_fork(struct launch *l, const struct launch_options *o, struct ms_err *err);
/* Lets the child exec; waits until it did. 0, or -1 with `err` and l->status set (the child is
 * reaped). */
int launch_go(struct launch *l, struct ms_err *err);
/* The two halves of that: false = the child is gone. 0, or -1 as above. */
bool launch_release(struct launch *l);
int launch_answer(struct launch *l, bool let, struct ms_err *err);
/* Ends the waiting child instead. */
void launch_cancel(struct launch *l);
/* A file beside this program: in its folder, or ../lib/memscope. malloc'ed, NULL when there is
 * none. */
char *launch_own_file(const char *name);
/* LD_PRELOAD ends a name at a space or a colon: where the malloc'ed *path has one, it becomes that
 * of a link in the user's cache folder. False = that cannot be made. */
bool launch_preloadable(char **path);
