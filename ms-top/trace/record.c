/* SPDX-License-Identifier: MIT
 * Runs ms-record as a child, whose messages come through a pipe instead of the screen.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

#define PATIENCE_MS 5000

struct recorder {
	pid_t child; /* 0 = the recorder has ended */
	int said;    /* pipe from the recorder's standard error */
	int status;
	bool told;
	pid_t of;     /* process of which the answer is wanted; 0 = of no other one */
	ino_t before; /* inode of an older file with the trace's name; 0 = none */
	char trace[320];
	char text[1024];
	size_t n;
};

void program_find(const char *name, char *path, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", path, room - 1);
	path[n > 0 ? n : 0] = 0;
	char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
	if (slash && folder + strlen(name) < room) {
		strcpy(slash + 1, name);
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, room, "%s", name);
}

/* Becomes ms-record with these arguments, NULL-terminated; its messages go to `said`, and so does
 * its output if `answers`. */
static _Noreturn void become(const char *const *args, int said, bool answers)
{
	char program[4096];
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	program_find("ms-record", program, sizeof program);
	int null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (answers)
		dup2(said, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	execvp(program, (char *const *)args);
	fprintf(stderr, "cannot run 'ms-record': %s\n", strerror(errno));
	_exit(125);
}

/* Starts the child of `r`. Returns `r`, or NULL with `err` set and `r` freed. */
static struct recorder *start(struct recorder *r, const char *const *args, bool answers,
			      struct ms_err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0) {
		ms_err_sys(err, "cannot create a pipe");
		free(r);
		return NULL;
	}
	r->said = ends[0];
	fcntl(r->said, F_SETFL, O_NONBLOCK);
	r->child = fork();
	if (r->child == 0)
		become(args, ends[1], answers);
	close(ends[1]);
	if (r->child > 0)
		return r;
	ms_err_sys(err, "cannot start ms-record");
	close(r->said);
	free(r);
	return NULL;
}

struct recorder *recorder_start(pid_t pid, const char *name, struct ms_err *err)
{
	struct recorder *r = ms_xcalloc(1, sizeof *r);
	char number[16];
	snprintf(number, sizeof number, "%d", (int)pid);
	snprintf(r->trace, sizeof r->trace, "%.255s.%d.trace", name, (int)pid);
	for (char *c = r->trace; *c; c++)
		if (*c == '/' || *c == '%' || (unsigned char)*c < ' ') /* '%' too, because ms-record
									  would expand %p */
			*c = '_';
	if (r->trace[0] == '-' || r->trace[0] == '.')
		r->trace[0] = '_';
	struct stat st;
	r->before = stat(r->trace, &st) == 0 ? st.st_ino : 0;
	const char *const args[] = {"ms-record", "-o", r->trace, "-p", number, NULL};
	return start(r, args, false, err);
}

struct recorder *recorder_tell(const char *trace, pid_t pid, const char *verb, struct ms_err *err)
{
	char *path = realpath(trace, NULL), *slash = path ? strrchr(path, '/') : NULL;
	/* traces of further images and processes are in FILE.d/, and the recorder is that of FILE */
	bool further = slash && slash - path > 2 && memcmp(slash - 2, ".d", 2) == 0;
	if (further)
		slash[-2] = 0;
	further = further && access(path, F_OK) == 0;
	const char *const args[] = {"ms-record", "--tell", further ? path : trace, verb, NULL};
	struct recorder *r = ms_xcalloc(1, sizeof *r);
	r->of = pid;
	r = start(r, args, true, err);
	free(path);
	return r;
}

const char *recorder_started(const struct recorder *r)
{
	struct stat st;
	bool there = stat(r->trace, &st) == 0 && st.st_ino != r->before && st.st_size > 0;
	return there ? r->trace : NULL;
}

bool recorder_works(const struct recorder *r)
{
	return r && r->child;
}

static void hear(struct recorder *r)
{
	for (;;) {
		/* discards the older half of the messages */
		if (r->n > sizeof r->text / 2) {
			memmove(r->text, r->text + r->n / 2, r->n - r->n / 2);
			r->n -= r->n / 2;
		}
		ssize_t n = read(r->said, r->text + r->n, sizeof r->text - 1 - r->n);
		if (n <= 0)
			break;
		r->n += (size_t)n;
	}
	r->text[r->n] = 0;
	if (r->child && waitpid(r->child, &r->status, WNOHANG) == r->child)
		r->child = 0;
}

/* Copies the recorder's first line with an error message, if there is one, else the last line about
 * the process that was asked about, else the first line. */
static void last_words(const struct recorder *r, char *text, size_t room)
{
	char mine[32];
	snprintf(mine, sizeof mine, " (pid %d): ", (int)r->of);
	const char *line = strstr(r->text, "ms-record: "), *last = NULL;
	for (const char *at = strstr(r->text, mine); at; at = strstr(at + 1, mine))
		last = at;
	while (!line && last && last > r->text && last[-1] != '\n')
		last--;
	line = line ? line + strlen("ms-record: ") : last;
	line = line ?: r->text;
	snprintf(text, room, "%.*s", (int)strcspn(line, "\n"), line);
}

bool recorder_ended(struct recorder *r, char *text, size_t room)
{
	bool was = r->child == 0;
	hear(r);
	if (!was && r->child == 0)
		hear(r);
	if (r->child || r->told)
		return false;
	r->told = true;
	last_words(r, text, room);
	if (!text[0])
		snprintf(text, room, "ms-record has ended");
	return true;
}

void recorder_stop(struct recorder *r)
{
	if (!r)
		return;
	if (r->child)
		kill(r->child, SIGINT);
	for (int ms = 0; r->child && ms < PATIENCE_MS; ms += 10) {
		nanosleep(&(struct timespec){0, 10000000}, NULL);
		hear(r);
	}
	close(r->said);
	free(r);
}
