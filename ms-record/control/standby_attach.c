/* SPDX-License-Identifier: MIT
 * Recording a process that is on standby: the recorder's side.
 */
#include "standby.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ms-record/ptrace/attach_maps.h"
#include "ms-record/base/packet.h"
#include "control.h"
#include "ms-record/attach/hook_late.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/drain/recording.h"

#define PATIENCE_S 5

/* ---- which memory ---- */

/* Returns the inode of the MemScope shared memory that the process has mapped; 0 = none. */
static uint64_t find_memory(int proc)
{
	const struct ms_proc p = {.folder = proc};
	struct ms_regions r = {0};
	uint64_t inode = 0;
	ms_regions_read(&p, false, &r);
	for (size_t i = 0; i < r.n && !inode; i++)
		if (strstr(r.v[i].map.path, "/memfd:memscope (deleted)"))
			inode = r.v[i].map.inode;
	ms_regions_free(&r);
	return inode;
}

/* ---- asking ---- */

static int connect_to(uint64_t inode)
{
	char name[STANDBY_NAME_BYTES];
	standby_name(inode, name);
	return packet_connect(name, PATIENCE_S);
}

/* Tells whether the listener may be trusted. This must be checked because any process can listen
 * under any name. */
static bool trusted(int fd, int proc, pid_t *holder)
{
	struct ucred who;
	struct stat st;
	socklen_t n = sizeof who;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return false;
	bool owner = !fstat(proc, &st) && st.st_uid == who.uid;
	*holder = who.pid;
	return who.uid == 0 || who.uid == geteuid() || (geteuid() == 0 && owner);
}

static int receive(struct standby_attach *w)
{
	struct standby_answer *a = &w->answer;
	ssize_t n = packet_take(w->connection, a, sizeof *a, 0, &w->memfd);
	if (n < 0 && errno == ECONNRESET) /* connection closed, but the answer can still be read */
		n = packet_take(w->connection, a, sizeof *a, 0, &w->memfd);
	return n == sizeof *a ? 0 : -1;
}

static int refuse(pid_t pid, const char *why, struct ms_err *err)
{
	return ms_err_set(err, "cannot record process %d, which runs under ms-record --standby: %s",
			  (int)pid, why);
}

static int judge(struct standby_attach *w, pid_t pid, uint64_t inode, struct ms_err *err)
{
	struct standby_answer *a = &w->answer;
	struct stat got;
	a->why[sizeof a->why - 1] = a->hooks[sizeof a->hooks - 1] = '\0';
	if (a->magic != MG_MAGIC || a->version != MG_LAYOUT_VERSION)
		return refuse(
			pid,
			"it was put on standby by another version of ms-record; use that version",
			err);
	if (!a->ok)
		return refuse(pid, a->why, err);
	if (w->memfd < 0 || fstat(w->memfd, &got) || got.st_ino != inode)
		return refuse(
			pid,
			"the ms-record --standby that runs it offers other shared memory than "
			"the process has mapped; restart the process",
			err);
	if (a->pid == (uint32_t)pid)
		return 0;
	return ms_err_set(err,
			  "cannot record process %d, which runs under ms-record --standby: it was "
			  "forked by process %u, with which it is recorded; give that PID",
			  (int)pid, a->pid);
}

/* Refuses options that only have an effect when the process is started. */
static int check_options(const struct control_options *o, pid_t pid, struct ms_err *err)
{
	char why[100];
	const char *name = o->session.sample_bytes          ? "--sample"
			   : o->follow.which == FOLLOW_NONE ? "--follow=none"
			   : o->session.free_stacks         ? "--with=free-stacks"
			   : o->session.verify              ? "--with=verify"
							    : NULL;
	if (o->session.hooks.n)
		return refuse(pid, "--hook has to be given to the ms-record --standby that runs it",
			      err);
	if (!name)
		return 0;
	snprintf(why, sizeof why, "%s cannot be combined with --standby", name);
	return refuse(pid, why, err);
}

static int ask(struct standby_attach *w, pid_t pid, int proc, const struct control_options *o,
	       struct ms_err *err)
{
	struct standby_ask q = {MG_MAGIC, MG_LAYOUT_VERSION};
	uint64_t inode = find_memory(proc);
	pid_t holder;
	if (!inode || (w->connection = connect_to(inode)) < 0 ||
	    !trusted(w->connection, proc, &holder))
		return 0;
	if (holder == pid)
		return ms_err_set(err,
				  "cannot record process %d: that is ms-record --standby itself; "
				  "give the PID of what it runs",
				  (int)pid);
	if (check_options(o, pid, err))
		return -1;
	/* If our user is refused, the holder answers and closes the connection without reading, so
	 * that send may fail. */
	if ((send(w->connection, &q, sizeof q, MSG_NOSIGNAL) != sizeof q && errno != EPIPE &&
	     errno != ECONNRESET) ||
	    receive(w))
		return refuse(pid, "the ms-record --standby that runs it does not answer", err);
	return judge(w, pid, inode, err) ? -1 : 1;
}

int standby_attach_look(struct standby_attach *w, pid_t pid, const struct control_options *o,
			struct ms_err *err)
{
	*w = (struct standby_attach){.connection = -1, .memfd = -1, .pidfd = -1};
	int proc = process_folder(pid);
	if (proc < 0)
		return 0;
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r = ask(w, pid, proc, o, err);
	close(proc);
	if (r <= 0)
		standby_attach_free(w);
	return r;
}

void standby_attach_free(struct standby_attach *w)
{
	descriptor_close(w->connection);
	descriptor_close(w->memfd);
	descriptor_close(w->pidfd);
	w->connection = w->memfd = w->pidfd = -1;
	hooks_free(&w->hooks);
}

/* ---- recording ---- */

/* Reads which hooks the standby ms-record has placed. Modules loaded since then get no hooks,
 * because threads may be executing their code already. */
static int take_hooks(struct session *s, struct standby_attach *w, struct ms_err *err)
{
	struct attach_maps maps;
	char *text = w->answer.hooks;
	for (char *end; (end = memchr(text, '\n', strlen(text))); text = end + 1) {
		*end = '\0';
		if (hooks_add(&w->hooks, text, err))
			return -1;
	}
	s->hooks = &w->hooks;
	if (!attach_maps_read(&maps, s->process.folder, NULL))
		hook_late_known(s, &maps);
	attach_maps_free(&maps);
	return 0;
}

/* Creates the session of a process on standby and begins its program image, as the handshake does
 * for a process with a preloaded library. */
int standby_attach_prepare(struct control *c, struct standby_attach *w, pid_t pid,
			   struct ms_err *err)
{
	struct session *s =
		session_attach_standby(&c->opt->session, &c->writer, c->first, pid, &c->buffer_used,
				       &w->answer.shape, w->answer.wake, w->memfd, err);
	if (!s)
		return -1;
	w->memfd = -1;
	if (take_hooks(s, w, err)) {
		s->out = NULL;
		recording_free(s);
		return -1;
	}
	begin_image(c, s, 0);
	return 0;
}

bool standby_attach_ended(const struct standby_attach *w)
{
	struct pollfd p = {w->pidfd, POLLIN, 0};
	return p.fd < 0 || poll(&p, 1, 0) > 0;
}
