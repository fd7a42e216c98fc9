/* SPDX-License-Identifier: MIT
 * What both runs held in the phases of their peaks, where these are two.
 */
#pragma once

#include "changes.h"
#include "open.h"

/* Tells what the shown run of each side held in the phase in which the one of side `peak` had its
 * peak: exact for that run, for the other the most about the corresponding moment. False: not
 * known, as of several processes or of sampled recordings. */
bool phase_of(const struct changes *c, const struct opened *runs, enum side peak, int64_t bytes[2]);
