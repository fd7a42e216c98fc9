/* SPDX-License-Identifier: MIT
 * Modules of a recorded image: from the guest's table and /proc/PID/maps to records of the trace.
 */
#pragma once

#include "code.h"

void modules_free(struct modules *m);
/* Moves to `to`, which is empty, the modules that children inherit from an ended process; its files
 * and records stay. */
void modules_hand_over(struct modules *to, struct modules *from);
/* Copies the parent's modules to a forked child, including held files. */
void modules_inherit(struct modules *all, struct modules *parent);
/* Reads /proc/PID/maps. */
void modules_read_maps(struct modules *all);
/* Opens the files of code in the mappings last read, before the process can remove or replace
 * them. */
void modules_hold_files(struct modules *all);
/* Lists functions of the modules in the mappings last read; the process waits for its handshake
 * meanwhile. */
void modules_list_frames(struct modules *all);
/* Handles the modules that the guest has added or closed since the last call. -1 = its table is out
 * of range. */
int modules_update(struct modules *all);
/* Returns the id of the module at `*ip` in `epoch`, 0 = unknown. Reads /proc/PID/maps if necessary.
 * For a file opened more than once, returns its first module and converts `*ip` to an address in
 * it, so that a reopened plugin stays the same module. */
uint32_t modules_find(struct modules *all, uint64_t *ip, uint32_t epoch);

/* Returns the epoch at `stamp`. */
uint32_t modules_epoch_at(const struct modules *all, uint64_t stamp);

/* Adds a module without mapped code: a heap of the program's own, for markers in call stacks
 * (MODULE_HEAP), or an interpreter's source file (MODULE_SOURCE). Returns its id. */
uint32_t modules_named(struct modules *all, uint32_t kind, const char *name);
/* Records function number `number` (from 1) of the source file `id`. */
void modules_function(struct modules *all, uint32_t id, uint32_t number, const char *name);
