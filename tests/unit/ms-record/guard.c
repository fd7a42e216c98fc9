/* SPDX-License-Identifier: MIT
 * Who looks after a tracer: one that holds a process and does not come to let it go is continued if it was
 * stopped, and killed if it sleeps; the process goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/ptrace/hijack_private.h"
#include "tests/unit/is.h"

#define PATIENCE_NS UINT64_C(60000000000)

static int target_proc;
static pid_t target;

static void begin_target(void)
{
	target = fork();
	while (!target)
		pause();
	target_proc = process_folder(target);
}

static void end_target(void)
{
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	close(target_proc);
}

/* Until it is in that state. */
static bool becomes(int proc, pid_t pid, char state)
{
	uint64_t until = clock_mono() + PATIENCE_NS;
	while (hijack_state(proc, pid) != state && clock_mono() < until)
		usleep(1000);
	return hijack_state(proc, pid) == state;
}

static _Noreturn int stop_and_sleep(void *arg, void *shared)
{
	struct hijack_stop s;
	(void)arg;
	*(int *)shared = hijack_stop_all(&s, target_proc, false, PATIENCE_NS) ? 1 : 2;
	for (;;)
		pause();
}

static int stop_and_compute(void *arg, void *shared)
{
	struct hijack_stop s;
	uint64_t until = clock_mono() + 3000000000;
	(void)arg;
	*(int *)shared = hijack_stop_all(&s, target_proc, false, PATIENCE_NS) ? 1 : 2;
	hijack_hurry(false);
	while (clock_mono() < until)
		continue;
	hijack_resume(&s, target_proc);
	return 7;
}

static int stop_itself(void *arg, void *shared)
{
	struct hijack_stop s;
	(void)arg;
	*(int *)shared = hijack_stop_all(&s, target_proc, false, PATIENCE_NS) ? 1 : 2;
	raise(SIGSTOP);
	hijack_resume(&s, target_proc);
	return 8;
}

/* A helper that sleeps is killed, one that computes is not, and one that is stopped goes on. */
static void check_helpers(void)
{
	int shared = 0, result = 0;
	begin_target();
	errno = 0;
	is("asleep", (uint64_t)hijack_helper(stop_and_sleep, NULL, &shared, sizeof shared, &result),
	   (uint64_t)-1);
	is("why", (uint64_t)errno, ETIMEDOUT);
	is("it goes on", becomes(target_proc, target, 'S'), true);
	is("it computes",
	   (uint64_t)hijack_helper(stop_and_compute, NULL, &shared, sizeof shared, &result), 0);
	is("to its end", (uint64_t)(shared * 10 + result), 27);
	is("it goes on", becomes(target_proc, target, 'S'), true);
	is("stopped", (uint64_t)hijack_helper(stop_itself, NULL, &shared, sizeof shared, &result),
	   0);
	is("continued", (uint64_t)(shared * 10 + result), 28);
	is("it goes on", becomes(target_proc, target, 'S'), true);
	end_target();
}

/* A tracer that is no helper: `sleeps` for ever, or is stopped. */
static pid_t begin_tracer(bool sleeps)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	struct hijack_stop s;
	close(STDERR_FILENO);
	if (hijack_stop_all(&s, target_proc, false, PATIENCE_NS))
		_exit(1);
	hijack_holds(true, sleeps ? clock_mono() : UINT64_MAX);
	if (sleeps)
		for (;;)
			pause();
	raise(SIGSTOP);
	hijack_resume(&s, target_proc);
	_exit(9);
}

static void check_thread(void)
{
	int status;
	begin_target();
	waitpid(begin_tracer(true), &status, 0);
	is("killed", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, true);
	is("it goes on", becomes(target_proc, target, 'S'), true);
	waitpid(begin_tracer(false), &status, 0);
	is("continued", WIFEXITED(status) && WEXITSTATUS(status) == 9, true);
	is("it goes on", becomes(target_proc, target, 'S'), true);
	end_target();
}

int main(void)
{
	begin_target();
	struct hijack_stop s;
	if (hijack_stop_all(&s, target_proc, false, PATIENCE_NS)) { /* tracing is not permitted */
		end_target();
		return 77;
	}
	hijack_resume(&s, target_proc);
	end_target();
	check_helpers();
	check_thread();
	is("nobody is left", (uint64_t)waitpid(-1, NULL, __WALL), (uint64_t)-1);
	return failures != 0;
}
