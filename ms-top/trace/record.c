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

static void become(const struct recorder *r, pid_t pid, int said)
{
	char program[4096], number[16];
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	snprintf(number, sizeof number, "%d", (int)pid);
	program_find("ms-record", program, sizeof program);
	int null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	dup2(said, STDERR_FILENO);
	execlp(program, "ms-record", "-o", r->trace, "-p", number, (char *)NULL);
	fprintf(stderr, "cannot run 'ms-record': %s\n", strerror(errno));
	_exit(125);
}

struct recorder *recorder_start(pid_t pid, const char *name, struct ms_err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0) {
		ms_err_sys(err, "cannot create a pipe");
		return NULL;
	}
	struct recorder *r = ms_xcalloc(1, sizeof *r);
	snprintf(r->trace, sizeof r->trace, "%.255s.%d.trace", name, (int)pid);
	for (char *c = r->trace; *c; c++)
		if (*c == '/' || *c == '%' || (unsigned char)*c < ' ') /* '%' too, because ms-record
									  would expand %p */
			*c = '_';
	if (r->trace[0] == '-' || r->trace[0] == '.')
		r->trace[0] = '_';
	struct stat st;
	r->before = stat(r->trace, &st) == 0 ? st.st_ino : 0;
	r->said = ends[0];
	fcntl(r->said, F_SETFL, O_NONBLOCK);
	r->child = fork();
	if (r->child == 0)
		become(r, pid, ends[1]);
	close(ends[1]);
	if (r->child > 0)
		return r;
	ms_err_sys(err, "cannot start ms-record");
	close(r->said);
	free(r);
	return NULL;
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

/* Copies the recorder's first line with an error message, if there is one. */
static void last_words(const struct recorder *r, char *text, size_t room)
{
	const char *line = strstr(r->text, "ms-record: ");
	line = line ? line + strlen("ms-record: ") : r->text;
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
