/* SPDX-License-Identifier: MIT
 * Modules of a recorded image: from the guest's table and /proc/PID/maps to records of the trace.
 */
#pragma once

#include "code.h"

void modules_free(struct modules *m);
/* Moves to `to`, which is empty, what children inherit of a process that is over; its files and
 * records stay. */
void modules_hand_over(struct modules *to, struct modules *from);
/* A forked child begins with what its parent had, files held open included. */
void modules_inherit(struct modules *all, struct modules *parent);
/* Reads /proc/PID/maps. */
void modules_read_maps(struct modules *all);
/* Opens the files of code whose mappings were read, before the process can remove or replace them. */
void modules_hold_files(struct modules *all);
/* Lists functions of modules of a process that waits for the handshake, whose maps are read. */
void modules_list_frames(struct modules *all);
/* Takes over what the guest added or closed since the last call. -1: its table is out of range. */
int modules_update(struct modules *all);
/* Id of the module that held `*ip` in `epoch`, 0 = none known. Looks into /proc/PID/maps when it
 * must. Of a file that was opened before, it is the first module of that file, and `*ip` becomes
 * what the address would be in that: a plugin that comes again is the same one. */
uint32_t modules_find(struct modules *all, uint64_t *ip, uint32_t epoch);

/* The epoch at that stamp. */
uint32_t modules_epoch_at(const struct modules *all, uint64_t stamp);

/* A module of no code that is mapped: a heap of the program's own, for markers in call stacks, or a
 * source file of an interpreter (MODULE_HEAP, MODULE_SOURCE). Its id. */
uint32_t modules_named(struct modules *all, uint32_t kind, const char *name);
/* A source file has a function more: its number there, from 1 upwards. */
void modules_function(struct modules *all, uint32_t id, uint32_t number, const char *name);
