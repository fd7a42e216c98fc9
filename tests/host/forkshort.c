/* SPDX-License-Identifier: MIT
 * Forks twenty children, one after the other, that live for a moment and call exit(): each loses a
 * block. See forkshort.sh.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void lose(void)
{
	void *volatile p[60];
	for (int i = 0; i < 60; i++)
		p[i] = malloc(2000);
	for (int i = 0; i < 60; i++) {
		if (i != 5)
			free(p[i]);
		p[i] = NULL;
	}
	for (int i = 0; i < 200; i++)
		free(p[0] = malloc(100));
	p[0] = NULL;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			lose();
			exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
