/* SPDX-License-Identifier: MIT
 * A module was opened: ms-record hooks what --hook names in it, before anybody executes it.
 *
 * The dynamic linker calls an empty function, for debuggers, when new modules are mapped and not
 * yet relocated. Nobody but this thread can come to their code then, so entries can be replaced
 * without any thread being stopped. The linker's lock is held: this is one thread at a time.
 *
 *  L1 It waits ASKED_MS for ms-record to take it up, TAKEN_MS for it to be done; not at all when
 *     its heartbeat has stopped, or nobody records. A recorder that comes later than that writes
 *     nothing.
 *  L2 A page near the module is mapped by us where the backend can: the linker made the same system
 *     call just now; not under a filter that was installed since the start. The image makes none:
 *     there ms-record does it.
 */
#include "core.h"

#define ASKED_MS 1000u
#define TAKEN_MS 5000u

static bool nobody_records(const struct mg_session *s)
{
	return __atomic_load_n(&s->state, __ATOMIC_RELAXED) == MG_OFF || !s->tsc_hz ||
	       mg_heartbeat_timeout(s, 1);
}

/* False: ms-record is just about to go on. */
static bool give_up(struct mg_session *s, uint32_t state)
{
	uint32_t to = state == MG_LATE_ASKED ? MG_LATE_NONE : MG_LATE_GONE;
	return __atomic_compare_exchange_n(&s->late_state, &state, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void answer(struct mg_session *s, uint64_t (*map)(uint64_t at))
{
	s->late_page = map ? map(s->late_page) : 0;
	__atomic_store_n(&s->late_state, MG_LATE_MAPPED, __ATOMIC_RELEASE);
	mg_futex(&s->late_state, MG_FUTEX_WAKE, 1, 0);
}

void mg_late_ask(uint64_t (*map)(uint64_t at))
{
	struct mg_session *s = mg.session;
	uint32_t state = MG_LATE_NONE;
	if (!mg.head->late_wanted || nobody_records(s) ||
	    !__atomic_compare_exchange_n(&s->late_state, &state, MG_LATE_ASKED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	mg_wake_recorder();
	uint64_t start = mg_ticks(), ms = s->tsc_hz / 1000;
	while ((state = __atomic_load_n(&s->late_state, __ATOMIC_ACQUIRE)) != MG_LATE_NONE) {
		uint64_t most = ms * (state == MG_LATE_ASKED ? ASKED_MS : TAKEN_MS);
		if (state == MG_LATE_PAGE)
			answer(s, map);
		else if (mg_ticks() - start <= most)
			mg_futex(&s->late_state, MG_FUTEX_WAIT, state, 20000000);
		else if (give_up(s, state))
			return;
	}
}
