/* SPDX-License-Identifier: MIT
 * Sums: what a first screen shows of a recording, in a block at the end of its trace, so that it
 * need not be replayed.
 *
 * The block holds what a brief replay (ms_replay_brief) of the whole trace knows when it is
 * finished, and a digest of the blocks that were replayed. It is written only for a trace that is
 * complete, and taken only if all blocks are still there, unchanged. All else needs the events, and
 * does not read the block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_err;
struct ms_recording;

/* Number of events from which sums are written. Fewer are replayed in a tenth of a second. */
#define MS_SUMS_EVENTS UINT64_C(1000000)
/* Time of a recording, in ns for each event, from which ms-record has sums written: a replay takes a
 * twentieth of it. */
#define MS_SUMS_TIME UINT64_C(2000)

/* Opens a finished trace with sums and finishes its replay with them: all blocks are read and
 * checked, but no event is applied. Returns NULL if there are none that fit; the trace must then be
 * replayed. */
struct ms_recording *ms_sums_open(const char *path);

/* Replays the finished trace `path` and appends its sums and a copy of its end block, unless it has
 * them, has fewer than `events` events or `event_ns` ns for each, or is of a kind whose first screen
 * needs more. Returns 0, or -1 with `err` set and the trace unchanged. */
int ms_sums_append(const char *path, uint64_t events, uint64_t event_ns, struct ms_err *err);
