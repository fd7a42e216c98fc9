/* SPDX-License-Identifier: MIT
 * The start of a recording: descriptors, threads, the trace, the command or the processes of -p.
 */
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control.h"
#include "handshake.h"
#include "inject.h"
#include "libcommon/base/err.h"
#include "ms-record/base/descriptor.h"

/* Opens /dev/null for closed standard descriptors, so that no later descriptor of ms-record becomes
 * standard input, output or error. The command still finds them closed. */
static void occupy_standard(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < 3);
	if (fd >= 3)
		close(fd);
}

static int take_signals(struct control *c, struct ms_err *err)
{
	c->signals = descriptor_signals(0, &c->launch.mask);
	return c->signals < 0 ? ms_err_sys(err, "cannot receive signals") : 0;
}

int control_fork(struct control *c, struct ms_err *err)
{
	occupy_standard();
	if (take_signals(c, err) || handshake_listen(c, err))
		return -1;
	c->launch.socket = c->socket_name;
	clock_tsc_hz(); /* measured now, so that the command does not wait for it later */
	return launch_fork(&c->launch, &c->opt->launch, err);
}

static int start_threads(struct control *c, struct ms_err *err)
{
	c->writer.limit.max = c->opt->files.keep_last_ns ? INT64_MAX : c->opt->files.max_bytes;
	c->writer.limit.keep = c->opt->files.keep_live;
	c->writer.limit.keep_ns = c->opt->files.keep_last_ns;
	if (tell_start(&c->tell) || writer_start(&c->writer, c->tell.event) ||
	    drain_start(&c->drain, &c->writer, c->tell.event) ||
	    !(c->scanner = scanner_start(&c->opt->scan, &c->drain.wake, c->tell.event)))
		return ms_err_sys(err, "cannot start a thread");
	/* Opened last, because descriptors may run out and no thread needs this one. */
	c->child = (int)syscall(SYS_pidfd_open, c->launch.pid, 0);
	return 0;
}

/* Raises the limit of open files, because each program image needs some. The command is already
 * forked and keeps its own limit. */
static void raise_descriptors(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Opens the trace. */
static int open_trace(struct control *c, struct ms_err *err)
{
	c->first = files_open(&c->files, &c->opt->files, c->launch.program, c->launch.pid, err);
	return c->first ? 0 : -1;
}

static void note_start(struct control *c)
{
	c->start_ns = clock_mono();
	if (!c->opt->session.begins_later && !c->opt->session.start_mark)
		c->run.started_ns = c->start_ns;
}

/* Starts recording running processes. Their memory is mapped before we start threads, because this
 * is done by a helper process forked from us. */
static int start_attached(struct control *c, struct ms_err *err)
{
	c->attached = true;
	occupy_standard();
	if (multi_attach_look(c, err) || take_signals(c, err))
		return -1;
	clock_tsc_hz();
	raise_descriptors();
	if (open_trace(c, err))
		return -1;
	bool regular = c->files.folder != NULL;
	int fd = c->first->fd;
	note_start(c);
	if (multi_attach_prepare(c, err) || start_threads(c, err) || multi_attach_go(c, err)) {
		files_discard(&c->files);
		return -1;
	}
	tell_listen(&c->tell, regular ? -1 : fd, c->files.path, c->run_id);
	return 0;
}

static int start(struct control *c, const struct control_options *o, struct ms_err *err)
{
	*c = (struct control){.opt = o,
			      .hooks.asked = &o->session.hooks,
			      .listener = -1,
			      .signals = -1,
			      .child = -1,
			      .tell = {.epoll = -1, .event = -1, .listener = -1},
			      .launch.status = 125};
	triggers_start(c);
	if (getrandom(c->run_id, sizeof c->run_id, 0) != sizeof c->run_id)
		return ms_err_sys(err, "cannot get random bytes");
	if (o->pids.n)
		return start_attached(c, err);
	if (launch_find(&c->launch, &o->launch, err) || control_fork(c, err))
		return -1;
	raise_descriptors();
	if (open_trace(c, err) || start_threads(c, err)) {
		launch_cancel(&c->launch);
		files_discard(&c->files);
		return -1;
	}
	tell_listen(&c->tell, c->first->fd, c->first->path, c->run_id);
	if (!c->launch.inject)
		inject_watch(c);
	note_start(c);
	if (c->launch.inject ? inject_go(c, err) : launch_go(&c->launch, err)) {
		files_discard(&c->files);
		return -1;
	}
	return 0;
}

/* Starts a recording. If the single attached process calls exec meanwhile, starts again. */
int control_start(struct control *c, const struct control_options *o, struct ms_err *err)
{
	uint64_t until = clock_mono() + CHANGES_NS;
	for (unsigned tries = 0; start(c, o, err); tries++) {
		if (!multi_attach_changed(c) || (clock_mono() > until && tries >= CHANGES_LEAST))
			return -1;
		control_free(c);
		*err = (struct ms_err){0};
	}
	return 0;
}
