/* SPDX-License-Identifier: MIT
 * Commands of --when: started by ms-record, never by the program that is recorded; ended after a
 * minute, together with what they started.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/base/descriptor.h"
#include "triggers.h"

extern char **environ;

#define VARIABLES 4u

struct trigger_run {
	struct trigger_run *next;
	size_t index; /* of its trigger */
	pid_t pid;    /* 0 = it waits for others to end */
	bool over;    /* it took too long */
	uint64_t start_ns;
	char *about; /* for whom it runs */
	char *variables[VARIABLES];
};

/* ---- output ---- */

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

/* ---- one command ---- */

/* Tells whether one of the command's own variables has the name of `entry`. */
static bool is_replaced(const struct trigger_run *r, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;
	for (size_t i = 0; i < VARIABLES; i++)
		if (strncmp(r->variables[i], entry, n) == 0)
			return true;
	return false;
}

/* Makes the environment of a command: ours, and its own variables. To be freed, but not what it
 * points to. */
static char **environment(struct trigger_run *r)
{
	size_t n = VARIABLES;
	for (size_t i = 0; environ[i]; i++)
		n++;
	char **v = ms_xrealloc(NULL, n + 1, sizeof *v);
	memcpy((void *)v, (const void *)r->variables, sizeof r->variables);
	n = VARIABLES;
	for (size_t i = 0; environ[i]; i++)
		if (!is_replaced(r, environ[i]))
			v[n++] = environ[i];
	v[n] = NULL;
	return v;
}

/* Returns the folders in which commands are looked up: the last is the one of ms-record, so that
 * ms-report is found. */
static char *search_path(void)
{
	const char *path = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin";
	char *own = launch_own_file("ms-report"), *to;
	if (asprintf(&to, "PATH=%s%s%.*s", path, own ? ":" : "",
		     own ? (int)(strrchr(own, '/') - own) : 0, own ?: "") < 0)
		ms_out_of_memory();
	free(own);
	return to;
}

/* Starts the command in a process group of its own, with the signal mask that ms-record had. */
static int spawn(const struct control *c, struct trigger_run *r, const char *command, int log)
{
	char *const words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
	char **env = environment(r);
	sigset_t usual;
	posix_spawnattr_t how;
	posix_spawn_file_actions_t files;
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGXFSZ);
	posix_spawnattr_init(&how);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&how, 0);
	posix_spawnattr_setsigmask(&how, &c->launch.mask);
	posix_spawnattr_setsigdefault(&how, &usual);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, log, 1);
	posix_spawn_file_actions_adddup2(&files, log, 2);
	int e = posix_spawn(&r->pid, "/bin/sh", &files, &how, words, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	free((void *)env);
	return e;
}

static void start(struct control *c, struct trigger_run *r)
{
	const struct trigger *t = &c->opt->triggers.v[r->index];
	struct trigger_count *count = &c->acting.counts[r->index];
	int log = open_log(c);
	dprintf(log, "ms-record: %s: %s\n", r->about, t->typed);
	r->start_ns = clock_mono();
	int e = spawn(c, r, t->command, log);
	count->runs++;
	if (!e)
		return;
	r->pid = -1;
	count->failed++;
	snprintf(count->why, sizeof count->why, "%s", strerror(e));
}

/* Looks whether a command has ended, and notes how. */
static bool has_ended(struct control *c, struct trigger_run *r)
{
	struct trigger_count *count = &c->acting.counts[r->index];
	int status = 0;
	if (r->pid < 0)
		return true;
	if (!r->over && clock_mono() - r->start_ns > TRIGGER_RUN_NS) {
		r->over = true;
		kill(-r->pid, SIGKILL);
	}
	pid_t got = waitpid(r->pid, &status, WNOHANG);
	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0 || status == 0) /* as the first process of a container we reap all */
		return true;
	count->failed++;
	if (r->over)
		snprintf(count->why, sizeof count->why, "killed after a minute");
	else if (WIFSIGNALED(status))
		snprintf(count->why, sizeof count->why, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(count->why, sizeof count->why, "exit status %d", WEXITSTATUS(status));
	return true;
}

static void drop(struct trigger_run *r)
{
	for (size_t i = 0; i < VARIABLES; i++)
		free(r->variables[i]);
	MS_FREE(r->about, r);
}

/* ---- all ---- */

void triggers_run(struct control *c, size_t index, const char *program, pid_t pid, uint64_t rss,
		  const char *trace)
{
	struct trigger_run **last = &c->acting.runs, *r = ms_xcalloc(1, sizeof *r);
	char time[MS_UNIT_BUF];
	if (!c->files.folder) /* a command that reads a pipe would take the trace from its reader */
		trace = "";
	while (*last)
		last = &(*last)->next;
	*last = r;
	r->index = index;
	ms_format_duration(time, clock_mono() - c->start_ns);
	r->variables[3] = search_path();
	/* A name that begins with a dash would be taken for an option. */
	if (asprintf(&r->variables[0], "MEMSCOPE_TRACE=%s%s", *trace == '-' ? "./" : "", trace) <
		    0 ||
	    asprintf(&r->variables[1], "MEMSCOPE_PID=%d", (int)pid) < 0 ||
	    asprintf(&r->variables[2], "MEMSCOPE_RSS=%" PRIu64, rss) < 0 ||
	    asprintf(&r->about, "%s: %s (pid %d): %s", time, program, (int)pid,
		     c->opt->triggers.v[index].text) < 0)
		ms_out_of_memory();
	ms_one_line(r->about);
}

bool triggers_runs(struct control *c)
{
	unsigned running = 0;
	for (struct trigger_run **at = &c->acting.runs, *r; (r = *at);) {
		if (!r->pid && running < TRIGGER_RUNS)
			start(c, r);
		if (r->pid && has_ended(c, r)) {
			*at = r->next;
			drop(r);
			continue;
		}
		running += r->pid != 0;
		at = &r->next;
	}
	return c->acting.runs != NULL;
}

void triggers_kill(struct control *c)
{
	for (struct trigger_run **at = &c->acting.runs, *r; (r = *at);) {
		if (r->pid > 0) {
			kill(-r->pid, SIGKILL);
			at = &r->next;
			continue;
		}
		*at = r->next;
		drop(r);
	}
}
