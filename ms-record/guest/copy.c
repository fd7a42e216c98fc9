/* SPDX-License-Identifier: MIT
 * Sends stacks that the unwinder cannot follow: the registers and a bounded copy of the stack,
 * which ms-record unwinds.
 */
#include "core.h"

static bool copy_allowed(struct mg_writer *t)
{
	uint64_t hz = mg.session->tsc_hz ? mg.session->tsc_hz : UINT64_C(2000000000);
	uint64_t second = mg_ticks() / hz;
	if (second != t->copy_second) {
		t->copy_second = second;
		t->copies = 0;
	}
	if (t->brief || t->copies >= MG_COPIES_A_SECOND) {
		__atomic_fetch_add(&mg.session->not_taken, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->copies++;
	return true;
}

/* Sends one part of a copy; the first part includes the registers. */
static bool send_part(struct mg_writer *t, uint64_t start, uint64_t from, uint32_t words,
		      const uint64_t *registers)
{
	uint32_t extra = registers ? MG_COPY_REGS : 0, n = 4 + extra + words;
	uint64_t *w = mg_room(t, n);
	if (!w)
		return false;
	if (!t->holding)
		mg_stamping(t);
	w[0] = mg_word0(MG_COPY, t->flags, extra + words, (uint32_t)(from - start));
	mg_put_stamp(t, w, mg_stamp(t));
	w[2] = start;
	w[3] = words * UINT64_C(8);
	for (uint32_t i = 0; i < extra; i++)
		w[4 + i] = registers[i];
	for (uint32_t i = 0; i < words; i++)
		w[4 + extra + i] = ((const volatile uint64_t *)from)[i];
	mg_publish(t, n);
	if (!t->holding)
		mg_stamped(t);
	return true;
}

uint32_t mg_send_copy(struct mg_writer *t, const uint64_t *frame)
{
	uint64_t r[MG_COPY_REGS];
	MG_TAKE_REGISTERS(r, frame);
	if (!copy_allowed(t))
		return MG_F_NOT_TAKEN;
	uint64_t start = r[MG_REG_SP] & ~UINT64_C(7), caller = MG_FRAME_SP(frame);
	uint32_t flags = MG_F_STACK | MG_F_COPIED;
	struct mg_range own;
	bool known = mg_own_stack(start, &own);
	uint64_t end = known ? own.end : ((caller - 8) | 4095) + 1; /* if the stack's bounds are not
								       known, to the end of the page
								       (S3 in stack.c) */
	if (!known)
		flags |= MG_F_CUT_COPY;
	if (end - start > MG_COPY_MAX) {
		end = start + MG_COPY_MAX;
		flags |= MG_F_CUT_COPY;
	}
	for (uint64_t at = start; at < end;) {
		uint64_t words = (end - at) / 8;
		if (words > MG_FRAMES_RECORD)
			words = MG_FRAMES_RECORD;
		if (!send_part(t, start, at, (uint32_t)words, at == start ? r : NULL))
			return MG_F_NOT_TAKEN;
		at += words * 8;
	}
	t->ring->copies++;
	return flags;
}
