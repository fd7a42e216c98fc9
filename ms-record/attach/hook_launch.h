/* SPDX-License-Identifier: MIT
 * Hooks in a program that was started with the guest preloaded: entries are replaced while the
 * program waits in the guest's constructor.
 */
#pragma once

#include <stdbool.h>

#include "ms-record/session/hook_spec.h"

struct ms_err;
struct session;

/* Tells whether there may be functions to hook in the program; if so, makes the guest wait until
 * they are hooked. */
bool hook_launch_wanted(struct session *s, const struct hooks *hooks);
/* Exchanges messages with the guest over `fd` and places the hooks. placed[i] is set if hooks->v[i]
 * was placed. `err` gets one line for each function that was found but cannot be hooked. `all`: if
 * a --hook fails, the program is not run. Returns true if the program ended without having run;
 * false if it runs with the placed hooks. */
bool hook_launch(struct session *s, const struct hooks *hooks, int fd, bool *placed, bool all,
		 struct ms_err *err);
