/* SPDX-License-Identifier: MIT
 * Hooks in modules that are opened while the process is recorded: dlopen. The control thread's.
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

/* Holds what became of the functions that --hook names, in the whole run. */
struct hook_results {
	const struct hooks *asked;
	bool placed[MG_HOOKS_MAX]; /* in any program, by number */
	struct ms_err refused;     /* why others were not, in the first that had some */
};

/* Notes that all modules that are mapped now have been searched. */
void hook_late_known(struct session *s, const struct attach_maps *maps);
/* The session is of the process that `a` is of. What `a` keeps until the session is freed, or
 * gives to hook_late_forget before it is freed itself. */
struct hook_late *hook_late_begin(struct session *s, struct attach *a);
void hook_late_forget(struct hook_late *l);
/* That of --hook has been placed in it. */
void hook_late_placed(struct session *s, size_t i, struct hook_results *results);
/* Has it never been? For the thread that knows that the session has ended. */
bool hook_late_missing(const struct session *s, size_t i);
void hook_late_free(struct hook_late *l);
/* Does a thread of the process wait for it? Any thread may ask. */
bool hook_late_asked(const struct session *s);
/* Does what its threads wait for. */
void hook_late_look(struct session *s, struct hook_results *results);
