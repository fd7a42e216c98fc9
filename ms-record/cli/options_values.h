/* SPDX-License-Identifier: MIT
 * What the values of ms-record's options mean, and which go together.
 */
#pragma once

#include "options.h"

/* Each takes the option of its name into the member that its row names. */
ms_cli_take options_follow, options_overflow, options_leak_check, options_leak_mark, options_start,
	options_env, options_keep, options_hook, options_pid, options_rate;

/* Does --keep go with the others? 0, or -1 with `err` set. */
int options_check_keep(const struct files_options *o, struct ms_err *err);
/* All were read, and --poll is among them: refuses what would do nothing. 0, or -1 with `err` set. */
int options_check_poll(struct options *o, struct ms_err *err);
