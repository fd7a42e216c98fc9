/* SPDX-License-Identifier: MIT
 * Computes what both runs held in the phases of their peaks, if these differ.
 */
#pragma once

#include "changes.h"
#include "open.h"

/* Computes the bytes that the shown run of each side held in the phase of the peak of side `peak`:
 * its own peak, and the other run's maximum near the corresponding moment. False: not known, for
 * instance with several processes or sampled recordings. */
bool phase_of(const struct changes *c, const struct opened *runs, enum side peak, int64_t bytes[2]);
