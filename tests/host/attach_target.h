/* SPDX-License-Identifier: MIT
 * What the threads of a process to attach to have in common: see attach.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "every_call.h"

#define THREADS_MOST 256

extern atomic_bool over; /* threads end when they see it */
extern atomic_ulong done, wrong;
extern const char *file_name; /* the second argument */

/* The first is told at the end. */
void fault(const char *what, long a, long b);
void nap(long ns);
uint64_t next_random(uint64_t *x);
/* `steps` times another size for one of the `blocks` blocks p[i] of n[i] bytes, whose contents are
 * looked at. */
void churn_some(uint64_t *x, unsigned char **p, size_t *n, unsigned blocks, unsigned steps);

/* ---- attach_counts.c: the status of the process ---- */

int count(size_t threads, unsigned long rounds);
int tally(const char *file, size_t threads);

/* ---- attach_odd.c ---- */

void *locked(void *unused);
void *stepper(void *unused);
void *stormy(void *seed);
void begin_storm(void);
void begin_uring(void);
void *closer(void *unused);
void *opener(void *unused);
void *waiter(void *unused);
void *sharer(void *unused);
void *mover(void *unused);
void *spawner(void *unused);
