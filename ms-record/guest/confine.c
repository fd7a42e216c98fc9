/* SPDX-License-Identifier: MIT
 * Handles what a program forbids itself while it runs: system calls, by a seccomp filter or by user
 * dispatch, and reading the processor's clock.
 *
 * The backend reports it before it happens; ms-record also looks for filters in /proc.
 *
 *  C1 Under a filter, whatever it allows, waits are spins. A thread that makes a system call counts
 *     itself in `calling` before it checks for a filter, and a thread that installs a filter waits
 *     for those counted: the filter may be for all threads (TSYNC). If it could not be installed in
 *     the end, that changes nothing.
 *
 *  C2 If one thread may not read the clock, all threads of its process take their stamps from the
 *     shared counter. The counter begins a second ahead, so a stamp of a thread that was just about
 *     to read the clock is earlier than all counted ones. That order is right: a thread that enters
 *     a hook after something was counted sees that it has to count too. ms-record does the same:
 *     clock.h.
 *
 *  C3 Without the clock, waits are bounded by ms-record's last reading of the clock, and, if
 *     ms-record is gone, by the number of calls of mg_ticks here.
 *
 *  C4 If the clock began anew, as it does on some machines after suspension, ms-record makes all
 *     threads count from now on, by a new epoch.
 */
#include <sys/syscall.h>

#include "core.h"

#define SPINS 200
#define LOOK_TICKS (UINT64_C(1) << 14) /* minimum duration of mg_spin in ticks */
/* Number of mg_spin calls that take longer than any wait in a system call (C1): 2^16
 * times LOOK_TICKS = 2^30 ticks. */
#define CALLS_SPINS (1 << 16)

void mg_spin(void)
{
	for (int i = 0; i < SPINS; i++)
		mg_relax();
}

uint64_t mg_ticks(void)
{
	static uint64_t looks;
	if (MG_LIKELY(!mg.blind))
		return mg_counter();
	return __atomic_load_n(&mg.session->ticks, __ATOMIC_RELAXED) +
	       __atomic_add_fetch(&looks, LOOK_TICKS, __ATOMIC_RELAXED);
}

bool mg_heartbeat_timeout(const struct mg_session *s, uint64_t seconds)
{
	uint64_t beat = __atomic_load_n(&s->heartbeat, __ATOMIC_RELAXED);
	return !mg.sequence && beat &&
	       (int64_t)(mg_counter() - beat) > (int64_t)(s->tsc_hz * seconds);
}

bool mg_filtered(void)
{
	return __atomic_load_n(&mg.filtered, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&mg.session->seccomp_seen, __ATOMIC_SEQ_CST);
}

bool mg_may_call(void)
{
	return !mg_filtered() || (!__atomic_load_n(&mg.filtered, __ATOMIC_SEQ_CST) &&
				  __atomic_load_n(&mg.head->unfiltered, __ATOMIC_RELAXED));
}

void mg_futex(const uint32_t *word, uint32_t op, uint32_t value, uint64_t ns)
{
	const uint64_t timeout[2] = {0, ns};
	__atomic_fetch_add(&mg.calling, 1, __ATOMIC_SEQ_CST);
	bool may = mg_may_call();
	if (may)
		mg_syscall(SYS_futex, (uint64_t)word, op, value, (uint64_t)timeout, 0, 0);
	__atomic_fetch_sub(&mg.calling, 1, __ATOMIC_SEQ_CST);
	if (may || op != MG_FUTEX_WAIT)
		return;
	uint64_t start = mg_ticks();
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value && mg_ticks() - start < 2 * ns)
		mg_spin();
}

void mg_confine(bool calls, bool clock)
{
	static struct mg_session nowhere;
	struct mg_session *s = mg.session;
	bool first = s && !mg_filtered();
	if (!s)
		return;
	if (!__atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE))
		s = &nowhere; /* a forked child without a session: `s` belongs to its parent */
	if (clock) {          /* C2: all threads use counted stamps */
		uint64_t from = (mg.blind ? s->heartbeat : mg_counter()) + mg.session->tsc_hz;
		if (!mg.sequence)
			s->sequence = from;
		__atomic_fetch_or(&s->stamps, MG_STAMPS_ALL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&s->blind, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&mg.sequence, true, __ATOMIC_SEQ_CST);
		__atomic_store_n(&mg.blind, true, __ATOMIC_SEQ_CST);
	}
	if (!calls)
		return;
	if (first)
		mg_grow_ahead(s != &nowhere);
	mg_wake_recorder(); /* so that ms-record knows of the filter and makes no long sleeps */
	__atomic_store_n(&s->seccomp_seen, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mg.filtered, true, __ATOMIC_SEQ_CST);
	for (int i = 0; first && i < CALLS_SPINS && __atomic_load_n(&mg.calling, __ATOMIC_SEQ_CST);
	     i++)
		mg_spin();
}
