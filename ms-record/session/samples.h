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

/* Takes one sample of a session (control thread). Costly values are read at most once a second and
 * with under 1 % of a core (a tenth of both while nothing changes); with `last` always. Returns
 * false if the process has shown no activity since the previous sample. */
bool samples_take(struct session *s, bool last);
/* Takes a last sample of a process held at its end, as its memory soon becomes unreadable (any
 * thread). */
void samples_held(struct session *s);
/* Returns RSS now; 0 = not known (control thread). */
uint64_t samples_rss(const struct session *s);
/* Returns RSS in the sample nearest to `ns`, and the time of that sample; 0 = none. */
uint64_t samples_rss_at(const struct session *s, uint64_t ns, uint64_t *at_ns);
void samples_free(struct sampler *p);
/* Writes a sample as a record. `heap`: f->heap is known too. RSS and address space are known if
 * f->vsz is not 0. */
void samples_put(struct ms_record_writer *to, const struct ms_proc_sample *f, bool heap);
