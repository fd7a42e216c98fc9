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
	bool quiet;
	bool no_addresses; /* of releases that kept them unless it was given: does nothing */
	bool doctor;       /* --doctor: says what would work */
	bool standby;      /* --standby: COMMAND runs, and is not recorded yet */
	struct ms_cli cli;
};

/* Reads the arguments. 0, or -1 with `err` set. */
int options_read(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);
