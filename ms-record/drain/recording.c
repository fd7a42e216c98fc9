/* SPDX-License-Identifier: MIT
 * Makes and frees a session with the data that other rooms keep for it.
 */
#include "recording.h"

#include <stdlib.h>

#include "drained.h"
#include "libcommon/base/arena.h"
#include "ms-record/attach/hook_late.h"
#include "ms-record/heap/forks.h"
#include "ms-record/heap/merge.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"
#include "remote.h"
#include "ring.h"

/* Adds the data for draining, merging and scanning to a session. `serial`: the session's number in
 * its pool. */
static void add_parts(struct session *s, uint32_t serial)
{
	s->drained = ms_xcalloc(1, sizeof *s->drained);
	s->rings.readers = ms_xcalloc(s->rings.max, sizeof *s->rings.readers);
	merge_begin(s, serial);
	s->scan = scan_new();
}

void recording_begin(struct session *s)
{
	add_parts(s, s->pool->shape.head_serial);
	if (s->standby)
		ring_take_over(s, true);
	ring_prepare(s);
}

struct session *recording_of_child(struct pool *p, uint32_t slot)
{
	struct session *s = session_in_slot(p, slot);
	add_parts(s, p->slots[slot].serial);
	if (p->slots[slot].old)
		ring_take_over(s, false);
	else
		ring_adopt(s, pool_first_rings(p));
	forks_begin(s);
	return s;
}

void recording_free(struct session *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->rings.prepared; i++)
		ring_free(&s->rings.readers[i]);
	free(s->rings.readers);
	if (s->drained) {
		remote_free(s->drained->remote);
		__atomic_sub_fetch(s->buffer_used, s->drained->buffer_mine, __ATOMIC_RELAXED);
	}
	free(s->drained);
	hook_late_free(s->late);
	merge_end(s);
	scan_free(s->scan);
	session_free(s);
}
