/* SPDX-License-Identifier: MIT
 * The handshake with guests.
 *
 * The socket's name is random, but any process can list abstract sockets. The kernel reports the
 * peer's user and pid, and only processes of our own user, of root, or descended from us get an
 * answer.
 */
#include "handshake.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "control.h"
#include "inject.h"
#include "ms-record/attach/hook_launch.h"
#include "ms-record/session/info.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/packet.h"
#include "ms-record/session/pool.h"

#define ANCESTORS_MAX 64

int handshake_listen(struct control *c, struct ms_err *err)
{
	uint64_t random[2];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return ms_err_sys(err, "cannot get random bytes");
	snprintf(c->socket_name, sizeof c->socket_name, "memscope-%016llx%016llx",
		 (unsigned long long)random[0], (unsigned long long)random[1]);
	c->listener = packet_listen(c->socket_name, 1024);
	return c->listener < 0 ? ms_err_sys(err, "cannot create a socket") : 0;
}

/* ---- who is it ---- */

static pid_t parent_of(pid_t pid)
{
	struct ms_proc_stat st;
	int folder = process_folder(pid);
	bool ok = ms_proc_stat_at(folder, &st);
	descriptor_close(folder);
	return ok ? (pid_t)st.field[MS_STAT_PPID] : 0;
}

static bool descends(pid_t pid)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent_of(pid))
		if (pid == getpid())
			return true;
	return false;
}

static bool is_allowed(const struct control *c, const struct ucred *who)
{
	if (who->pid <= 0)
		return false;
	if (who->pid == c->launch.pid || who->uid == getuid() || who->uid == 0)
		return true;
	return getuid() == 0 && descends(who->pid);
}

/* ---- a new image ---- */

struct session *handshake_running_session(struct control *c, int pid)
{
	for (struct session *s = c->sessions; s; s = s->next)
		if (s->process.pid == pid && s->ending == SESSION_RUNS)
			return s;
	return NULL;
}

/* Returns the path of `file`, a trace in FILE.d, relative to the folder of the trace of `old`. */
static char *relative(const struct control *c, const struct session *old, const char *file)
{
	const char *folder = old->launched && c->files.folder ? basename(c->files.folder) : "";
	char *path;
	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", basename(file)) < 0)
		return NULL;
	return path;
}

void handshake_replace(struct control *c, struct session *old, const struct session *now)
{
	if (now) {
		old->end.successor = relative(c, old, now->out->path);
		old->end.replaced_ns = now->clock.start_mono;
	}
	control_end(c, old, SESSION_EXECED, -1);
}

struct output *handshake_trace(struct control *c, const struct arrival *a, struct ms_err *err)
{
	if (!a->further)
		return c->first;
	return files_open_further(&c->files, &c->opt->files, a->name, a->pid, c->next_image, err);
}

static struct session *begin(struct control *c, const struct arrival *a, struct ms_err *err)
{
	bool forks = c->files.folder && follow_wants(&c->opt->follow, FOLLOW_FORK, a->exe, a->name);
	struct output *out = handshake_trace(c, a, err);
	if (!out)
		return NULL;
	struct session *s = session_new(&c->opt->session, &c->writer, out, a->pid, &c->buffer_used,
					forks, -1, err);
	if (!s) {
		if (a->further)
			output_free(out);
		return NULL;
	}
	s->launched = !a->further;
	s->may_drop = a->pid != c->launch.pid && c->opt->follow.which != FOLLOW_ALL;
	begin_image(c, s, a->parent);
	return s;
}

/* Returns the number + 1 of the program image that forked or executed process `pid` (0 = unknown).
 * If that image is a forked child that only calls exec, and is not kept, returns the number + 1 of
 * its parent instead. */
static uint32_t parent_image(struct control *c, pid_t pid, const struct session *old)
{
	const struct session *p = old ? old : handshake_running_session(c, parent_of(pid));
	if (!p)
		return 0;
	bool kept = !p->may_drop || __atomic_load_n(&p->kept_for_sure, __ATOMIC_ACQUIRE);
	return p->forked && !kept ? p->parent_image : p->image + 1;
}

void handshake_look(struct control *c, pid_t pid, struct arrival *a)
{
	int proc = process_folder(pid);
	fork_children_accept(c); /* the process may just have been found as a forked child */
	*a = (struct arrival){.pid = pid};
	process_exe(proc, a->exe);
	a->name = info_name(proc, a->exe);
	descriptor_close(proc);
	a->old = handshake_running_session(c, pid);
	a->parent = parent_image(c, pid, a->old);
	a->further = !c->first || pid != c->launch.pid;
	/* The command's own process is always followed through exec. */
	a->wanted =
		pid == c->launch.pid || follow_wants(&c->opt->follow, FOLLOW_EXEC, a->exe, a->name);
	a->recordable = a->wanted && !c->stopped && !c->over && (!a->further || c->files.folder);
}

void handshake_missed(struct control *c, const struct arrival *a, const char *why)
{
	images_missed(c, a->pid, a->parent, clock_mono(), a->exe,
		      c->stopped || c->over ? "recording had stopped" : why);
	if (a->old) { /* the index lists the program that a->old executed, so the entry of a->old
			 need not name it */
		free(a->old->exec.program);
		a->old->exec.program = NULL;
	}
}

/* Adds the executed program to the index now, because it will make no handshake. */
static void missed_exec(struct control *c, const struct arrival *a, const char *path, bool becomes)
{
	char *text = launch_why(path);
	images_missed(c, becomes ? a->pid : 0, a->parent, clock_mono(), a->exe,
		      c->stopped || c->over ? "recording had stopped" : text);
	free(text);
}

/* Returns the thread that announced an exec, as a tid in our pid namespace; 0 = unknown. */
static pid_t maker_of(pid_t pid, const struct mg_handshake *h)
{
	char task[48];
	if ((pid_t)h->pid != pid) /* the process is in another pid namespace */
		return h->tid == h->pid ? pid : 0;
	snprintf(task, sizeof task, "/proc/%d/task/%u", (int)pid, h->tid);
	return access(task, F_OK) ? 0 : (pid_t)h->tid;
}

/* Handles the announced exec of a program that will not make a handshake: traces the program, or
 * lists it in the index. */
static void note_exec(struct control *c, pid_t pid, const struct mg_handshake *h)
{
	struct arrival a;
	struct ms_err why = {0};
	char path[PROCESS_EXE + 64], whole[PATH_MAX];
	snprintf(path, sizeof path, "/proc/%d/%s%s", (int)pid, *h->exe == '/' ? "root" : "cwd/",
		 h->exe);
	/* If the command is traced, inject.h records its children or lists them in the index. */
	enum launch_way way = c->launch.inject ? LAUNCH_PRELOAD : inject_way(c, pid, path, &why);
	if (way == LAUNCH_PRELOAD)
		return;
	handshake_look(c, pid, &a);
	snprintf(a.exe, sizeof a.exe, "%s", realpath(path, whole) ? whole : h->exe);
	bool becomes = h->exec == MG_EXEC_SELF; /* if the caller starts another process, the pid of
						   the new process is not known yet */
	bool stopped = c->stopped || c->over || !c->files.folder;
	pid_t maker = way == LAUNCH_INJECT && !stopped ? maker_of(pid, h) : 0;
	if (becomes && a.old)
		a.old->exec.announced = true;
	if ((becomes && pid == c->launch.pid) ||
	    follow_wants(&c->opt->follow, FOLLOW_EXEC, a.exe, basename(a.exe))) {
		if (!maker || !inject_below(c, &a, maker, !becomes))
			missed_exec(c, &a, path, becomes);
	}
	free(a.name);
}

/* Creates a session for process `pid`, which has asked for one over connection `fd`. Returns NULL if
 * the process is not recorded. */
static struct session *new_image(struct control *c, pid_t pid, int fd)
{
	struct arrival a;
	struct session *s = NULL;
	struct ms_err why = {0};
	handshake_look(c, pid, &a);
	/* Answering a guest that has given up would only keep the others waiting. */
	if (a.recordable && packet_closed(fd))
		ms_err_set(&why, "ms-record was too busy to answer while the program waited");
	else if (a.recordable)
		s = begin(c, &a, &why);
	if (why.text[0])
		ms_err_set(&c->refused, "%s", why.text);
	else if (!c->files.folder)
		ms_err_set(&why,
			   "traces of further programs go into the folder FILE.d: use -o FILE, not "
			   "'%s'",
			   c->files.path);
	if (!s && a.further && a.wanted)
		handshake_missed(c, &a, why.text);
	free(a.name);
	if (a.old)
		handshake_replace(c, a.old, s);
	return s;
}

/* ---- the handshake ---- */

static bool read_handshake(int fd, struct mg_handshake *h)
{
	struct timeval wait = {1, 0}; /* a busy machine may delay the guest */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	return TEMP_FAILURE_RETRY(recv(fd, h, sizeof *h, 0)) == sizeof *h && h->magic == MG_MAGIC &&
	       h->version == MG_LAYOUT_VERSION;
}

bool handshake_reply(int fd, const struct session *s)
{
	struct mg_handshake_reply w = {.magic = MG_MAGIC,
				       .version = MG_LAYOUT_VERSION,
				       .accept = s != NULL,
				       .bytes = s ? s->pool->shape.bytes : 0};
	return packet_send(fd, &w, sizeof w, s ? s->pool->memfd : -1);
}

void handshake_place_hooks(struct control *c, struct session *s, int fd, bool own)
{
	struct ms_err err = {0};
	bool placed[MG_HOOKS_MAX] = {false};
	c->not_run |= hook_launch(s, &c->opt->session.hooks, fd, placed, own, &err);
	for (size_t i = 0; i < c->opt->session.hooks.n; i++)
		if (placed[i])
			hook_late_placed(s, i, &c->hooks);
	if (!c->hooks.refused.text[0])
		c->hooks.refused = err;
}

/* Receives a request, and the sender's pid from the kernel. Returns false if there is nothing to
 * answer. */
static bool receive(const struct control *c, int fd, int *pid, struct mg_handshake *h)
{
	struct ucred who;
	socklen_t n = sizeof who;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || !is_allowed(c, &who) ||
	    !read_handshake(fd, h))
		return false;
	h->exe[sizeof h->exe - 1] = '\0';
	*pid = who.pid;
	return true;
}

void handshake_each(const struct control *c,
		    void (*answer)(void *arg, int fd, int pid, const struct mg_handshake *h),
		    void *arg)
{
	int pid;
	struct mg_handshake h;
	for (int fd; (fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
		if (receive(c, fd, &pid, &h))
			answer(arg, fd, pid, &h);
		close(fd);
	}
}

static void answer(void *arg, int fd, int pid, const struct mg_handshake *h)
{
	struct control *c = arg;
	if (h->exec) {
		note_exec(c, pid, h);
		handshake_reply(fd, NULL);
		return;
	}
	struct session *s = new_image(c, pid, fd);
	bool hooks = s && hook_launch_wanted(s, &c->opt->session.hooks);
	if (s) /* done before the reply, because the process may end soon after it */
		begin_draining(c, s);
	bool sent = handshake_reply(fd, s);
	if (!s)
		return;
	if (hooks && sent)
		handshake_place_hooks(c, s, fd, s->launched);
	if (!c->not_run)
		files_begin(&c->files);
	if (!sent)
		control_end(c, s, SESSION_STOPPED, -1);
}

void handshake_accept(struct control *c)
{
	handshake_each(c, answer, c);
}
