/* SPDX-License-Identifier: MIT
 * Computes what both runs held in the phases of their peaks, if these differ.
 */
#pragma once

#include "changes.h"
#include "open.h"

/* Computes the bytes that the shown run of each side held in the phase in which side `peak` had its
 * peak: this is the peak itself for that side, and for the other side the maximum near the
 * corresponding moment. False: not known, for instance with several processes or sampled
 * recordings. */
bool phase_of(const struct changes *c, const struct opened *runs, enum side peak, int64_t bytes[2]);
