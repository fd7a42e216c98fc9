/* SPDX-License-Identifier: MIT
 * Runs ms-record to make a trace of a core dump: the search for live blocks and for what keeps them is the
 * same as in a process, and is there.
 */
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "options.h"

enum { INCOMPLETE = 2, OWN_FAILURE = 125 }; /* status of ms-record */

/* Returns the path of ms-record, which is in the folder of this program, to be freed; NULL = it is not. */
static char *recorder(void)
{
	char self[4096] = "", *path = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL;
	if (!slash || asprintf(&path, "%.*s/ms-record", (int)(slash - self), self) < 0)
		return NULL;
	if (!access(path, X_OK))
		return path;
	free(path);
	return NULL;
}

static _Noreturn void child(const char *path, const struct options *o, const char *output, int said)
{
	const char *argv[12] = {path, "--quiet", "--core", o->core, "--output", output};
	size_t n = 6;
	if (o->core_trace) {
		argv[n++] = "--trace";
		argv[n++] = o->core_trace;
	}
	argv[n++] = "--";
	argv[n++] = o->core_exe;
	dup2(said, STDERR_FILENO);
	execv(path, (char **)(uintptr_t)argv);
	fprintf(stderr, "ms-record: cannot run '%s': %s\n", path, strerror(errno));
	_exit(OWN_FAILURE);
}

/* Runs ms-record, whose messages go to the file `said`. Returns its status as waitpid does, or -1. */
static int run(const char *path, const struct options *o, int out, int said)
{
	char output[32];
	int status = -1;
	snprintf(output, sizeof output, "fd:%d", out);
	pid_t pid = fork();
	if (!pid)
		child(path, o, output, said);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid > 0 ? status : -1;
}

/* Sets `err` to the first line that ms-record has said, without its name. */
static int fail(int said, int status, struct ms_err *err)
{
	char text[sizeof err->text] = "";
	static const char name[] = "ms-record: ";
	ssize_t n = pread(said, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, name, sizeof name - 1))
		return ms_err_set(err, "%s", text + sizeof name - 1);
	return ms_err_set(err, "ms-record ended with %s %d%s%s",
			  WIFSIGNALED(status) ? "signal" : "status",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			  text[0] ? ": " : "", text);
}

int core_read(struct options *o, struct ms_err *err)
{
	char *path = recorder();
	/* The trace stays open, under the name that it is read by, until this program ends. */
	int out = memfd_create("memscope-core", 0),
	    said = memfd_create("memscope-said", MFD_CLOEXEC);
	int rc = 0, status = 0;
	if (!path)
		rc = ms_err_set(err, "--core: ms-record is not in the folder of ms-snap");
	else if (out < 0 || said < 0 || (status = run(path, o, out, said)) == -1)
		rc = ms_err_sys(err, "--core: cannot run '%s'", path);
	else if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != INCOMPLETE))
		rc = fail(said, status, err);
	free(path);
	if (said >= 0)
		close(said);
	if (rc)
		return rc;
	snprintf(o->core_path, sizeof o->core_path, "/proc/self/fd/%d", out);
	*MS_PUSH(&o->inputs) = o->core_path;
	return 0;
}
