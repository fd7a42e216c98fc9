/* SPDX-License-Identifier: MIT
 * Conditions on the figures of a site: lifetime, age, sizes, times, and --where.
 */
#ifndef MEASURES_H
#define MEASURES_H

struct matches;
struct ms_err;
struct options;
struct sqlite3;

/* Sets the bits of these conditions in the sites of `m`, whose ages are known, and counts in
 * m->unknown those of which a figure is not known. 0, or -1 with `err` set. */
int measures_read(struct matches *m, struct sqlite3 *db, const struct options *o, const char *point,
		  struct ms_err *err);

#endif
