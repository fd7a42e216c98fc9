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

/* Holds the results of all --hook options over the whole run. */
struct hook_results {
	const struct hooks *asked;
	bool placed[MG_HOOKS_MAX]; /* indexed by --hook option: the function was hooked in some
				      program */
	struct ms_err refused;     /* why functions were not hooked, one reason per function */
};

/* Records that all modules in `maps` have been searched. */
void hook_late_known(struct session *s, const struct attach_maps *maps);
/* Starts hooking modules loaded later by the attached process of the session. Returns the state.
 * `a` keeps it until the session is freed; if `a` is freed first, it passes the state to
 * hook_late_forget. */
struct hook_late *hook_late_begin(struct session *s, struct attach *a);
void hook_late_forget(struct hook_late *l);
/* Records that the i-th function of --hook was hooked in the session's process. */
void hook_late_placed(struct session *s, size_t i, struct hook_results *results);
/* Tells whether the function of the i-th --hook was never hooked. Only the thread that knows that
 * the session has ended may call this. */
bool hook_late_missing(const struct session *s, size_t i);
void hook_late_free(struct hook_late *l);
/* Tells whether a thread of the process that loaded a module waits until the module is hooked, or
 * no longer waits. May be called from any thread. */
bool hook_late_asked(const struct session *s);
/* If a thread of the process waits because it loaded a module: hooks the new modules and resumes
 * the thread. If one no longer waits: reports the functions in the new modules as not hooked. */
void hook_late_look(struct session *s, struct hook_results *results);
