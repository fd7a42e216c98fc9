/* SPDX-License-Identifier: MIT
 * Samples of /proc: resident, proportional, private and swapped memory, page faults, processor
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_proc_sample;
struct ms_record_writer;
struct sampler;
struct session;

/* Takes one sample of a session (control thread). The costly figures at most once a second and
 * under 1 % of a core, a tenth of that while nothing changes; `last`: with them if at all possible.
 * False: the process has done nothing that could be seen since the sample before. */
bool samples_take(struct session *s, bool last);
/* One more of a process that is held at its end: a moment later nobody can read its memory's figures
 * (any thread). */
void samples_held(struct session *s);
/* RSS of the sample nearest to `ns`, and when that was; 0 = none. */
uint64_t samples_rss_at(const struct session *s, uint64_t ns, uint64_t *at_ns);
void samples_free(struct sampler *p);
/* A sample as a record; `heap`: that figure is known, too. RSS and address space are where the latter
 * is not 0. */
void samples_put(struct ms_record_writer *to, const struct ms_proc_sample *f, bool heap);
