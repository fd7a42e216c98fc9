/* SPDX-License-Identifier: MIT
 * Hooks in modules that are loaded (dlopen) while the process is recorded. For the control thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/base/err.h"
#include "ms-record/guest/layout.h"

struct attach;
struct attach_maps;
struct hook_late;
struct hooks;
struct session;

/* Holds, for the whole run, which functions that --hook names were hooked. */
struct hook_results {
	const struct hooks *asked;
	bool placed[MG_HOOKS_MAX]; /* by number of --hook: hooked in some program */
	struct ms_err refused;     /* first reasons why others were not */
};

/* Records that all modules in `maps` have been searched. */
void hook_late_known(struct session *s, const struct attach_maps *maps);
/* Starts late hooks for the session of an attached process. Returns the state, which `a` keeps
 * until the session is freed; if `a` is freed first, it passes the state to hook_late_forget. */
struct hook_late *hook_late_begin(struct session *s, struct attach *a);
void hook_late_forget(struct hook_late *l);
/* Records that the i-th function of --hook was hooked in the session's process. */
void hook_late_placed(struct session *s, size_t i, struct hook_results *results);
/* Tells whether the i-th function of --hook was never hooked. For the thread that knows that the
 * session has ended. */
bool hook_late_missing(const struct session *s, size_t i);
void hook_late_free(struct hook_late *l);
/* Tells whether a thread of the process waits for late hooks. Any thread may call it. */
bool hook_late_asked(const struct session *s);
/* Hooks newly loaded modules if a thread of the process waits for that, and lets the thread
 * continue. */
void hook_late_look(struct session *s, struct hook_results *results);
