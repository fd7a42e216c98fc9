/* SPDX-License-Identifier: MIT
 * posix_spawn and vfork of another program between allocations, and children of vfork that only
 * end: all leave this one's figures alone.
 */
#include "truth.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static SITE void wait_for(pid_t child)
{
	int status;
	FREE(MALLOC(100));
	waitpid(child, &status, 0);
	tm_say_number("status", WEXITSTATUS(status));
}

static SITE void by_vfork(void)
{
	static char *argv[] = {(char *)"false", NULL};
	void *p = MALLOC(300);
	pid_t child = vfork();
	if (child == 0) {
		execv("/bin/false", argv);
		_exit(99);
	}
	wait_for(child);
	FREE(p);
}

static SITE void by_spawn(void)
{
	static char *argv[] = {(char *)"true", NULL};
	pid_t child;
	if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) == 0)
		wait_for(child);
}

/* Each would be held for a while if its end were taken for the program's: then this takes minutes.
 */
static SITE void by_vfork_alone(void)
{
	volatile int sum = 0;
	int status;
	for (volatile int i = 0; i < 3000; i++) {
		pid_t child = vfork();
		if (child == 0)
			_exit(3);
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status);
	}
	tm_say_number("statuses", (uint64_t)sum);
}

int main(void)
{
	tm_pure = 1;
	by_vfork_alone();
	for (int i = 0; i < 5; i++) {
		by_vfork();
		by_spawn();
	}
	(void)!MALLOC(4321);
	return 0;
}
