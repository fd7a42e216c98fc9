/* SPDX-License-Identifier: MIT
 * Implements --listen without a screen.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app.h"
#include "app_private.h"
#include "ms-top/serve/serve.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

/* Returns a descriptor that becomes readable on a signal to exit, so that the socket can be removed
 * first; -1 with `err` set. */
static int catch_signals(struct ms_err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? ms_err_sys(err, "cannot catch signals") : fd;
}

/* Switches to the new file if a restarted service has replaced the trace, which on a screen the
 * user would do. */
static void go_on(struct app *a)
{
	struct ms_err why = {0};
	enum ms_follow_file file = a->trace->follow->file;
	if (file == MS_FILE_REPLACED || file == MS_FILE_CUT)
		trace_again(a->trace, &why);
}

/* Runs one round of the server. Returns 1 to continue; 0 after a signal, or when the number of
 * updates is reached; or -1 with `err` set. */
static int turn(struct app *a, int signals, uint64_t *next, uint64_t *frames, struct ms_err *err)
{
	struct signalfd_siginfo info;
	struct pollfd p[] = {{serve_fd(a->serve), POLLIN, 0}, {signals, POLLIN, 0}};
	int busy = app_work(a, err);
	if (busy < 0)
		return -1;
	if (!busy)
		go_on(a);
	int again = app_answer(a);
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
	if (now >= *next) {
		*next = now + a->opt->delay_ns;
		if (app_look(a, err) != 0)
			return -1;
		if (++*frames == a->opt->frames)
			return 0;
	}
	a->look = a->stale = a->hurry = false;
	if (poll(p, 2, app_patience(a, busy, again, *next)) < 0 && errno != EINTR)
		return ms_err_sys(err, "cannot wait");
	return read(signals, &info, sizeof info) > 0 ? 0 : 1;
}

int app_serve(const struct options *o, struct ms_err *err)
{
	struct app a;
	uint64_t next = 0, frames = 0;
	int signals = catch_signals(err), rc = signals < 0 ? -1 : 1;
	if (app_open(&a, o, err) != 0)
		rc = -1;
	if (rc > 0)
		ms_cli_remark(&o->cli, "serving '%s' at %s", o->trace, serve_where(a.serve));
	while (rc > 0)
		rc = turn(&a, signals, &next, &frames, err);
	app_close(&a);
	ms_close(signals);
	return rc;
}
