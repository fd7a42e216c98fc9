/* SPDX-License-Identifier: MIT
 * Stacks that are not simple: registers and a bounded copy of the stack, which ms-record unwinds.
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
	if (t->copies >= MG_COPIES_A_SECOND) {
		__atomic_fetch_add(&mg.session->not_taken, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->copies++;
	return true;
}

/* One part; the first carries the registers. */
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

#ifndef MG_IMAGE
/* Inside the guest, whose frames ms-record unwinds too and leaves out. */
#define TAKE_REGISTERS(r, frame)                                                                   \
	__asm__ volatile(                                                                          \
		"lea 0f(%%rip), %%rax\n0:\n\tmov %%rax, %0\n\tmov %%rsp, %1\n\tmov %%rbp, "        \
		"%2\n\tmov %%rbx, %3\n\t"                                                          \
		"mov %%r12, %4\n\tmov %%r13, %5\n\tmov %%r14, %6\n\tmov %%r15, %7"                 \
		: "=m"((r)[MG_REG_RIP]), "=m"((r)[MG_REG_RSP]), "=m"((r)[MG_REG_RBP]),             \
		  "=m"((r)[MG_REG_RBX]), "=m"((r)[MG_REG_R12]), "=m"((r)[MG_REG_R13]),             \
		  "=m"((r)[MG_REG_R14]), "=m"((r)[MG_REG_R15])                                     \
		:                                                                                  \
		: "rax")
#else
/* The image is known to no unwinder: of the hook's caller, as image_entry.S saved them. One less
 * than the return address lies in the call. */
#define TAKE_REGISTERS(r, frame)                                                                   \
	do {                                                                                       \
		(r)[MG_REG_RIP] = (frame)[1] - 1;                                                  \
		(r)[MG_REG_RSP] = (uint64_t)((frame) + 2);                                         \
		(r)[MG_REG_RBP] = (frame)[0];                                                      \
		(r)[MG_REG_RBX] = (frame)[-1];                                                     \
		(r)[MG_REG_R12] = (frame)[-2];                                                     \
		(r)[MG_REG_R13] = (frame)[-3];                                                     \
		(r)[MG_REG_R14] = (frame)[-4];                                                     \
		(r)[MG_REG_R15] = (frame)[-5];                                                     \
	} while (0)
#endif

uint32_t mg_send_copy(struct mg_writer *t, const uint64_t *frame)
{
	uint64_t r[MG_COPY_REGS];
	TAKE_REGISTERS(r, frame);
	if (!copy_allowed(t))
		return MG_F_NOT_TAKEN;
	uint64_t start = r[MG_REG_RSP] & ~UINT64_C(7), caller = (uint64_t)(frame + 2);
	uint32_t flags = MG_F_STACK | MG_F_COPIED;
	struct mg_range own;
	bool known = mg_own_stack(start, &own);
	uint64_t end = known ? own.end : ((caller - 8) | 4095) + 1; /* stack.c, S3 */
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
