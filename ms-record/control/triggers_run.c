/* SPDX-License-Identifier: MIT
 * Commands of --when: started by ms-record, never by the program that is recorded; ended after a
 * minute, together with what they started.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "control.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/base/descriptor.h"
#include "triggers.h"

/* Opens FILE.log, which has what commands print; without a regular file that is discarded. */
static int open_log(struct control *c)
{
	struct acting *a = &c->acting;
	struct stat st;
	if (a->log >= 0)
		return a->log;
	if (c->files.folder && asprintf(&a->log_path, "%s.log", c->files.path) < 0)
		a->log_path = NULL;
	if (a->log_path)
		a->log = open(a->log_path,
			      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			      0600);
	if (a->log >= 0 && (fstat(a->log, &st) || !S_ISREG(st.st_mode))) {
		close(a->log);
		a->log = -1;
	}
	if (a->log < 0) {
		free(a->log_path);
		a->log_path = NULL;
		a->log = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	return a->log;
}

/* Sets a variable of the command. */
static void set(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void set(const char *name, const char *fmt, ...)
{
	char *value;
	va_list ap;
	va_start(ap, fmt);
	if (vasprintf(&value, fmt, ap) < 0 || setenv(name, value, 1))
		_exit(127);
	va_end(ap);
}

/* Executes the command of a firing, in the child. */
static _Noreturn void execute(const struct control *c, const struct firing *f)
{
	/* A command that reads a pipe would take the trace from its reader. */
	const char *trace = c->files.folder ? f->trace : "";
	const char *path = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin";
	char *own = launch_own_file("ms-report");
	/* A name that begins with a dash would be taken for an option. */
	set("MEMSCOPE_TRACE", "%s%s", *trace == '-' ? "./" : "", trace);
	set("MEMSCOPE_PID", "%d", (int)f->pid);
	set("MEMSCOPE_RSS", "%" PRIu64, f->rss);
	/* our own folder last, so that ms-report is found */
	set("PATH", "%s%s%.*s", path, own ? ":" : "", own ? (int)(strrchr(own, '/') - own) : 0,
	    own ?: "");
	execl("/bin/sh", "sh", "-c", f->trigger->command, NULL);
	_exit(127);
}

static void start(struct control *c, struct firing *f)
{
	const struct trigger *t = f->trigger;
	struct trigger_count *count = &c->acting.counts[f->index];
	char time[MS_UNIT_BUF], *about;
	int log = open_log(c);
	if (asprintf(&about, "%s: %s (pid %d): %s",
		     ms_format_duration(time, f->due_ns - c->start_ns), f->program, (int)f->pid,
		     t->text) < 0)
		ms_out_of_memory();
	ms_one_line(about);
	dprintf(log, "ms-record: %s: %s\n", about, t->typed);
	free(about);
	f->start_ns = clock_mono();
	f->child = child_fork(c, log, log);
	if (!f->child)
		execute(c, f);
	count->runs++;
	c->acting.running++;
	if (f->child > 0)
		return;
	count->failed++;
	snprintf(count->why, sizeof count->why, "%s", strerror(errno));
}

/* Looks whether a command has ended, and notes how. */
static bool has_ended(struct control *c, struct firing *f)
{
	struct trigger_count *count = &c->acting.counts[f->index];
	int status = 0;
	if (f->child < 0)
		return true;
	if (!f->late && clock_mono() - f->start_ns > TRIGGER_RUN_NS) {
		f->late = true;
		kill(-f->child, SIGKILL);
	}
	pid_t got = waitpid(f->child, &status, WNOHANG);
	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0 || status == 0) /* as the first process of a container we reap all */
		return true;
	count->failed++;
	if (f->late)
		snprintf(count->why, sizeof count->why, "killed after a minute");
	else if (WIFSIGNALED(status))
		snprintf(count->why, sizeof count->why, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(count->why, sizeof count->why, "exit status %d", WEXITSTATUS(status));
	return true;
}

bool triggers_run(struct control *c, struct firing *f, bool wanted)
{
	struct acting *a = &c->acting;
	if (!wanted && f->child > 0)
		kill(-f->child, SIGKILL);
	if (!wanted && !f->child)
		return true;
	if (!f->child && a->running < TRIGGER_RUNS)
		start(c, f);
	if (!f->child || !has_ended(c, f))
		return false;
	a->running--;
	return true;
}
