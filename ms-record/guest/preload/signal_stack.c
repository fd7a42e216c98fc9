/* SPDX-License-Identifier: MIT
 * Notes the last alternate signal stack of each thread for the leak scan, because only the kernel
 * knows the addresses, and does not report them.
 */
#include "ms-record/guest/record.h"
#include "preload.h"

enum { DISABLED = 2 };

static void note(const uint64_t *frame, uint64_t start)
{
	struct mg_writer *own =
		__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE) ? mg_own_writer() : NULL;
	struct mg_writer *t = own || !start ? own : mg_enter(frame);
	if (t && t->generation == mg.generation)
		__atomic_store_n(&t->ring->signal_stack, start, __ATOMIC_RELEASE);
	if (t && t != own)
		mg_leave(t);
}

MG_EXPORT int sigaltstack(const struct mg_signal_stack *new, struct mg_signal_stack *old)
{
	uint64_t start = !new || new->flags &DISABLED ? 0 : (uint64_t) new->start;
	int r = mg_real.sigaltstack(new, old);
	if (new && !r)
		note(MG_FRAME, start);
	return r;
}
