/* SPDX-License-Identifier: MIT
 * Room attach: hooks in a process that runs.
 *   In:  a process, and functions to hook.
 *   Out: its session; its entries jump into the image, and are put back; what could not be.
 *   Used by: control; drain, for hooks that threads wait for (hook_late.h); cli for --doctor.
 *
 * Recording a process that runs already: the guest mapped into it, its allocators' entries
 * replaced, and all of it taken back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attach;
struct attach_memory;
struct attach_module;
struct hijack_stop;
struct hook_results;
struct ms_err;
struct hooks;
struct session_options;
struct output;
struct session;
struct writer;

/* Looks at the process `pid`, which does not notice: may we, is it there, what allocators has it?
 * `launched`: by us, and it begins only; `hooks`, borrowed: asked for; `root`: of /proc, or NULL. 0,
 * or -1 with `err` set; *a is set either way. */
int attach_look(struct attach **a, pid_t pid, bool launched, const struct hooks *hooks,
		const char *root, struct ms_err *err);
/* Did it become another program since it was looked at, or is it about to? Then look again. */
bool attach_changed(const struct attach *a);
pid_t attach_pid(const struct attach *a);
/* Path of its executable; "" = not known. */
const char *attach_program(const struct attach *a);
/* Maps the guest; `forks`: with room for forked children. 0, or -1 with `err` set and nothing left
 * of it. */
int attach_prepare(struct attach *a, bool forks, struct ms_err *err);
/* Begins its session, as session_new. NULL with `err` set and nothing left of it. */
struct session *attach_begin(struct attach *a, const struct session_options *o,
			     struct writer *writer, struct output *out, uint64_t *buffer_used,
			     struct hook_results *hooks, struct ms_err *err);
/* Replaces the entries: from here on it is recorded, in session `s`, which is to be drained. On
 * failure nothing is left but the memory of the guest, which nobody enters. */
int attach_go(struct attach *a, struct session *s, struct ms_err *err);
/* Puts the entries back and takes the session's memory out of the process. Once; what was recorded
 * so far is in the rings. */
void attach_detach(struct attach *a);
/* A page for slots from which [low, high) can be reached, in a process that is recorded; 0 = there
 * is no room. */
uint64_t attach_more_room(struct attach *a, uint64_t low, uint64_t high);
/* All threads of the process are stopped by the calling thread, and stay so, for what follows;
 * NULL: no more. `entry_sp`: the stack pointer at its beginning; 0 = as the kernel says. */
void attach_hold(struct attach *a, struct hijack_stop *stopped, uint64_t entry_sp);
/* Its process is to tell of programs that it is about to become, at that socket, which is borrowed. */
void attach_tells(struct attach *a, const char *socket);
/* Its process has ended, or is another program now: what we have open of it is closed. */
void attach_forget(struct attach *a);
/* Name of the allocator that is linked into the module, by functions that no other has; NULL = not
 * known. `proc`: folder /proc/PID. */
const char *attach_allocator_known(const struct attach_memory *memory, int proc,
				   const struct attach_module *m);
/* Has the process ended? */
bool attach_ended(const struct attach *a);
/* Lines for -v and the summary. */
struct attach_times {
	uint64_t map_ns;   /* one thread was stopped to map the guest */
	uint64_t patch_ns; /* all threads were stopped to replace entries, */
	uint64_t leave_ns; /* and to put them back, at most at a time */
	unsigned threads, hooks, moved, leave_stops;
	unsigned asleep;    /* threads that waited in the kernel and were left alone */
	unsigned cut_short; /* system calls that may have come back early */
	bool adopted;       /* what an earlier recorder left was used again */
	bool left;          /* the session's memory had to be left in it */
	bool gave_up;       /* the entries could not be put back */
	char trouble[256];  /* why */
	char missing[256];  /* functions that could not be hooked, with reasons; "" = none */
};
const struct attach_times *attach_times(const struct attach *a);
/* Returns an error without what it is about: "cannot attach to process 12 ('x'): why" -> "why". */
const char *attach_reason(const char *text);
void attach_free(struct attach *a);
