/* SPDX-License-Identifier: MIT
 * Runs a scan of memory that is not a process's: nothing is stopped, and all is done by one thread.
 */
#include "scan_image.h"

#include <stdlib.h>
#include <string.h>

#include "format/trace.h"
#include "ms-record/base/clock.h"
#include "ms-record/session/session.h"
#include "scan_work.h"

#define ALL_NS (10 * SCAN_YES_NS) /* nothing waits for it */

static const char *type_of(const void *of, uint32_t block)
{
	const struct kept *k = of;
	const uint64_t *words = k->found.graph.type_of;
	return words ? kept_type_name(k, kept_type_at(k, words[block])) : NULL;
}

/* Makes the state of a scan of all blocks. */
static void prepare(struct work *w, const struct scan_image *in)
{
	struct scan *q = w->q;
	q->live.blocks = in->blocks;
	q->live.count = in->count;
	q->live.wide = in->wide;
	q->live.image.wanted = true;
	scan_keep_copy(w->s, &q->live.image);
	w->threads = in->threads;
	w->thread_count = in->thread_count;
}

void scan_image(struct session *s, const struct scan_options *opt, struct scan_image *in)
{
	struct scanner none = {.opt = opt};
	struct work w = {.scanner = &none,
			 .s = s,
			 .q = s->scan,
			 .request.asker = SCAN_BY_END,
			 .retains = true,
			 .align = opt->align,
			 .cleared = opt->cleared,
			 .answered = true,
			 .start_ns = clock_mono()};
	w.deadline_ns = w.start_ns + ALL_NS;
	w.released_ns = w.start_ns; /* nothing was held */
	prepare(&w, in);
	memory_open_image(&w.memory, in->memory, w.deadline_ns);
	w.memory.unreadable = in->unreadable;
	scan_search(&w);
	graph_solve(&w.graph, w.state == MS_SCAN_DONE);
	w.kept.modules = w.q->live.image.modules.v;
	w.kept.module_count = w.q->live.image.modules.n;
	in->name(in->arg, w.graph.v, w.graph.count, type_of, &w.kept);
	w.q->live.number = s->number;
	w.q->live.event = s->stats.events;
	w.q->live.time_ns = session_now(s);
	scan_put_result(&w);
	scan_keep_find(&w);
	scan_keep_free(&w);
	graph_free(&w.graph);
	memory_close(&w.memory);
	MS_FREE(w.threads, w.roots);
}
