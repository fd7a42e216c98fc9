/* SPDX-License-Identifier: MIT
 * Processes that ms-record -p has to refuse. Each says the number of the process that is meant, and
 * goes on until it is killed, at most two minutes.
 *
 *  - plain: nothing prevents it
 *  - leader: its first thread has ended, another one allocates
 *  - zombie: it has ended, and its parent does not notice
 *  - traced: another process traces it
 *  - filter: a seccomp filter allows everything that it does
 *  - hidden: not dumpable
 *  - thread: a thread's number
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(pid_t pid)
{
	printf("%d\n", (int)pid);
	fflush(stdout);
}

static _Noreturn void work(void)
{
	for (;;) {
		free(malloc(100));
		usleep(1000);
	}
}

static void *leader_ended(void *arg)
{
	char name[64], text[64] = "";
	(void)arg;
	snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int)getpid());
	while (!strstr(text, ") Z")) {
		FILE *f = fopen(name, "r");
		if (!f || !fgets(text, sizeof text, f))
			text[0] = '\0';
		if (f)
			fclose(f);
		usleep(1000);
	}
	say(getpid());
	work();
}

static void *other_thread(void *arg)
{
	(void)arg;
	say(gettid());
	work();
}

static void zombie(void)
{
	siginfo_t info;
	pid_t child = fork();
	if (!child)
		_exit(0);
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	say(child);
}

static void traced(void)
{
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work();
	}
	if (ptrace(PTRACE_SEIZE, child, 0, 0))
		exit(1);
	say(child);
}

static void filter(void)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(1);
	say(getpid());
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	pthread_t t;
	alarm(120);
	free(malloc(100)); /* the heap is there from now on, in a child as well */
	if (!strcmp(mode, "leader")) {
		pthread_create(&t, NULL, leader_ended, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(mode, "thread"))
		pthread_create(&t, NULL, other_thread, NULL);
	else if (!strcmp(mode, "zombie"))
		zombie();
	else if (!strcmp(mode, "traced"))
		traced();
	else if (!strcmp(mode, "filter"))
		filter();
	else {
		if (!strcmp(mode, "hidden") && prctl(PR_SET_DUMPABLE, 0))
			return 1;
		say(getpid());
	}
	work();
}
