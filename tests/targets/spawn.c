/* SPDX-License-Identifier: MIT
 * posix_spawn and vfork of another program between allocations: both leave this one's figures
 * alone.
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

int main(void)
{
	tm_pure = 1;
	for (int i = 0; i < 5; i++) {
		by_vfork();
		by_spawn();
	}
	(void)!MALLOC(4321);
	return 0;
}
