/* SPDX-License-Identifier: MIT
 * Modules of a recorded image: from the guest's table and /proc/PID/maps to records of the trace.
 */
#pragma once

#include "code.h"

void modules_free(struct modules *m);
/* Moves the modules of an ended process, which its children inherit, from `from` to the empty `to`;
 * files and records stay in `from`. */
void modules_hand_over(struct modules *to, struct modules *from);
/* Copies the parent's modules to a forked child, including held files. */
void modules_inherit(struct modules *all, struct modules *parent);
/* Reads /proc/PID/maps. */
void modules_read_maps(struct modules *all);
/* Opens the files of code in the mappings last read, and keeps them open, since the process may
 * remove or replace the files later. */
void modules_hold_files(struct modules *all);
/* Allocates shared memory for the first `n` entries of the guest's table and some more, or for the
 * whole table if it has fewer. Returns false if there is no memory for `n`. */
bool modules_back(struct modules *all, uint32_t n);
/* Lists the functions of the modules in the mappings last read, for modules without unwind tables.
 * The process waits meanwhile, since its handshake is not answered yet. */
void modules_list_frames(struct modules *all);
/* Adds and closes modules as the guest's table has changed since the last call. Returns -1 if the
 * number of table entries is out of range. */
int modules_update(struct modules *all);
struct attach_memory;
/* Adds the modules that are in `maps`, mappings of memory that is not a process's. Modules that are closed
 * and have the same path and address are opened instead; returns their number. */
unsigned modules_in_image(struct modules *all, const struct attach_memory *memory,
			  const struct attach_maps *maps);
/* Returns the id of the module that contained address *ip in `epoch`, 0 = unknown. Reads
 * /proc/PID/maps if necessary. If a file was opened more than once, returns its first module, and
 * converts *ip to an address in that module: a reopened plugin counts as one module. */
uint32_t modules_find(struct modules *all, uint64_t *ip, uint32_t epoch);

/* Returns the epoch at `stamp`. */
uint32_t modules_epoch_at(const struct modules *all, uint64_t stamp);

/* Adds a module that is not mapped code: a custom heap, named by a marker frame in call stacks
 * (MODULE_HEAP), or an interpreter's source file (MODULE_SOURCE). Returns the module's id. */
uint32_t modules_named(struct modules *all, uint32_t kind, const char *name);
/* Adds the function `name`, which has number `number` (from 1) in the source file with module id
 * `id`. */
void modules_function(struct modules *all, uint32_t id, uint32_t number, const char *name);
