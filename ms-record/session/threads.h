/* SPDX-License-Identifier: MIT
 * Threads of a recorded image: their numbers, names and ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

/* A thread that started at `stamp`. Returns its index. */
uint32_t threads_add(struct session *s, uint32_t tid, uint64_t stamp);
/* Notes that a thread does not exist any more. UINT32_MAX = none. */
void threads_gone(struct session *s, uint32_t index);
/* Reads names that are due (`all`: every one) and writes a record of each thread that changed. */
void threads_look(struct session *s, bool all);
