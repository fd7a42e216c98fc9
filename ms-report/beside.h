/* SPDX-License-Identifier: MIT
 * What was recorded beside the heap: mapped address space, usable sizes, and where blocks were
 * freed.
 */
#ifndef REPORT_BESIDE_H
#define REPORT_BESIDE_H

#include "names.h"
#include "words.h"

struct ms_err;
struct out;
struct page;

/* Reads it into the model, whose tables are there; what was not recorded becomes UNKNOWN. 0, or -1
 * with `err` set. */
int beside_read(struct model *m, struct ms_err *err);

/* At the moments of that label, of all processes. */
struct beside beside_at(const struct model *m, const char *label);
/* "RSS 2.6 GiB: live 1.8 GiB + slack 90 MiB + mapped 400 MiB, 300 MiB other" of the moments called
 * `label`; NULL where neither slack nor mapped is known. */
const char *beside_words(struct model *m, const char *label);
/* Is the heap no part of what is mapped? glibc takes it by calls of its own, which nobody sees;
 * other allocators' are recorded. */
bool beside_heap_is_apart(const struct model *m);
/* Is the peak one moment, or each process's own? */
bool beside_one_peak(const struct model *m);

/* Stacks that freed a site's blocks, most frees first, into an arena array; returns how many. */
struct site_free {
	uint32_t stack; /* innermost node, or NONE */
	uint64_t frees, bytes;
};
size_t model_site_frees(struct model *m, const struct site *s, struct site_free **out);
/* The node that a stack is named after: the first of the user's own code, else the innermost. */
uint32_t beside_user(const struct model *m, uint32_t stack);
/* The part of --site about them; nothing where there are none. */
void text_site_frees(struct page *p, struct out *o, const struct site *s);

#endif
