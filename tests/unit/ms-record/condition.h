/* SPDX-License-Identifier: MIT
 * A condition by which it can be seen that somebody waits for it. There is one of each program.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "tests/unit/check.h"

static int waiting, signalled;       /* how often, since it was set to 0 */
static pthread_mutex_t *waited_with; /* what the latest one unlocked meanwhile */

static void check_locked(pthread_mutex_t *lock)
{
	bool free = !pthread_mutex_trylock(lock);
	CHECK(!free, "it is not locked");
	if (free)
		pthread_mutex_unlock(lock);
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock)
{
	(void)c;
	check_locked(lock);
	__atomic_store_n(&waited_with, lock, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(lock);
	while (!__atomic_exchange_n(&signalled, 0, __ATOMIC_SEQ_CST))
		sched_yield();
	pthread_mutex_lock(lock);
	return 0;
}

int pthread_cond_signal(pthread_cond_t *c)
{
	(void)c;
	pthread_mutex_t *lock = __atomic_load_n(&waited_with, __ATOMIC_SEQ_CST);
	if (lock)
		check_locked(lock);
	__atomic_store_n(&signalled, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void await_waiter(void)
{
	while (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void begin_waiting(void)
{
	waiting = signalled = 0;
	waited_with = NULL;
}
