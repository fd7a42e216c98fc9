/* SPDX-License-Identifier: MIT
 * Code that OpenJDK makes at run time, and whether it keeps frame pointers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process;

/* Finds the address range [*low, *high) reserved for compiled Java code; an empty range if this
 * code keeps no frame pointers (no -XX:+PreserveFramePointer). False = not known yet. Reads the
 * process's memory; call only if libjvm.so is mapped. */
bool hotspot_frames(const struct process *process, uint64_t *low, uint64_t *high);
