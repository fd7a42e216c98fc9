/* SPDX-License-Identifier: MIT
 * Sentences about what the figures do not include.
 */
#include "words.h"

#include "names.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

void unrecorded_before(struct model *m, struct words *w)
{
	const struct before *b = &m->before;
	const char *why = b->why ? SAY(" (%s)", name_clean(&m->arena, b->why, true)) : "";
	if (!b->state) {
		words_add(w, "attached mid-run: blocks allocated earlier are not counted");
		return;
	}
	if (b->blocks == UNKNOWN || b->bytes == UNKNOWN) {
		words_add(w, SAY("attached mid-run: blocks allocated earlier are not counted, and "
				 "their number is unknown%s",
				 why));
		return;
	}
	const char *since = b->frees == UNKNOWN || b->freed_bytes == UNKNOWN
				    ? ""
				    : SAY("; %s (%s) of them freed since", say_count(m, b->frees),
					  say_size(m, b->freed_bytes));
	words_add(w, SAY("attached mid-run: %s%s (%s) allocated earlier are not counted%s%s",
			 strcmp(b->state, "part") ? "" : "at least ",
			 say_things(m, b->blocks, "block"), say_size(m, b->bytes), since, why));
}

static void gaps(struct model *m, struct words *w)
{
	const struct gaps *g = &m->gaps;
	const char *not_recorded = figure_some(g->paused_allocations)
					   ? SAY(": %s not recorded",
						 say_things(m, g->paused_allocations, "allocation"))
					   : "";
	if (figure_some(g->started_late_ns))
		words_add(w, SAY("recording began %s after the program started%s",
				 say_time(m, g->started_late_ns),
				 figure_some(g->paused_ns) ? "" : not_recorded));
	if (figure_some(g->paused_ns))
		words_add(w, SAY("paused %s%s", say_time(m, g->paused_ns), not_recorded));
	if (figure_some(g->dropped_until_ns) && g->last && m->from_ns != UNKNOWN &&
	    m->from_ns >= g->dropped_until_ns)
		return; /* nothing to report: the counted part begins after the dropped events */
	if (figure_some(g->dropped_until_ns) && g->last)
		words_add(w,
			  SAY("events before %s dropped (--keep=last), but not the blocks live at "
			      "that time; totals are of the whole run: ms-snap --from %.4fs counts "
			      "only what came later",
			      say_time(m, g->dropped_until_ns), (double)g->dropped_until_ns / 1e9));
	else if (figure_some(g->dropped_until_ns))
		words_add(w, SAY("events before %s dropped (--keep=live): earlier allocations, the "
				 "peak's sites and the timeline are unknown",
				 say_time(m, g->dropped_until_ns)));
}

static void inherited(struct model *m, struct words *w)
{
	const struct inherited *i = &m->inherited;
	bool one = m->processes.n == 1;
	if (!i->processes || i->blocks == UNKNOWN || !i->blocks)
		return;
	const char *by = one ? "from the parent"
			     : SAY("by %s from their parents",
				   say_things(m, i->processes, "forked process"));
	if (one && m->processes.v[0].ppid != UNKNOWN)
		by = SAY("%s (pid %llu)", by, (unsigned long long)m->processes.v[0].ppid);
	const char *freed = i->frees == UNKNOWN
				    ? ""
				    : SAY("; %s of them were freed %s", say_count(m, i->frees),
					  one ? "here" : "by the children");
	const char *bytes = i->bytes == UNKNOWN ? "" : SAY(" (%s)", say_size(m, i->bytes));
	words_add(w, SAY("%s%s inherited %s are not counted%s", say_things(m, i->blocks, "block"),
			 bytes, by, freed));
}

void unrecorded_words(struct model *m, struct words *w)
{
	gaps(m, w);
	inherited(m, w);
}

const char *unrecorded_peak(struct model *m)
{
	uint64_t until = m->gaps.dropped_until_ns, peak = m->totals.peak_time_ns;
	if (!figure_some(until) || peak == UNKNOWN || peak >= until)
		return NULL;
	return SAY("PEAK since %s (the run's peak, at %s, was earlier: its sites are unknown)",
		   say_time(m, until), say_time(m, peak));
}
