/* SPDX-License-Identifier: MIT
 * Maps before and after a fork: the child gives back what it inherited, and a part of its own.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) void *take(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
	char *inherited = take(1 << 20), *own;
	if (fork() == 0) {
		own = take(3 << 20);
		munmap(inherited, 1 << 20);
		munmap(own, 1 << 20);
		for (int i = 0; i < 300; i++)
			free(malloc(1000));
		_exit(0);
	}
	wait(NULL);
	take(8192);
	return 0;
}
