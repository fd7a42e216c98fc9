/* SPDX-License-Identifier: MIT
 * The end of the process: the thread that ends it is held for a moment, so that ms-record can look
 * for pointers to blocks before the memory is gone.
 *
 * exit() comes here by a handler that was registered before all others and so runs after them; that
 * it belongs to no library (no dso handle) keeps it from running with the destructors of one, whose
 * frees would look like leaks. quick_exit has a list of its own. _exit and _Exit are interposed.
 *
 *  E1 No lock, no allocation, and no system call before ms-record has looked into /proc and found
 *     that no seccomp filter is installed (MG_END_NAP): a filter may be younger than the
 *     constructor. Until then, and under a filter, the thread spins.
 *  E2 It waits SEEN_MS for ms-record to notice, longer while it has a heartbeat (a busy machine),
 *     and `end_wait_ms` for it to be done. A recorder that is stopped or slow costs no more; one
 *     without a heartbeat for a second, nothing.
 *  E3 Of several threads that end the process at once one is held and the others wait for the same.
 *     Each takes a handler of its own from the list that exit() empties; so there are AT_ONCE of
 *     ours. One that finds none left ends the process at once.
 *  E4 A child of vfork that calls _exit is not an end. It shares its parent's memory, this state
 *     too. Where the program has called vfork before, the kernel is asked who is here, if there is
 *     no filter; else, and where the raw system call was made, the child is held until ms-record
 *     sees that its parent waits in the kernel (MG_END_NONE).
 *  E5 What is below the frame that called exit, or main, is no pointer of the program's any more:
 *     where that is, end_frame.c finds out.
 *  E6 The hook that a signal handler interrupted, if it is the one that calls exit, will never
 *     publish its event; its `pending` must not hold up the merge.
 */
#include <sys/syscall.h>

#include "ms-record/guest/core.h"
#include "preload.h"

#define SEEN_MS 1000u
#define AT_ONCE 4
#define KNOWN ((void *)1)

/* preload.inc: saves the callee-saved registers in its stack frame, and passes that to
 * mg_end_hold. `known`: not NULL if `status` is the exit status. */
void mg_end_enter(int status, void *known);
void mg_end_enter_quick(void *unused);
void mg_end_hold(const uint64_t *frame, int status, bool known);
/* Returns the function that NAME_preload.S's vfork jumps to. */
int (*mg_end_vfork(void))(void);

static bool vforked;
int (*mg_end_vfork(void))(void)
{
	vforked = true;
	mg_resolve();
	return mg_real.vfork ? mg_real.vfork : mg_real.fork;
}

/* Tells whether this is a child of vfork, in which the tid stored by the C library is the
 * parent's (E4). */
static bool is_vfork_child(void)
{
	return __atomic_load_n(&vforked, __ATOMIC_RELAXED) && !mg_filtered() &&
	       (uint32_t)mg_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) != mg.backend.tid();
}

static bool waiting(uint32_t state)
{
	return state >= MG_END_TAKEN && state <= MG_END_NAP;
}

/* Tells whether ms-record is known to be running; it may then take longer than SEEN_MS. */
static bool recorder_lives(const struct mg_session *s)
{
	return !mg.sequence && s->end_wait_ms > SEEN_MS && !mg_heartbeat_timeout(s, 1);
}

/* Waits until ms-record has read the memory of this process, or a time limit has passed (E2). */
static void wait(struct mg_session *s)
{
	uint64_t start = mg_ticks(), ms = s->tsc_hz / 1000;
	for (uint32_t now; waiting(now = __atomic_load_n(&s->end_state, __ATOMIC_ACQUIRE));) {
		uint64_t most = now >= MG_END_SEEN || recorder_lives(s) ? s->end_wait_ms : SEEN_MS;
		if (mg_ticks() - start > most * ms) {
			__atomic_store_n(&s->end_state, MG_END_LATE, __ATOMIC_RELEASE);
			return;
		}
		if (now == MG_END_NAP)
			mg_futex(&s->end_state, MG_FUTEX_WAIT, MG_END_NAP, 10000000);
		else
			mg_spin();
	}
}

void mg_end_hold(const uint64_t *frame, int status, bool known)
{
	struct mg_session *s = mg.session;
	uint32_t none = MG_END_NONE;
	if (!s || !s->tsc_hz || !__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&s->state, __ATOMIC_RELAXED) == MG_OFF || is_vfork_child())
		return;
	if (known)
		__atomic_store_n(&s->end_status, mg_end_status(status), __ATOMIC_RELEASE);
	if (!s->end_wait_ms)
		return;
	bool unheard = mg_heartbeat_timeout(s, 1);
	__atomic_store_n(&s->end_unheard, unheard, __ATOMIC_RELAXED);
	if (unheard)
		return;
	struct mg_end_frame *f = mg_end_frame_note(frame);
	if (__atomic_compare_exchange_n(&s->end_state, &none, MG_END_TAKEN, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		mg_abandon_hooks(); /* E6 */
		s->end_tid = mg.backend.tid();
		s->end_sp = (uint64_t)(frame + MG_ENTRY_KEPT + 1 - MG_KEPT);
		s->end_tp = mg_thread_pointer();
		__atomic_store_n(&s->end_state, MG_END_HELD, __ATOMIC_SEQ_CST);
	}
	wait(s);
	if (f && __atomic_load_n(&s->end_state, __ATOMIC_ACQUIRE) == MG_END_NONE)
		__atomic_store_n(&f->tp, 0, __ATOMIC_RELEASE); /* E4 */
}

MG_EXPORT void _exit(int status)
{
	mg_end_enter(status, KNOWN);
	mg_real._exit(status);
	for (;;)
		mg_syscall(SYS_exit_group, (uint64_t)status, 0, 0, 0, 0, 0);
}

MG_EXPORT void _Exit(int status) __attribute__((alias("_exit")));

void mg_end_init(void)
{
	if (mg.session->end_wait_ms)
		mg_end_frame_init();
	for (int i = 0; i < AT_ONCE; i++) {
		mg_real.on_exit(mg_end_enter, KNOWN);
		mg_real.__cxa_at_quick_exit(mg_end_enter_quick, NULL);
	}
}
