/* SPDX-License-Identifier: MIT
 * What both runs held in the phases of their peaks, where these are two.
 */
#pragma once

#include "changes.h"
#include "open.h"

/* By side, the bytes that the run which is shown held in the phase in which the one of side `peak` had its
 * peak: exact of that one, of the other the most about the moment that is the like of it. False: not known
 * of either, as of several processes or of what was sampled. */
bool phase_of(const struct changes *c, const struct opened *runs, enum side peak, int64_t bytes[2]);
