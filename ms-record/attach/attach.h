/* SPDX-License-Identifier: MIT
 * Room attach: hooks in a running process.
 *   In:  a process, and functions to hook.
 *   Out: its session; entries replaced by jumps into the image, and restored; reasons for failures.
 *   Used by: control; drain, for hooks that threads wait for (hook_late.h); cli for --doctor.
 *
 * Records a process that is already running: maps the guest into it, replaces the entries of its
 * allocators, and removes everything at the end.
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

/* Examines process `pid` without disturbing it: whether it exists, permission, allocators.
 * `launched`: the process was started by ms-record and does not run yet. `hooks` (borrowed): the
 * --hook options. `root`: path of another /proc, or NULL. Returns 0, or -1 with `err` set; *a is
 * set either way. */
int attach_look(struct attach **a, pid_t pid, bool launched, const struct hooks *hooks,
		const char *root, struct ms_err *err);
/* Tells whether the process has called exec or loaded libraries since attach_look. If so, the
 * caller should call attach_look again. */
bool attach_changed(const struct attach *a);
pid_t attach_pid(const struct attach *a);
/* Returns the path of the executable; "" = not known. */
const char *attach_program(const struct attach *a);
/* Maps the guest into the process. `forks`: reserves room for forked children, too. Returns 0, or
 * -1 with `err` set and everything unmapped. */
int attach_prepare(struct attach *a, bool forks, struct ms_err *err);
/* Starts the process's session, as session_new does. Returns NULL with `err` set and everything
 * unmapped on failure. */
struct session *attach_begin(struct attach *a, const struct session_options *o,
			     struct writer *writer, struct output *out, uint64_t *buffer_used,
			     struct hook_results *hooks, struct ms_err *err);
/* Replaces the functions' entries by jumps: from then on, events go to session `s`, which must be
 * drained. After a failure the guest's memory may remain mapped, but no thread executes it. */
int attach_go(struct attach *a, struct session *s, struct ms_err *err);
/* Restores the functions' entries and unmaps the session's memory from the process. Call once;
 * events recorded so far remain in the rings. */
void attach_detach(struct attach *a);
/* Maps a page for hook slots within jump distance of [low, high), in a process that is being
 * recorded. Returns the page's address; 0 = no room. */
uint64_t attach_more_room(struct attach *a, uint64_t low, uint64_t high);
/* Declares that the calling thread has stopped all threads of the process and keeps them stopped
 * during the next calls; with `stopped` = NULL, that it no longer does. `entry_sp`: the stack
 * pointer at program start; 0 = as the kernel reports it. */
void attach_hold(struct attach *a, struct hijack_stop *stopped, uint64_t entry_sp);
/* Makes the guest in the process report each exec to the socket at path `socket`, which is
 * borrowed. */
void attach_tells(struct attach *a, const char *socket);
/* Closes our descriptors that refer to the process. Call if it has ended or runs another
 * program. */
void attach_forget(struct attach *a);
/* Returns the name of the allocator that is statically linked into the module, recognized by
 * functions unique to it; NULL = not known. `proc`: folder /proc/PID. */
const char *attach_allocator_known(const struct attach_memory *memory, int proc,
				   const struct attach_module *m);
/* Tells whether the process has ended. */
bool attach_ended(const struct attach *a);
/* Holds figures for -v and for the summary; times in ns. */
struct attach_times {
	uint64_t map_ns;   /* longest stop of one thread while the guest was mapped */
	uint64_t patch_ns; /* stop of all threads while entries were replaced */
	uint64_t leave_ns; /* longest stop of all threads while entries were restored */
	unsigned threads, hooks, moved, leave_stops;
	unsigned asleep;    /* threads waiting in the kernel that were not stopped */
	unsigned cut_short; /* interrupted system calls, which may have returned early */
	bool adopted;       /* the guest image of an earlier recorder was reused */
	bool left;          /* the session's memory could not be unmapped */
	bool gave_up;       /* the entries could not be restored */
	char trouble[256];  /* reason of gave_up */
	char missing[256];  /* functions that could not be hooked, with reasons; "" = none */
};
const struct attach_times *attach_times(const struct attach *a);
/* Returns the part of an error text after the process: "why" of "cannot attach to process 12 ('x'):
 * why". */
const char *attach_reason(const char *text);
void attach_free(struct attach *a);
