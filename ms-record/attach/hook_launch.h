/* SPDX-License-Identifier: MIT
 * Hooks in a program that was started with the guest preloaded: its entries are replaced while it
 * waits in the guest's constructor.
 */
#pragma once

#include <stdbool.h>

#include "ms-record/session/hook_spec.h"

struct ms_err;
struct session;

/* May there be something to hook in it? Then the session says so to the guest. */
bool hook_launch_wanted(struct session *s, const struct hooks *hooks);
/* Speaks with the guest at the other end of `fd`, and places the hooks; placed[i] is set for each
 * of `hooks` that was; `err` is set to lines, one for each function that is there and cannot be
 * hooked. With `all` the program is not run where there is such a line: true = it ended, having
 * done nothing. False = it runs, with the hooks that were placed. */
bool hook_launch(struct session *s, const struct hooks *hooks, int fd, bool *placed, bool all,
		 struct ms_err *err);
