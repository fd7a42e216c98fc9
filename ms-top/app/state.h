/* SPDX-License-Identifier: MIT
 * What somebody chose by keys, kept from one run to the next: order and columns.
 */
#pragma once

struct app;
struct options;

/* Takes what was kept, but for what the command line says. What cannot be read or means nothing is
 * left out. */
void state_load(struct options *o);
/* Keeps what is other than in `o`, what was begun with. Nobody is told when that fails. */
void state_save(const struct app *a, const struct options *o);
