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

/* Holds the options of the command to run; the command-line code (cli) fills them in. */
struct launch_options {
	char **command;         /* NULL-terminated */
	struct ms_cli_list env; /* --env NAME=value */
	/* SIGCHLD was ignored when ms-record started; the command inherits that */
	bool children_ignored;
	const char *needs_library; /* option that requires the preloaded library; NULL = none */
};

struct launch {
	char *program; /* path of the command */
	char *guest;   /* path of libmemscope-preload.so */
	/* reason why preloading is not enough (see inject.h); NULL = it is enough */
	const char *inject;
	/* the reason is the program's own malloc, which the preloaded guest hooks */
	bool own_malloc;
	const char *socket; /* name of the abstract socket */
	sigset_t mask;      /* signal mask that ms-record inherited */
	int status;         /* ms-record's exit status on failure: 125, 126 or 127 */
	pid_t pid;
	int go;     /* pipe: one byte lets the child exec */
	int result; /* pipe: errno of a failed exec, or end of file */
};

/* Finds the command in PATH and checks that it can be recorded. Returns 0, or -1 with `err` and
 * l->status set. */
int launch_find(struct launch *l, const struct launch_options *o, struct ms_err *err);
/* Lists the ways to record a program. */
enum launch_way {
	LAUNCH_NOT,     /* not possible: see launch_why */
	LAUNCH_PRELOAD, /* the library can be preloaded */
	LAUNCH_INJECT,
};
enum launch_way launch_way(const char *path, struct ms_err *err);
/* Returns the reason why the executable `path` cannot be recorded, as part of a sentence.
 * malloc'ed. */
char *launch_why(const char *path);
/* Forks a child that waits to be released. Returns 0, or -1 with `err` set. */
int launch_fork(struct launch *l, const struct launch_options *o, struct ms_err *err);
/* Lets the child exec and waits for the result. Returns 0, or -1 with `err` and l->status set (the
 * child is reaped). */
int launch_go(struct launch *l, struct ms_err *err);
/* Perform the two steps of launch_go one by one: launch_release lets the child exec and returns
 * false if the child has ended; launch_answer waits for the result, and returns as launch_go
 * does. */
bool launch_release(struct launch *l);
int launch_answer(struct launch *l, bool let, struct ms_err *err);
/* Ends the waiting child without an exec. */
void launch_cancel(struct launch *l);
/* Returns the path of a file next to this program, or in ../lib/memscope. malloc'ed; NULL = there
 * is none. */
char *launch_own_file(const char *name);
/* Replaces the malloc'ed *path, if it contains a space or a colon, at which LD_PRELOAD would be
 * split, by the path of a link in the user's cache folder. Returns false if no link can be made. */
bool launch_preloadable(char **path);
