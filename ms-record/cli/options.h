/* SPDX-License-Identifier: MIT
 * The command line of ms-record: fills in the options of all rooms.
 */
#pragma once

#include <stdbool.h>

#include "libcommon/base/cli.h"
#include "ms-record/control/control_options.h"
#include "ms-record/dump/dump.h"
#include "ms-record/poll/poll.h"

struct options {
	struct control_options record;
	struct poll_options poll;
	struct dump_options dump;
	struct {
		uint64_t live, rss, every_ns; /* --retention-at; 0 = none */
	} moments;
	const char *tell, *tell_verb; /* --tell FILE VERB: send a request to a recorder; nothing is
					 recorded */
	bool quiet, report;           /* report: run ms-report at the end */
	bool no_addresses;            /* --without=addresses has no effect: it is the default */
	bool doctor;                  /* --doctor: report whether recording would work */
	bool standby;                 /* --standby: run COMMAND without recording it yet */
	struct ms_cli cli;
};

/* Reads the arguments. Returns 0, or -1 with `err` set. */
int options_read(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);
/* Returns an argument of the command that looks like ms-record's option to name a trace, such as
 * "-o"; NULL if there is none or "--" precedes the command. Call it after options_read. */
const char *options_behind(const struct options *o);

/* ---- values of options, and their combinations: options_values.c ---- */

/* Functions for the options with these names: each parses a value and stores it in the member that
 * the option's table row specifies. */
ms_cli_take options_follow, options_drop, options_fail_on, options_leak_check, options_leak_mark,
	options_leak_align, options_leak_mask, options_start, options_env, options_keep,
	options_hook, options_pid, options_rate, options_wait, options_when;

/* Checks that --keep and the other options can be combined. Returns 0, or -1 with `err` set. */
int options_check_keep(const struct files_options *o, struct ms_err *err);
/* Checks that the actions of --when and the other options can be combined. Returns 0, or -1 with
 * `err` set. */
int options_check_when(const struct control_options *r, struct ms_err *err);
/* Checks the options for --poll, after all options are read: refuses options without effect.
 * Returns 0, or -1 with `err` set. */
int options_check_poll(struct options *o, struct ms_err *err);
