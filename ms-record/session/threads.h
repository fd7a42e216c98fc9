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
/* Updates the names that are due (`all`: every name), and writes a record of each thread that
 * changed. */
void threads_look(struct session *s, bool all);
