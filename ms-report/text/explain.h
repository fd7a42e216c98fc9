/* SPDX-License-Identifier: MIT
 * What a word of a report means.
 */
#pragma once

struct ms_err;
struct out;

/* Puts the term of memscope(7) that has the name `word`, in any case, with spaces, '-' or '_', into
 * the empty `o`; of "all" all of them. 0, or -1 with `err` set: there is none, and which is near. */
int explain(const char *word, struct out *o, struct ms_err *err);
