/* SPDX-License-Identifier: MIT
 * The images of a run that are over: what is remembered of each, which traces are kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "image.h"

struct control;
struct session;

/* Remembers an image whose trace is closed, removes the trace if it is trivial, and adds it to the
 * index (control thread). */
void images_settle(struct control *c, const struct session *s);
/* Remembers an image that is not recorded: of executable `exe`, which the image `parent` - 1
 * became or started (0 = not known) at `mono_ns` of CLOCK_MONOTONIC. */
void images_missed(struct control *c, pid_t pid, uint32_t parent, uint64_t mono_ns, const char *exe,
		   const char *why);
/* What became of its file while or since it was written, in words; NULL = it is there. */
const char *images_lost(const struct image *m);
/* Has its executable a malloc, which a preloaded library cannot see? (Reads its symbols: slow.) */
bool images_own_malloc(const struct image *m);
void images_free(struct control *c);
