/* SPDX-License-Identifier: MIT
 * A link of a chain of programs: chain BLOCKS [exec|fork|spawn|vfork|child PROGRAM ARG...]
 *
 * It makes so many blocks of 1,000 bytes, of which it keeps every second one and loses the others,
 * prints that, and becomes PROGRAM, or starts it and waits for it; `child` is a forked child that
 * makes the blocks once more before it becomes PROGRAM. Its status is what PROGRAM ended with, plus
 * 1.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 4096

static void *volatile kept[MOST];
extern char **environ;

__attribute__((noipa)) static void make(int blocks)
{
	for (int i = 0; i < blocks; i++) {
		char *volatile p = malloc(1000);
		memset(p, 1, 1000);
		if (i & 1)
			kept[i / 2] = p;
		p = NULL;
	}
}

__attribute__((noipa)) static void wipe(void)
{
	char room[8192];
	memset(room, 0, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void say(const char *what, int blocks)
{
	char line[100];
	int n = snprintf(line, sizeof line, "%s %d\n", what, blocks);
	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

static pid_t start(const char *how, int blocks, char **args)
{
	pid_t pid = -1;
	if (!strcmp(how, "spawn"))
		return posix_spawn(&pid, args[0], NULL, NULL, args, environ) ? -1 : pid;
	pid = !strcmp(how, "vfork") ? vfork() : fork();
	if (pid)
		return pid;
	if (!strcmp(how, "child")) {
		make(blocks);
		wipe();
	}
	execv(args[0], args);
	_exit(97);
}

int main(int argc, char **argv)
{
	int blocks = argc > 1 ? atoi(argv[1]) : 0, status;
	make(blocks);
	wipe();
	say(argc > 2 ? argv[2] : "end", blocks);
	if (argc > 1000)
		free(kept[0]); /* so that an allocator is linked whole */
	if (argc < 4)
		return 3;
	if (!strcmp(argv[2], "exec")) {
		execv(argv[3], argv + 3);
		return 98;
	}
	pid_t pid = start(argv[2], blocks, argv + 3);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 96;
	return WEXITSTATUS(status) + 1;
}
