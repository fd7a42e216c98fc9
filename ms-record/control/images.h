/* SPDX-License-Identifier: MIT
 * The images of a run: how they begin, what is remembered of those that are over, which traces are
 * kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "image.h"

struct attach;
struct control;
struct ms_err;
struct output;
struct session;

/* Begins to record the next program image (process between two execs) of the run with session `s`,
 * which has its output already: writes the image's first records, takes its first sample, and adds
 * it to the control thread's sessions. `parent`: number of the parent image + 1, 0 = none. */
void begin_image(struct control *c, struct session *s, uint32_t parent);
/* Passes a session to the draining thread and the scanner. The process records already, or is about
 * to. */
void begin_draining(struct control *c, struct session *s);
/* Maps the guest into the process examined through `a` and begins the process's session, which then
 * owns `out`. Returns NULL with `err` set on failure. */
struct session *begin_attached(struct control *c, struct attach *a, struct output *out,
			       uint32_t parent, struct ms_err *err);

/* Adds an program image whose trace is closed to the run's list and to the index, and removes the
 * trace if it is trivial. Called by the control thread. */
void images_settle(struct control *c, const struct session *s);
/* Adds an program image that is not recorded to the run's list and to the index. `exe`: path of the
 * executable; `parent`: number + 1 of the image that executed or started the program (0 = unknown)
 * at time `mono_ns` (CLOCK_MONOTONIC). */
void images_missed(struct control *c, pid_t pid, uint32_t parent, uint64_t mono_ns, const char *exe,
		   const char *why);
/* Returns a text that explains how the program image's trace file was lost, during or after the
 * run; NULL = the file exists. */
const char *images_lost(const struct image *m);
/* Returns the program image of the first trace, which is suggested for reading; NULL = its file
 * does not exist. */
const struct image *images_first(const struct control *c);
/* Tells whether the executable contains its own malloc, which a preloaded library cannot hook.
 * Slow: reads the symbols. */
bool images_own_malloc(const struct image *m);
/* Returns the number of frees of blocks whose allocation was not recorded, in a program recorded
 * from its start; 0 = none, or only a few. */
uint64_t images_elsewhere(const struct image *m);
/* Returns the name, with its module, of an allocation function that is not hooked: hooking failed,
 * or it probably allocated the blocks of many unmatched frees. NULL = none. */
const char *images_unhooked(const struct image *m);
void images_free(struct control *c);
