/* SPDX-License-Identifier: MIT
 * Walks stacks without frames of the previous stack: to verify the unwinder's result, and to
 * determine whether a hook is still running.
 */
#include "core.h"
#include "step.h"

#ifdef MG_JUDGE
void mg_judge(struct mg_writer *t, const uint64_t *frame) __attribute__((visibility("hidden")));
#endif

void mg_verify(struct mg_writer *t, const uint64_t *frame, bool cut)
{
	struct walk w = {
		.ip = frame[1], .sp = MG_FRAME_SP(frame), .bp = frame[0], .keepable = true};
	bool same = true;
	struct mg_range stack;
	mg_find_stack(w.sp, &stack);
	w.low = w.sp;
	w.high = stack.end;
	w.epoch = t->epoch;
	uint32_t at = t->frames;
	while (same) {
		same = at > 0 && t->ip[--at] == w.ip;
		if (!at && cut)
			break; /* the frames further out were not sent */
		if (!same || !step(&w, mg_rule_derive(w.ip)))
			break;
	}
	if (!same || at != 0 || w.copy)
		t->ring->mismatched++;
	t->ring->verified++;
#ifdef MG_JUDGE
	mg_judge(t, frame);
#endif
}

/* Tells whether the hook for which writer `t` is busy still runs: a walk from `frame` outwards,
 * through the signal handler's frame, then comes to that hook's caller. Two running hooks
 * never share a frame. */
bool mg_still_inside(struct mg_writer *t, const uint64_t *frame)
{
	struct walk w = {.ip = frame[1], .sp = MG_FRAME_SP(frame), .bp = frame[0]};
	struct mg_range own;
	if (!mg_own_stack(w.sp, &own))
		return true; /* `frame` is on a signal stack */
	if (t->busy - own.start >= own.end - own.start)
		/* the hook was on another stack, and this is not a signal stack, on which a
		 * handler could interrupt the hook */
		return false;
	w.low = w.sp;
	w.high = own.end;
	w.epoch = __atomic_load_n(&mg.session->epoch, __ATOMIC_ACQUIRE);
	for (uint32_t n = 0; w.sp <= t->busy + 16; n++) {
		if (w.sp == t->busy + 16)
			return n > 0;
		if (n == MG_FRAMES_MAX || !step(&w, rule_of(w.ip, w.epoch)))
			return true;
	}
	return false;
}
