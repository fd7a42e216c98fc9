/* SPDX-License-Identifier: MIT
 * Threads of a recorded image: their numbers, names and ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Adds a thread that started at `stamp`. Returns its index. */
uint32_t threads_add(struct session *s, uint32_t tid, uint64_t stamp);
/* Records that a thread has ended. `index` UINT32_MAX = none. */
void threads_gone(struct session *s, uint32_t index);
/* Takes the thread's labels off down to `depth`, or if `text` (which is taken over) is not empty, to
 * one less, and sets `text` on them. Events of the thread are written under an index of the thread
 * with its labels from now on. */
void threads_label(struct session *s, uint32_t index, char *text, uint32_t depth);
/* Frees what the threads hold. */
void threads_free(struct session *s);
/* Updates the names that are due (`all`: every name), and writes a record of each thread that
 * changed. */
void threads_look(struct session *s, bool all);
