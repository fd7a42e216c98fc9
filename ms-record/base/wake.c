/* SPDX-License-Identifier: MIT
 * Wakes threads of the recorder and of the target.
 */
#include "wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

#define SETTLE_LEAST_NS 400000u
#define SETTLE_MOST_NS UINT64_C(100000000)

void wake_up(struct wake *w)
{
	__atomic_add_fetch(&w->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void wake_shared(uint32_t *word, uint32_t threads)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, threads, NULL, NULL, 0);
}

uint32_t wake_rounds(const struct wake *w)
{
	return __atomic_load_n(&w->rounds, __ATOMIC_ACQUIRE);
}

void wake_settle(struct wake *w)
{
	uint64_t start = clock_mono(), now = start;
	uint32_t rounds = wake_rounds(w);
	while ((wake_rounds(w) - rounds < 2 || now < start + SETTLE_LEAST_NS) &&
	       now < start + SETTLE_MOST_NS) {
		wake_up(w);
		usleep(100);
		now = clock_mono();
	}
}

void wake_event(int event)
{
	uint64_t one = 1;
	if (write(event, &one, sizeof one) < 0)
		return; /* the eventfd is full, and therefore set */
}
