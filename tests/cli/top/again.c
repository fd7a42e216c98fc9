/* SPDX-License-Identifier: MIT
 * again PID NAME: has a process of that number, which must be free, until it is killed itself.
 * 77: that is not permitted.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void live(const char *name)
{
	size_t n = 20 << 20;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	memset(p, 1, n);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pid_t want = argc == 3 ? atoi(argv[1]) : 0;
	struct clone_args a = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&want, .set_tid_size = 1};
	long pid = syscall(SYS_clone3, &a, sizeof a);
	if (pid == 0)
		live(argv[2]);
	if (pid != want) {
		fprintf(stderr, "no process %d: %s\n", (int)want, strerror(errno));
		return errno == EPERM || errno == ENOSYS ? 77 : 1;
	}
	puts("there");
	fflush(stdout);
	waitpid(want, NULL, 0);
	return 1;
}
