/* SPDX-License-Identifier: MIT
 * Code that OpenJDK makes at run time, and whether it keeps frame pointers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process;

/* Finds where the process's Java code lies, and will lie: [*low, *high), empty where it keeps no
 * frame pointers (without -XX:+PreserveFramePointer). False: not known yet. Reads the process's
 * memory; ask only where libjvm.so is mapped. */
bool hotspot_frames(const struct process *process, uint64_t *low, uint64_t *high);
