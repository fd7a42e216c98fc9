/* SPDX-License-Identifier: MIT
 * The command line of ms-record: the options of all rooms, which are filled in here alone.
 */
#pragma once

#include <stdbool.h>

#include "libcommon/base/cli.h"
#include "ms-record/control/control_options.h"
#include "ms-record/poll/poll.h"

struct options {
	struct control_options record;
	struct poll_options poll;
	const char *tell, *tell_verb; /* --tell FILE VERB: nothing is recorded */
	bool quiet, report;           /* report: and then show it */
	bool no_addresses; /* of releases that kept them unless it was given: does nothing */
	bool doctor;       /* --doctor: says what would work */
	bool standby;      /* --standby: COMMAND runs, and is not recorded yet */
	struct ms_cli cli;
};

/* Reads the arguments. 0, or -1 with `err` set. */
int options_read(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);
/* Returns an argument of the command that looks like an option which names a trace for
 * ms-record, such as "-o"; NULL = there is none, or "--" stood before the command. Valid after
 * options_read(). */
const char *options_behind(const struct options *o);

/* ---- what values mean, and which go together: options_values.c ---- */

/* Each takes the option of its name into the member that its row names. */
ms_cli_take options_follow, options_drop, options_fail_on, options_leak_check, options_leak_mark,
	options_leak_align, options_leak_mask, options_start, options_env, options_keep,
	options_hook, options_pid, options_rate, options_wait;

/* Does --keep go with the others? 0, or -1 with `err` set. */
int options_check_keep(const struct files_options *o, struct ms_err *err);
/* All were read, and --poll is among them: refuses what would do nothing. 0, or -1 with `err` set. */
int options_check_poll(struct options *o, struct ms_err *err);
