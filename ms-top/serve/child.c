/* SPDX-License-Identifier: MIT
 * A child process that makes one answer.
 *
 *   fork: a copy of the present model -> snapshot -> [ms-diff with an earlier one] -> ms-report
 *
 * fork() copies only pages that the model changes meanwhile, and the parent continues at once. The
 * child first closes all descriptors except those of the answer, so that it does not hold clients'
 * connections open. Its output size and CPU time are limited.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve_private.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/io.h"

#define MOST_BYTES (UINT64_C(256) << 20)
#define MOST_SECONDS 60u

/* Descriptors in the child: 0 the snapshot, 1 the answer, 2 error messages, 3 the earlier
 * snapshot. */
enum { IMAGE, OUT, ERRORS, BASE, FIRST_OTHER };

static void take_descriptors(const struct child *c)
{
	int fds[] = {c->image, c->out, c->errors, c->base};
	/* moves the descriptors out of the range 0 to 3 first, lest dup2 overwrite one */
	for (int i = 0; i < FIRST_OTHER; i++)
		if (fds[i] >= 0)
			fds[i] = fcntl(fds[i], F_DUPFD, 64);
	for (int i = 0; i < FIRST_OTHER; i++)
		if (fds[i] >= 0)
			dup2(fds[i], i);
	close_range(FIRST_OTHER, ~0U, 0);
}

static void be_a_child(void)
{
	sigset_t none;
	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* lower priority than the measured program */
	if (nice(5) == -1)
		errno = 0;
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){MOST_BYTES, MOST_BYTES});
	setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_SECONDS, MOST_SECONDS});
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static _Noreturn void cannot(const char *what)
{
	dprintf(ERRORS, "%s: %s\n", what, strerror(errno));
	_exit(2);
}

/* Compares both snapshots with ms-diff, whose output replaces the later one. */
static void compare(const char *program)
{
	int difference = memfd_create("ms-top-difference", MFD_CLOEXEC), status;
	pid_t pid = difference >= 0 ? fork() : -1;
	if (pid < 0)
		cannot("cannot compare");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(difference, OUT);
		execlp(program, "ms-diff", "--allow=partial", "--quiet", "/proc/self/fd/3",
		       "/proc/self/fd/0", (char *)NULL);
		cannot("cannot run 'ms-diff'");
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (status != 0)
		_exit(2); /* ms-diff has printed why */
	dup2(difference, IMAGE);
}

static _Noreturn void report(const struct child *c, const char *program, bool full_names)
{
	static const char *const formats[ANSWER_KINDS] = {
		[ANSWER_PAGE] = "--html",    [ANSWER_JSON] = "--json", [ANSWER_HEAP] = "--pprof",
		[ANSWER_ALLOCS] = "--pprof", [ANSWER_TEXT] = "--text", [ANSWER_RETAINED] = "--json",
	};
	const char *args[8] = {"ms-report", "--allow=partial", "--quiet", formats[c->kind]};
	size_t n = 4;
	if (c->kind == ANSWER_HEAP || c->kind == ANSWER_ALLOCS)
		args[n++] = "--layout=go"; /* Go's types only, as stores make a series per type */
	if (c->kind == ANSWER_ALLOCS)
		args[n++] = "--metric=allocated";
	if (c->kind == ANSWER_RETAINED)
		args[n++] = "--retained";
	if (full_names)
		args[n++] = "--full-names";
	args[n] = "-";
	lseek(IMAGE, 0, SEEK_SET);
	execvp(program, (char *const *)args);
	cannot("cannot run 'ms-report'");
}

static _Noreturn void work(const struct child *c, struct serve *s, bool make_image,
			   char program[2][4096])
{
	struct ms_err err = {0};
	be_a_child();
	take_descriptors(c);
	if (make_image && save_model(s->trace, s->opt->wrappers, IMAGE, &err) != 0) {
		dprintf(ERRORS, "%s\n", err.text);
		_exit(2);
	}
	if (c->snapshot)
		_exit(0);
	if (c->base >= 0)
		compare(program[1]);
	report(c, program[0], s->opt->full_names);
}

static int memory_file(const char *name)
{
	return memfd_create(name, MFD_CLOEXEC);
}

int child_start(struct child *c, struct serve *s, int image, struct ms_err *err)
{
	char program[2][4096];
	program_find("ms-report", program[0], sizeof program[0]);
	program_find("ms-diff", program[1], sizeof program[1]);
	c->start_ns = ms_clock_ns(CLOCK_MONOTONIC);
	c->image = image >= 0 ? fcntl(image, F_DUPFD_CLOEXEC, 3) : memory_file("ms-top-snapshot");
	c->out = memory_file("ms-top-answer");
	c->errors = memory_file("ms-top-errors");
	c->pid = c->image >= 0 && c->out >= 0 && c->errors >= 0 ? fork() : -1;
	if (c->pid == 0)
		work(c, s, image < 0, program);
	if (c->pid > 0)
		return 0;
	ms_err_sys(err, "cannot start a process");
	c->pid = 0;
	child_drop(c);
	return -1;
}

bool child_ended(struct child *c, int *status)
{
	if (waitpid(c->pid, status, WNOHANG) == 0) {
		if (ms_clock_ns(CLOCK_MONOTONIC) - c->start_ns >
		    MOST_SECONDS * UINT64_C(1000000000))
			kill(c->pid, SIGKILL);
		return false;
	}
	c->pid = 0;
	return true;
}

void child_drop(struct child *c)
{
	if (c->pid) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	ms_close(c->image);
	ms_close(c->out);
	ms_close(c->errors);
	*c = CHILD_NONE;
}
