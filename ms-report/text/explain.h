/* SPDX-License-Identifier: MIT
 * Explanations of the terms in a report.
 */
#pragma once

struct ms_err;
struct out;

/* Writes the term of memscope(7) named `word` (in any case, with spaces, '-' or '_') into the empty
 * `o`; "all" writes all terms. Returns 0, or -1 if there is no such term, with `err` naming a
 * similar one. */
int explain(const char *word, struct out *o, struct ms_err *err);
