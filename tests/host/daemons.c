/* SPDX-License-Identifier: MIT
 * A command that leaves a process behind and ends with status 3. What it leaves waits until its
 * parent is gone and for longer than a recorder waits by itself, writes its number to ./pid, and
 * makes 300 blocks of 1,000 bytes.
 *
 * daemons daemon   forked, in a session of its own
 *         double   forked twice, in a session of its own, without any descriptor
 *         exec     a daemon that runs another program, this one
 *         spawn    by posix_spawn, which forks nothing that could be recorded before it is run
 *         large    the same, but makes them at once and then waits for ./go
 *         waits    a daemon that waits for ./go first
 *         serve    what exec and spawn run
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile keep[300];

__attribute__((noinline)) static void serve(void)
{
	for (int i = 0; i < 300; i++)
		keep[i] = malloc(1000);
}

static void write_pid(void)
{
	char text[16];
	int fd = open("pid.new", O_WRONLY | O_CREAT | O_TRUNC, 0600),
	    n = snprintf(text, sizeof text, "%d\n", (int)getpid());
	if (fd < 0 || write(fd, text, (size_t)n) != n || rename("pid.new", "pid"))
		_exit(9);
	close(fd);
}

static int go_on(pid_t parent, const char *kind)
{
	while (strcmp(kind, "large") && getppid() == parent)
		usleep(1000);
	if (!strcmp(kind, "large"))
		serve();
	write_pid();
	while ((!strcmp(kind, "waits") || !strcmp(kind, "large")) && access("go", F_OK))
		usleep(5000);
	if (!strcmp(kind, "large"))
		return 0;
	usleep(600000);
	if (!strcmp(kind, "exec"))
		execl("/proc/self/exe", "daemons", "serve", NULL);
	serve();
	return 0;
}

static int leave_twice(pid_t parent)
{
	pid_t pid = fork();
	if (pid) {
		waitpid(pid, NULL, 0);
		return 3;
	}
	setsid();
	parent = getpid();
	if (fork())
		_exit(0);
	for (int i = 0; i < 1024; i++)
		close(i);
	return go_on(parent, "double");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pid_t parent = getpid(), pid;
	if (!strcmp(kind, "serve")) {
		serve();
		return 0;
	}
	if (!strcmp(kind, "double"))
		return leave_twice(parent);
	if (!strcmp(kind, "spawn"))
		return posix_spawn(&pid, argv[0], NULL, NULL,
				   (char *[]){argv[0], (char *)"serve", NULL}, environ)
			       ? 9
			       : 3;
	if (fork()) {
		while (!strcmp(kind, "large") && access("pid", F_OK))
			usleep(1000);
		return 3;
	}
	setsid();
	return go_on(parent, kind);
}
