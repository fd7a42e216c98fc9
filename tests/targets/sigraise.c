/* SPDX-License-Identifier: MIT
 * Handlers of synchronous signals that allocate: on the thread's stack, on another, nested, left by
 * longjmp.
 */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

static char other[1 << 16];
static sigjmp_buf back;
static void *last;

static SITE void *in_handler(size_t n)
{
	return MALLOC(n);
}

static SITE void handle(int sig)
{
	void *p = in_handler((size_t)sig);
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	FREE(p);
	FREE(last);
	last = in_handler(50);
}

static SITE void handle_fault(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	FREE(in_handler((size_t)sig * 10));
	siglongjmp(back, 1);
}

static SITE void fault(void)
{
	volatile int *volatile nowhere = NULL;
	if (sigsetjmp(back, 1) == 0)
		*nowhere = 1;
	FREE(MALLOC(5));
}

static SITE void send(int sig)
{
	void *p = MALLOC(33);
	raise(sig);
	FREE(p);
}

int main(void)
{
	tm_pure = 1;
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_handler = handle;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	stack_t s = {.ss_sp = other, .ss_size = sizeof other};
	sigaltstack(&s, NULL);
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGURG, &a, NULL);
	a.sa_flags = SA_ONSTACK | SA_SIGINFO;
	a.sa_sigaction = handle_fault;
	sigaction(SIGSEGV, &a, NULL);
	for (int i = 0; i < 20; i++) {
		send(SIGUSR1);
		send(SIGURG);
		send(SIGUSR2);
		fault();
	}
	return 0;
}
