/* SPDX-License-Identifier: MIT
 * A child without exec that frees and allocates: the parent's figures know nothing of it.
 */
#include "truth.h"

#include <sys/wait.h>
#include <unistd.h>

static void *blocks[100];

static SITE void fill(size_t size)
{
	for (int i = 0; i < 100; i++)
		blocks[i] = MALLOC(size);
}

static SITE void empty(void)
{
	for (int i = 0; i < 100; i++)
		FREE(blocks[i]);
}

static SITE void child_work(void)
{
	for (int i = 0; i < 50; i++) {
		empty();
		fill(5000);
	}
}

int main(void)
{
	tm_pure = 1;
	fill(100);
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		if (child == 0) {
			child_work();
			_exit(10 + i);
		}
		empty();
		fill(200);
		int status;
		waitpid(child, &status, 0);
		tm_say_number("child", WEXITSTATUS(status));
	}
	return 0;
}
