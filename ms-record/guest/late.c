/* SPDX-License-Identifier: MIT
 * Handles a module that was just opened: ms-record hooks in it the functions that --hook names, and
 * allocators, before any thread executes it.
 *
 * The dynamic linker calls an empty function, for debuggers, when new modules are mapped and not
 * yet relocated. No other thread can execute their code then, so entries can be replaced without
 * stopping any thread. The linker's lock is held: only one thread at a time runs this.
 *
 *  L1 The thread waits ASKED_MS for ms-record to begin, and TAKEN_MS for it to finish; not at all
 *     if its heartbeat has stopped, or nothing is recorded. If ms-record is later than that, it
 *     patches nothing, in no later search either: threads may run the module's code by then. It
 *     reports the module's functions as not hooked (late_missed).
 *  L2 The guest itself maps the page near the module: the linker made the same system call just
 *     now. Not if a filter was installed since the start, and in the image only if ms-record, which
 *     sees that there is no filter, asks for it; else ms-record does it, if it may trace the
 *     process.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define ASKED_MS 1000u
#define TAKEN_MS 5000u

uint64_t mg_map(uint64_t at, uint64_t bytes, uint64_t prot, uint64_t flags)
{
	long r = mg_syscall(SYS_mmap, at, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			    (uint64_t)-1, 0);
	return r < 0 && r > -4096 ? 0 : (uint64_t)r;
}

/* Maps a page exactly at `at`. Returns its address; 0 = failed. A kernel without
 * MAP_FIXED_NOREPLACE may map it elsewhere. */
uint64_t mg_map_near(uint64_t at)
{
	uint64_t got =
		mg.filtered ? 0
			    : mg_map(at, MG_NEAR_BYTES, PROT_READ | PROT_EXEC, MAP_FIXED_NOREPLACE);
	if (got && got != at)
		mg_syscall(SYS_munmap, got, MG_NEAR_BYTES, 0, 0, 0, 0);
	return got == at ? at : 0;
}

bool mg_nobody_records(const struct mg_session *s)
{
	return __atomic_load_n(&s->state, __ATOMIC_RELAXED) == MG_OFF || !s->tsc_hz ||
	       mg_heartbeat_timeout(s, 1);
}

/* Stops waiting for ms-record; false = the state has just changed. */
static bool give_up(struct mg_session *s, uint32_t state)
{
	uint32_t to = state == MG_LATE_ASKED ? MG_LATE_NONE : MG_LATE_GONE;
	return __atomic_compare_exchange_n(&s->late_state, &state, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void answer(struct mg_session *s)
{
	s->late_page = mg_map_near(s->late_page);
	__atomic_store_n(&s->late_state, MG_LATE_MAPPED, __ATOMIC_RELEASE);
	mg_futex(&s->late_state, MG_FUTEX_WAKE, 1, 0);
}

/* Waits until ms-record has searched the new module. Returns false if it did not in time. */
static bool ask(struct mg_session *s)
{
	uint32_t state = MG_LATE_NONE;
	if (mg_nobody_records(s) ||
	    !__atomic_compare_exchange_n(&s->late_state, &state, MG_LATE_ASKED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	mg_wake_recorder();
	uint64_t start = mg_ticks(), ms = s->tsc_hz / 1000;
	while ((state = __atomic_load_n(&s->late_state, __ATOMIC_ACQUIRE)) != MG_LATE_NONE) {
		uint64_t most = ms * (state == MG_LATE_ASKED ? ASKED_MS : TAKEN_MS);
		if (state == MG_LATE_PAGE)
			answer(s);
		else if (mg_ticks() - start <= most)
			mg_futex(&s->late_state, MG_FUTEX_WAIT, state, 20000000);
		else if (give_up(s, state))
			return false;
	}
	return true;
}

void mg_late_ask(void)
{
	struct mg_session *s = mg.session;
	if (mg.head->late_wanted && !ask(s) &&
	    __atomic_load_n(&s->state, __ATOMIC_RELAXED) != MG_OFF)
		__atomic_fetch_add(&s->late_missed, 1, __ATOMIC_RELEASE);
}
