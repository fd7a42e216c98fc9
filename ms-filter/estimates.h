/* SPDX-License-Identifier: MIT
 * The intervals of a sampled recording, when sites go.
 */
#ifndef FILTER_ESTIMATES_H
#define FILTER_ESTIMATES_H

#include "libcommon/snapshot/snapshot.h"

struct ms_err;

/* Takes the estimates of the sites in temp.gone away and adds what they rest on to those of the
 * hidden (site -1). After the rows of `hidden` were written. 0, or -1 with `err` set. */
int estimates_hide(sqlite3 *db, struct ms_err *err);

#endif
