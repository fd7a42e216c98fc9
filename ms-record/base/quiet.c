/* SPDX-License-Identifier: MIT
 * A word shared by recorder and helper, and a signal whose handler waits until the word changes.
 * Only running threads get the signal: in other threads it would interrupt a wait.
 */
#include "quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "libcommon/base/clock.h"
#include "libcommon/proc/proc.h"

#define MOST_NS UINT64_C(100000000)
#define QUIET_SIGNAL (SIGRTMAX - 3)

static struct quiet {
	uint64_t until_ns; /* end of the wait on CLOCK_MONOTONIC, ns */
	uint32_t on;
} * shared;
static pid_t recorder;

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *until)
{
	return syscall(SYS_futex, word, op, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void quiet_wait(void)
{
	struct quiet *q = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
	while (q && __atomic_load_n(&q->on, __ATOMIC_ACQUIRE)) {
		uint64_t ns = __atomic_load_n(&q->until_ns, __ATOMIC_RELAXED);
		struct timespec until = ms_timespec(ns);
		if (clock_mono() >= ns)
			return;
		futex(&q->on, FUTEX_WAIT_BITSET, 1, &until);
	}
}

static void on_signal(int sig)
{
	int saved = errno;
	(void)sig;
	quiet_wait();
	errno = saved;
}

void quiet_prepare(void)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	if (shared)
		return;
	void *page = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	if (page == MAP_FAILED || sigaction(QUIET_SIGNAL, &a, NULL))
		return;
	recorder = getpid();
	__atomic_store_n(&shared, page, __ATOMIC_RELEASE);
}

/* Sends the signal to all running threads of the recorder. */
static void call_threads(void)
{
	char folder[32], path[64], text[2048];
	struct ms_proc_stat st;
	size_t n = 0;
	snprintf(folder, sizeof folder, "/proc/%d/task", (int)recorder);
	pid_t *tids = ms_proc_list(folder, &n, NULL);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%d/stat", folder, (int)tids[i]);
		if (ms_proc_text_at(AT_FDCWD, path, text, sizeof text) &&
		    ms_proc_parse_stat(text, &st) && st.state == 'R')
			syscall(SYS_tgkill, recorder, tids[i], QUIET_SIGNAL);
	}
	free(tids);
}

void quiet_begin(void)
{
	if (!shared || getppid() != recorder)
		return;
	__atomic_store_n(&shared->until_ns, clock_mono() + MOST_NS, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->on, 1, __ATOMIC_RELEASE);
	call_threads();
}

void quiet_end(void)
{
	if (!shared || getppid() != recorder)
		return;
	__atomic_store_n(&shared->on, 0, __ATOMIC_RELEASE);
	futex(&shared->on, FUTEX_WAKE, INT32_MAX, NULL);
}
