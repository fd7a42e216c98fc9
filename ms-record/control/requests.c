/* SPDX-License-Identifier: MIT
 * Collects marks and flushes for the draining thread, and looks how far they are.
 */
#include "requests.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "ms-record/drain/drain.h"
#include "ms-record/write/writer.h"

uint64_t requests_add(struct requests *r, uint32_t image, const char *name, bool checkpoint)
{
	*MS_PUSH(&r->next) = (struct drain_mark){image, name, checkpoint};
	return r->number + 1;
}

void requests_look(struct requests *r, const struct drain *d, struct writer *w)
{
	if (!d->started) { /* nothing more is merged, and all is written */
		r->waits = false;
		r->merged = r->written = UINT64_MAX;
		r->sent.figures = (struct figures){0};
		return;
	}
	if (r->waits && __atomic_load_n(&r->sent.done, __ATOMIC_ACQUIRE)) {
		r->waits = false;
		r->merged = r->number;
		r->ticket = r->sent.ticket;
	}
	if (r->written < r->merged && writer_reached(w, r->ticket))
		r->written = r->merged;
}

void requests_send(struct requests *r, struct drain *d)
{
	if (r->waits || !r->next.n || !d->started)
		return;
	struct drain_marks last = r->sent.marks;
	r->sent.marks = r->next;
	r->next = last;
	r->next.n = 0;
	r->number++;
	r->waits = true;
	drain_requests_send(d, &r->sent);
}

void requests_free(struct requests *r)
{
	MS_FREE(r->next.v, r->sent.marks.v);
}
