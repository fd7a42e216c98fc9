/* SPDX-License-Identifier: MIT
 * The command line of ms-record.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "hook_spec.h"
#include "libcommon/base/cli.h"
#include "poll_options.h"

struct ms_err;

/* --leak-check; how long a scan may take if nobody says otherwise, in ns. */
enum scan_wish { SCAN_AUTO, SCAN_YES, SCAN_NO };
#define SCAN_AUTO_NS UINT64_C(2000000000)
#define SCAN_YES_NS UINT64_C(60000000000)

enum follow { FOLLOW_DEFAULT, FOLLOW_ALL, FOLLOW_NONE, FOLLOW_FORK, FOLLOW_EXEC, FOLLOW_NAMED };

struct options {
	const char *output;           /* NULL = EXE.PID.trace */
	uint64_t duration_ns;         /* 0 = until the end */
	uint64_t start_after_ns;      /* --start-after DUR; 0 = at once */
	const char *start_mark;       /* --start-after mark:NAME; NULL = none */
	uint64_t max_bytes;           /* --max-size; 0 = none */
	bool keep_live;               /* --keep, of either kind */
	uint64_t keep_last_ns;        /* --keep=last:DUR; 0 = --keep=live */
	const char *tell, *tell_verb; /* --tell FILE VERB: nothing is recorded */
	uint64_t interval_ns;         /* of /proc samples */
	bool interval_asked;          /* -i was given */
	int level;                    /* zstd's */
	bool children_ignored;        /* SIGCHLD was ignored as we began, and is for the command */
	bool quiet, verbose, no_symbols, no_args, addresses, verify;
	bool no_addresses; /* of releases that kept them unless it was given: does nothing */
	bool mapped, usable_size, free_stacks;
	enum scan_wish leak_check; /* with -p: on request only */
	uint64_t leak_ns;          /* how long it may take */
	const char *leak_mark;     /* --leak-check-at, "mark:NAME"; NULL = at no mark */
	uint32_t depth;
	uint64_t wait_ns; /* --overflow=wait:DUR; 0 = drop at once */
	uint64_t buffer_bytes;
	uint64_t sample_bytes; /* 0 = every event */
	uint64_t sample_seed;  /* not 0 once read, if sampling */
	enum follow follow;
	const char *follow_names; /* FOLLOW_NAMED: patterns with commas between them */
	struct ms_cli_list env;   /* --env NAME=value */
	char **command;           /* NULL-terminated */
	MS_ARRAY(pid_t) pids;     /* -p */
	struct hooks hooks;       /* --hook */
	struct poll_options poll;
	bool doctor;  /* --doctor: says what would work */
	bool standby; /* --standby: COMMAND runs, and is not recorded yet */
	struct ms_cli cli;
};

/* Reads the arguments. 0, or -1 with `err` set. */
int options_read(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);
/* What is recorded besides: MS_OPTION_* of the trace. */
uint64_t options_recorded(const struct options *o);
/* Shall a program that is executed, or a child that forks from it without an exec, be recorded?
 * `exe`: path of the executable; `name`: what the process is called. */
bool options_follow_exec(const struct options *o, const char *exe, const char *name);
bool options_follow_fork(const struct options *o, const char *exe, const char *name);

#endif
