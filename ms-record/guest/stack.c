/* SPDX-License-Identifier: MIT
 * Determines the bounds of the stack that a thread runs on, and which memory can be read as code, so
 * that no read of the guest faults.
 *
 *  S1 The stack that a thread was started on is mapped from any sp in it up to its end as long as
 *     the thread runs. The kernel made that of the main thread, which reaches down to the lowest sp
 *     seen so far, or a little less: below it the kernel keeps a gap (1 MB) free of other mappings.
 *     Of the others glibc and musl note where it begins in their thread block, which lies at its
 *     end, and how much is mapped from there. Where the limit of a stack's size would let it begin
 *     says nothing: fibers may be mapped there.
 *
 *  S2 Any other stack (of fibers, of signals, of threads of another C library) is looked up in the
 *     mappings that ms-record lists. Such a list is of the past. But what is in use of a stack is
 *     mapped, and a walk only goes from call to call of that. Beyond its end leads nothing but a
 *     return address that no call left there, but whoever prepared the stack; it ends the walk, as
 *     the code in front of it is no call. So a fault would take such an address that is behind a
 *     call all the same, and memory that was unmapped since it was listed. So an earlier stack
 *     there is compared from call to call, too (`careful`): it may have been larger. Copies, which
 *     are read without looking at what they hold, are not made by the list.
 *
 *  S3 For a stack that is in no list yet ms-record is asked for another one, and the kernel whether
 *     the next pages can be read: a futex call that wakes and requeues nobody reads a word or says
 *     EFAULT. Where no system call may be made only the rest of the page may be read that holds the
 *     hook's own return address, which the call has just put there.
 *
 *  S4 Code that is in no module is read only where code is listed, at a call's return address; not
 *     where it is listed as keeping a frame pointer, of which much is only set aside.
 */
#include <sys/syscall.h>

#include "core.h"

#define MAIN_GAP (UINT64_C(1) << 20)
#define ASKED_PAGES 16

static void want_list(void)
{
	struct mg_session *s = mg.session;
	if (!__atomic_load_n(&s->ranges_wanted, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED)) {
		__atomic_store_n(&s->ranges_wanted, 1, __ATOMIC_SEQ_CST);
		mg_wake_recorder();
	}
}

/* Finds the listed mapping that holds `at`. Searches again if another list came into use
 * meanwhile. */
static bool find_listed(uint64_t at, struct mg_range *found)
{
	const struct mg_session *s = mg.session;
	uint32_t round, low, high;
	do {
		const struct mg_range *v = (const void *)((const char *)s + s->ranges_offset);
		round = __atomic_load_n(&s->ranges_round, __ATOMIC_ACQUIRE);
		v += (round & 1) * s->range_max;
		low = 0;
		high = __atomic_load_n(&s->ranges_count[round & 1], __ATOMIC_RELAXED);
		*found = (struct mg_range){0};
		while (low < high) {
			uint32_t i = low + (high - low) / 2;
			found->start = __atomic_load_n(&v[i].start, __ATOMIC_RELAXED);
			found->end = __atomic_load_n(&v[i].end, __ATOMIC_RELAXED);
			if (at < found->start)
				high = i;
			else if (at >= (found->end & ~MG_RANGE_FLAGS))
				low = i + 1;
			else
				break;
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&s->ranges_round, __ATOMIC_RELAXED) != round);
	return low < high;
}

/* Finds the offset of the stack's bounds in a thread control block, from the main thread's
 * block: glibc stores there, as the stack's size, the process's initial sp, which _start has
 * changed a little in a static executable. */
static void find_field(void)
{
	uint64_t field = MG_NO_FIELD;
	for (int64_t at = MG_BLOCK_LOW; mg.main_entry && mg.main_tp && at < MG_BLOCK_HIGH; at += 8)
		if (mg.main_entry - load(mg.main_tp + (uint64_t)at) <= 16)
			field = (uint64_t)at - 8;
	mg.stack_field = field;
}

bool mg_own_stack(uint64_t sp, struct mg_range *r)
{
	uint64_t tp = mg_thread_pointer();
	*r = (struct mg_range){0};
	if (!mg.stack_field)
		find_field();
	if (tp == mg.main_tp) {
		*r = (struct mg_range){mg.main_low - MAIN_GAP, mg.main_high};
	} else if (mg.stack_field == MG_STACK_MUSL ||
		   (mg.stack_field != MG_NO_FIELD && MG_IS_BLOCK(tp))) {
		uint64_t start = load(tp + mg.stack_field);
		if (tp - start < load(tp + mg.stack_field + 8))
			*r = (struct mg_range){start, tp & ~UINT64_C(7)};
	}
	if (sp - r->start >= r->end - r->start)
		return false;
	if (tp == mg.main_tp && sp < mg.main_low)
		mg.main_low = sp & ~UINT64_C(4095);
	return true;
}

struct mg_range mg_thread_block(void)
{
	uint64_t tp = mg_thread_pointer();
	if (!mg.stack_field)
		find_field();
	if (mg.stack_field == MG_STACK_MUSL || !MG_IS_BLOCK(tp))
		return (struct mg_range){0};
	return (struct mg_range){tp + (uint64_t)MG_BLOCK_LOW, tp + (uint64_t)MG_BLOCK_HIGH};
}

static bool can_read(uint64_t at)
{
	enum { CMP_REQUEUE_PRIVATE = 4 | 128, FAULT = -14 };
	__atomic_fetch_add(&mg.calling, 1, __ATOMIC_SEQ_CST); /* announces a system call: see C1 in
								 confine.c */
	long r =
		mg_filtered() ? FAULT : mg_syscall(SYS_futex, at, CMP_REQUEUE_PRIVATE, 0, 0, at, 0);
	__atomic_fetch_sub(&mg.calling, 1, __ATOMIC_SEQ_CST);
	return r != FAULT;
}

static bool find_mapping(uint64_t at, struct mg_range *r)
{
	bool known = find_listed(at, r);
	r->end &= ~MG_RANGE_FLAGS;
	if (known)
		return true;
	want_list();
	r->start = r->end = at & ~UINT64_C(4095);
	for (int n = 0; n < ASKED_PAGES && can_read(r->end); n++)
		r->end += 4096;
	if (r->end != r->start)
		return true;
	r->end += 4096;
	return false;
}

bool mg_find_stack(uint64_t sp, struct mg_range *r)
{
	return mg_own_stack(sp, r) || find_mapping(sp - 8, r);
}

bool mg_find_data(uint64_t at, struct mg_range *r)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	bool own = mg_own_stack(sp, r);
	if (at - r->start >= r->end - r->start)
		return find_mapping(at, r) && at - r->start < r->end - r->start;
	r->start = sp; /* below may be the guard page, or nothing */
	return own && at >= sp;
}

uint64_t mg_new_stack(struct mg_writer *t, uint64_t sp)
{
	struct mg_range r;
	t->careful = !mg_own_stack(sp, &r);
	bool known = mg_find_stack(sp, &r);
	mg_forget(t);
	t->low = known ? r.start : 0;
	t->high = known ? r.end : 0;
	return r.end;
}

uint64_t mg_rule_outside(uint64_t ip)
{
	struct mg_range r;
	if (!find_listed(ip & ~MG_EXACT_IP, &r) || !(r.end & MG_RANGE_CODE)) {
		want_list();
		return MG_RULE_NO_CODE;
	}
	bool file = r.end & MG_RANGE_FILE; /* true: perhaps a module that is not in the table yet */
	uint64_t rule = MG_RULE_CODE_END;
	if (!(ip & MG_EXACT_IP))
		rule = r.end & MG_RANGE_FRAMED ? MG_RULE_FRAMED : mg_code_rule(ip, &r);
	return rule == MG_RULE_CODE_END && file ? MG_RULE_UNKNOWN : rule;
}
