/* SPDX-License-Identifier: MIT
 * Saves settings that were chosen by keys for the next run: order and columns.
 */
#pragma once

struct app;
struct options;

/* Loads the saved settings, unless the command line sets them. Ignores those that cannot be read or
 * are invalid. */
void state_load(struct options *o);
/* Saves settings that differ from `o`, the initial ones. Failures are ignored. */
void state_save(const struct app *a, const struct options *o);
