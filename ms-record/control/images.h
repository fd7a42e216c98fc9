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

/* The next image of the run is that session's, whose output is there: its first records and its
 * first sample; from now on it is one of the control thread's. `parent`: image + 1, 0 = none. */
void begin_image(struct control *c, struct session *s, uint32_t parent);
/* Hands a session to the other threads: its process records, or is about to. */
void begin_draining(struct control *c, struct session *s);
/* Maps the guest into the process that `a` has looked at, and begins its session, which keeps `out`.
 * NULL with `err` set. */
struct session *begin_attached(struct control *c, struct attach *a, struct output *out,
			       uint32_t parent, struct ms_err *err);

/* Remembers an image whose trace is closed, removes the trace if it is trivial, and adds it to the
 * index (control thread). */
void images_settle(struct control *c, const struct session *s);
/* Remembers an image that is not recorded: of executable `exe`, which the image `parent` - 1
 * became or started (0 = not known) at `mono_ns` of CLOCK_MONOTONIC. */
void images_missed(struct control *c, pid_t pid, uint32_t parent, uint64_t mono_ns, const char *exe,
		   const char *why);
/* Returns in words what became of the image's file during or after the run; NULL = it is there. */
const char *images_lost(const struct image *m);
/* Returns the image of the first trace, which is named for reading; NULL = its file is not
 * there. */
const struct image *images_first(const struct control *c);
/* Tells whether its executable has a malloc, which a preloaded library cannot see. Reads its
 * symbols: slow. */
bool images_own_malloc(const struct image *m);
/* Returns how many blocks were freed that were never seen, of a program that was recorded from its
 * start; 0 = none, or only a few. */
uint64_t images_elsewhere(const struct image *m);
/* A function, with its module, that gives out blocks and is not hooked: it could not be, or it is the
 * likely one where many frees are of blocks never seen. Or NULL. */
const char *images_unhooked(const struct image *m);
void images_free(struct control *c);
