/* SPDX-License-Identifier: MIT
 * Ends as its argument says (_exit, quick_exit, abort, a fault, SIGKILL, SIGTERM, a thread's exit),
 * with blocks held.
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static SITE void *hold(size_t n)
{
	return MALLOC(n);
}

static SITE void quickly(void)
{
	FREE(hold(70));
	tm_dump();
}

static SITE void *leave(void *unused)
{
	(void)unused;
	(void)!hold(90);
	exit(7);
}

static SITE void end(const char *how)
{
	volatile int *volatile nowhere = NULL;
	pthread_t t;
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(4);
	if (strcmp(how, "exit_group") == 0)
		syscall(SYS_exit_group, 5);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "fault") == 0)
		*nowhere = 1;
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "term") == 0)
		raise(SIGTERM);
	if (strcmp(how, "thread") == 0) {
		pthread_create(&t, NULL, leave, NULL);
		for (;;)
			pause();
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	/* quick_exit keeps its handlers in a static table while there are few. */
	if (strcmp(how, "quick_exit") == 0)
		at_quick_exit(quickly);
	for (size_t i = 0; i < 1000; i++) {
		void *p = hold(i);
		if (i % 3)
			FREE(p);
	}
	tm_say("before the end\n");
	tm_dump();
	end(how);
	return 0;
}
