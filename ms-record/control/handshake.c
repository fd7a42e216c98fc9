/* SPDX-License-Identifier: MIT
 * The handshake with guests.
 *
 * The name is random, but anyone can list abstract sockets: the kernel says who is at the other
 * end, and only our own user's processes, root's, or descendants of ours are answered.
 */
#include "handshake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "begin.h"
#include "control.h"
#include "fork_children.h"
#include "ms-record/session/frames_list.h"
#include "ms-record/attach/hook_launch.h"
#include "ms-record/session/info.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/drain/recording.h"
#include "ms-record/base/abstract_socket.h"
#include "ms-record/base/pass_file.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/pool.h"

#define ANCESTORS_MAX 64

int handshake_listen(struct control *c, struct ms_err *err)
{
	uint64_t random[2];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return ms_err_sys(err, "cannot get random bytes");
	snprintf(c->socket_name, sizeof c->socket_name, "memscope-%016llx%016llx",
		 (unsigned long long)random[0], (unsigned long long)random[1]);
	c->listener = abstract_listen(c->socket_name, 1024);
	return c->listener < 0 ? ms_err_sys(err, "cannot make a socket") : 0;
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
		if (s->pid == pid && s->ending == SESSION_RUNS)
			return s;
	return NULL;
}

/* The name of `file`, in FILE.d, as seen from the trace of `old`. */
static char *relative(const struct control *c, const struct session *old, const char *file)
{
	char *path = NULL;
	if (old->launched) {
		if (asprintf(&path, "%s/%s", basename(c->files.folder), basename(file)) < 0)
			path = NULL;
		return path;
	}
	return strdup(basename(file));
}

/* The names of an image: its executable's, and as it is shown. */
struct image_name {
	char exe[PROCESS_EXE];
	char *name;
};

static void read_name(struct image_name *n, pid_t pid)
{
	int proc = process_folder(pid);
	process_exe(proc, n->exe);
	n->name = info_name(proc, n->exe);
	descriptor_close(proc);
}

/* The trace for an image: FILE for the first of the command, else one in FILE.d. */
static struct output *trace_for(struct control *c, pid_t pid, const struct image_name *n,
				struct ms_err *err)
{
	if (c->first && pid == c->launch.pid)
		return c->first;
	return files_open_further(&c->files, &c->opt->files, n->name, pid, c->next_image, err);
}

void handshake_replace(struct control *c, struct session *old, const struct session *now)
{
	if (now) {
		old->successor = relative(c, old, now->file);
		old->replaced_ns = now->clock.start_mono;
	}
	control_end(c, old, SESSION_EXECED, -1);
}

static struct session *begin(struct control *c, pid_t pid, const struct image_name *n,
			     uint32_t parent)
{
	bool launched = c->first && pid == c->launch.pid;
	bool forks = c->files.folder && follow_fork(&c->opt->follow, n->exe, n->name);
	struct output *out = trace_for(c, pid, n, &c->refused);
	if (!out)
		return NULL;
	struct session *s = session_new(&c->opt->session, &c->writer, out, pid, &c->buffer_used,
					forks, -1, &c->refused);
	if (!s) {
		if (!launched)
			output_free(out);
		return NULL;
	}
	s->launched = launched;
	s->may_drop = pid != c->launch.pid && c->opt->follow.which != FOLLOW_ALL;
	begin_image(c, s, parent);
	return s;
}

/* Who forked or became this image. A forked child that does nothing but exec is not kept, so its
 * parent stands for it. */
static uint32_t parent_image(struct control *c, pid_t pid, const struct session *old)
{
	const struct session *p = old ? old : handshake_running_session(c, parent_of(pid));
	if (!p)
		return 0;
	bool kept = !p->may_drop || __atomic_load_n(&p->kept_for_sure, __ATOMIC_ACQUIRE);
	return p->forked && !kept ? p->parent_image : p->image + 1;
}

/* A process has become a program: what is known of that. */
struct arrival {
	pid_t pid;
	struct image_name name;
	struct session *old;  /* of its image until now; NULL = it had none */
	uint32_t parent;      /* as in struct session */
	bool wanted, further; /* further: it does not get FILE */
};

static void look_at(struct control *c, pid_t pid, struct arrival *a)
{
	fork_children_accept(c); /* the same process may have been a forked child just now */
	a->pid = pid;
	read_name(&a->name, pid);
	a->old = handshake_running_session(c, pid);
	a->parent = parent_image(c, pid, a->old);
	a->further = !c->first || pid != c->launch.pid;
	/* The command's own process is followed through what it becomes. */
	a->wanted = pid == c->launch.pid || follow_exec(&c->opt->follow, a->name.exe, a->name.name);
}

/* Can it be recorded, as far as we are concerned? */
static bool has_room(const struct control *c, const struct arrival *a)
{
	return !c->stopped && !c->over && (!a->further || c->files.folder);
}

/* A wanted image that is not recorded. */
static void missed(struct control *c, const struct arrival *a, const char *why)
{
	images_missed(c, a->pid, a->parent, clock_mono(), a->name.exe,
		      c->stopped || c->over ? "recording had stopped" : why);
	if (a->old) { /* it is known what became of it */
		free(a->old->became);
		a->old->became = NULL;
	}
}

struct output *handshake_trace_for(struct control *c, int pid, struct session **old,
				   uint32_t *parent, struct ms_err *err)
{
	struct arrival a;
	look_at(c, pid, &a);
	*old = a.old;
	*parent = a.parent;
	struct output *out = trace_for(c, pid, &a.name, err);
	if (out == c->first)
		c->first = NULL;
	free(a.name.name);
	return out;
}

bool handshake_wanted(struct control *c, int pid)
{
	struct arrival a;
	look_at(c, pid, &a);
	free(a.name.name);
	return a.wanted && has_room(c, &a);
}

void handshake_missed(struct control *c, int pid, const char *why)
{
	struct arrival a;
	look_at(c, pid, &a);
	missed(c, &a, why);
	if (a.old)
		handshake_replace(c, a.old, NULL);
	free(a.name.name);
}

/* The session for a process that asked for one, or NULL: not recorded. */
static struct session *new_image(struct control *c, pid_t pid)
{
	struct arrival a;
	struct session *s = NULL;
	look_at(c, pid, &a);
	if (a.wanted && has_room(c, &a))
		s = begin(c, pid, &a.name, a.parent);
	if (!s && a.further && a.wanted)
		missed(c, &a, c->refused.text);
	free(a.name.name);
	if (a.old)
		handshake_replace(c, a.old, s);
	return s;
}

/* ---- the handshake ---- */

static bool read_handshake(int fd, struct mg_handshake *h)
{
	struct timeval wait = {1, 0}; /* on a busy machine it may sleep here; it waits for 5 s */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	return recv(fd, h, sizeof *h, 0) == sizeof *h && h->magic == MG_MAGIC &&
	       h->version == MG_LAYOUT_VERSION;
}

bool handshake_reply(int fd, const struct session *s)
{
	struct mg_handshake_reply w = {.magic = MG_MAGIC,
				       .version = MG_LAYOUT_VERSION,
				       .accept = s != NULL,
				       .bytes = s ? s->pool->bytes : 0};
	return pass_file(fd, &w, sizeof w, s ? s->pool->memfd : -1);
}

/* The program waits meanwhile. Where the command itself has a function that was named and cannot be
 * hooked, it is not run. */
static void place_hooks(struct control *c, struct session *s, int fd)
{
	struct ms_err err = {0};
	bool placed[MG_HOOKS_MAX] = {false};
	c->not_run |= hook_launch(s, &c->opt->session.hooks, fd, placed, s->launched, &err);
	for (size_t i = 0; i < c->opt->session.hooks.n; i++)
		if (placed[i])
			hook_late_placed(s, i, &c->hooks);
	if (err.text[0] && !c->hooks.refused.text[0])
		c->hooks.refused = err;
}

bool handshake_receive(const struct control *c, int fd, int *pid)
{
	struct ucred who;
	socklen_t n = sizeof who;
	struct mg_handshake h;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || !is_allowed(c, &who) ||
	    !read_handshake(fd, &h))
		return false;
	*pid = who.pid;
	return true;
}

static void answer(struct control *c, int fd)
{
	int pid;
	if (!handshake_receive(c, fd, &pid))
		return;
	struct session *s = new_image(c, pid);
	bool hooks = s && hook_launch_wanted(s, &c->opt->session.hooks);
	if (s) /* everybody knows it before it runs: it may be gone before we do again */
		begin_draining(c, s);
	bool sent = handshake_reply(fd, s);
	if (!s)
		return;
	if (hooks && sent)
		place_hooks(c, s, fd);
	if (!sent)
		control_end(c, s, SESSION_STOPPED, -1);
}

void handshake_accept(struct control *c)
{
	for (int fd; (fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
		answer(c, fd);
		close(fd);
	}
}
