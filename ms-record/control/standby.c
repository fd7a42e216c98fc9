/* SPDX-License-Identifier: MIT
 * --standby: the holder, who keeps a command's processes ready to be woken.
 *
 * Its single thread waits for events: the handshake of one of the command's program images, a
 * recorder that connects, or the end of a recorder or a process.
 */
#include "standby.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "handshake.h"
#include "ms-record/attach/hook_launch.h"
#include "ms-record/drain/recording.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/code/interpreter.h"
#include "ms-record/code/modules.h"
#include "ms-record/base/packet.h"
#include "ms-record/base/descriptor.h"

#define LINGER_NS UINT64_C(2000000000)

/* Describes a program image (process between two execs) on standby, that is, with a loaded guest
 * but not recorded. */
struct standby_image {
	struct standby_image *next;
	struct session *session;
	int listener;
	int client; /* connection to the recorder; -1 = not recorded */
	pid_t recorder;
	uint32_t wakes;
	bool over; /* the process of the program image has ended */
};

struct holder {
	struct control control; /* only the members launch, listener, signals and child are used */
	struct standby_image *first;
	uint64_t since; /* last time at which a process existed that may still make a handshake;
			   CLOCK_MONOTONIC, ns */
	bool forked;    /* the command is known to have started other processes */
	bool told;      /* a signal came after the end of the command, so this process should end */
};

void standby_name(uint64_t inode, char name[STANDBY_NAME_BYTES])
{
	snprintf(name, STANDBY_NAME_BYTES, "memscope-standby-%" PRIx64, inode);
}

/* ---- images ---- */

/* Turns off the hooks of the program image and of its forked children. */
static void turn_off(struct standby_image *image)
{
	struct pool *p = image->session->pool;
	pool_shut(p);
	for (uint32_t i = 0; i < p->shape.slot_max; i++) {
		struct mg_session *m = (struct mg_session *)(p->memory + pool_slot_at(p, i));
		if (__atomic_load_n(&p->dir[i].state, __ATOMIC_ACQUIRE) == MG_SLOT_TAKEN)
			__atomic_store_n(&m->state, MG_OFF, __ATOMIC_SEQ_CST);
	}
}

static void drop_client(struct standby_image *image)
{
	close(image->client);
	image->client = -1;
	turn_off(image);
}

static void free_image(struct standby_image *image)
{
	descriptor_close(image->client);
	descriptor_close(image->listener);
	recording_free(image->session);
	free(image);
}

/* Removes the program images of a process. */
static void remove_images(struct holder *h, pid_t pid)
{
	h->since = clock_mono();
	for (struct standby_image **at = &h->first; *at;) {
		struct standby_image *image = *at;
		if (image->session->process.pid != pid) {
			at = &image->next;
			continue;
		}
		*at = image->next;
		h->forked |= __atomic_load_n(&image->session->mem->slots_wanted, __ATOMIC_RELAXED);
		free_image(image);
	}
}

static int listen_for(const struct session *s)
{
	char name[STANDBY_NAME_BYTES];
	standby_name(s->pool->inode, name);
	return packet_listen(name, 16);
}

/* Adds a program image after its handshake. */
static struct standby_image *new_image(struct holder *h, pid_t pid)
{
	struct control *c = &h->control;
	h->forked |= h->control.launch.pid != pid;
	remove_images(h, pid);
	struct session *s =
		session_new(&c->opt->session, NULL, NULL, pid, &c->buffer_used, true, -1, NULL);
	if (!s) /* the program runs unrecorded, without being on standby */
		return NULL;
	modules_back(&s->modules, UINT32_MAX); /* nobody sees modules until a recorder comes */
	modules_read_maps(&s->modules);
	modules_list_frames(&s->modules);
	interpreter_find(&s->modules);
	struct standby_image *image = ms_xcalloc(1, sizeof *image);
	*image = (struct standby_image){.session = s, .client = -1, .listener = listen_for(s)};
	if (image->listener < 0) {
		free_image(image);
		return NULL;
	}
	image->next = h->first;
	h->first = image;
	return image;
}

static void answer_image(void *arg, int fd, int pid, const struct mg_handshake *ask)
{
	struct holder *h = arg;
	struct control *c = &h->control;
	struct standby_image *image = ask->exec ? NULL : new_image(h, pid);
	bool hooks = image && hook_launch_wanted(image->session, &c->opt->session.hooks);
	if (!handshake_reply(fd, image ? image->session : NULL))
		remove_images(h, pid);
	else if (hooks)
		handshake_place_hooks(c, image->session, fd, pid == c->launch.pid);
}

/* ---- recorders ---- */

static void deny(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void deny(int fd, const char *fmt, ...)
{
	struct standby_answer a = {.magic = MG_MAGIC, .version = MG_LAYOUT_VERSION};
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(a.why, sizeof a.why, fmt, ap);
	va_end(ap);
	send(fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* Ends the recording of the program image if its recorder has closed the connection. A recorder
 * sends nothing after its first request. */
static void check_client(struct standby_image *image)
{
	char text[64];
	ssize_t n = recv(image->client, text, sizeof text, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		drop_client(image);
}

static bool still_recorded(struct standby_image *image)
{
	if (image->client >= 0)
		check_client(image);
	return image->client >= 0;
}

/* Writes each hook on a line of its own; `text` is large enough for all. */
static void list_hooks(const struct hooks *hooks, char text[STANDBY_HOOKS_BYTES])
{
	for (size_t i = 0; i < hooks->n; i++) {
		char *end = stpcpy(text, hooks->v[i].text);
		for (char *p = text; p < end; p++)
			*p = *p == '\n' ? ' ' : *p;
		*end = '\n';
		text = end + 1;
	}
}

/* Gives a recorder access to the program image's shared memory. The connection `fd` stays open
 * while it records. */
static void hand_over(struct standby_image *image, int fd, pid_t recorder)
{
	struct standby_answer a = {.magic = MG_MAGIC,
				   .version = MG_LAYOUT_VERSION,
				   .ok = 1,
				   .pid = (uint32_t)image->session->process.pid,
				   .wake = ++image->wakes,
				   .shape = image->session->pool->shape};
	list_hooks(image->session->hooks, a.hooks);
	turn_off(image); /* hooks are off already, unless the process itself changed their state */
	image->client = fd;
	image->recorder = recorder;
	if (!packet_send(fd, &a, sizeof a, image->session->pool->memfd))
		drop_client(image);
}

static void answer_recorder(struct standby_image *image, int fd)
{
	struct timeval wait = {1, 0};
	struct standby_ask q;
	pid_t recorder;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	if (!descriptor_trusted(fd, &recorder))
		deny(fd, "it belongs to user '%s'; run this as that user or as root",
		     descriptor_user());
	else if (TEMP_FAILURE_RETRY(recv(fd, &q, sizeof q, 0)) != sizeof q || q.magic != MG_MAGIC ||
		 q.version != MG_LAYOUT_VERSION)
		deny(fd, "it was put on standby by another version of ms-record; use that version");
	else if (still_recorded(image))
		deny(fd, "process %d records it already; end that one first", (int)image->recorder);
	else
		hand_over(image, fd, recorder);
}

static void accept_recorders(struct standby_image *image)
{
	for (int fd; (fd = accept4(image->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
		answer_recorder(image, fd);
}

/* ---- the loop ---- */

static void pass_signals(struct holder *h)
{
	struct signalfd_siginfo info;
	while (read(h->control.signals, &info, sizeof info) == sizeof info) {
		bool terminal = info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT;
		h->told |= h->control.child < 0;
		/* The terminal sends these signals to the command itself, so only others are
		 * forwarded. */
		if (!terminal && h->control.child >= 0)
			kill(h->control.launch.pid, (int)info.ssi_signo);
	}
}

#define POLL_FIXED 3u
#define POLL_EACH 3u

static size_t fill(const struct holder *h, struct pollfd *p)
{
	size_t n = POLL_FIXED;
	p[0] = (struct pollfd){h->control.signals, POLLIN, 0};
	p[1] = (struct pollfd){h->control.listener, POLLIN, 0};
	p[2] = (struct pollfd){h->control.child, POLLIN, 0};
	for (const struct standby_image *image = h->first; image; image = image->next) {
		p[n++] = (struct pollfd){image->listener, POLLIN, 0};
		p[n++] = (struct pollfd){image->client, POLLIN, 0};
		p[n++] = (struct pollfd){image->session->process.pidfd, POLLIN, 0};
	}
	return n;
}

/* Handles all events of one poll. Ended processes are handled after all other events, because
 * removing program images changes the list that `p` corresponds to. */
static void handle_events(struct holder *h, const struct pollfd *p)
{
	const struct pollfd *at = p + POLL_FIXED;
	for (struct standby_image *image = h->first; image; image = image->next, at += POLL_EACH) {
		if (at[1].revents)
			check_client(image);
		if (at[0].revents)
			accept_recorders(image);
		image->over = at[2].revents != 0;
	}
	for (struct standby_image *image = h->first, *next; image; image = next) {
		next = image->next;
		if (image->over) {
			remove_images(h, image->session->process.pid);
			next = h->first; /* other program images of the process were removed too */
		}
	}
	if (p[0].revents)
		pass_signals(h);
	if (p[1].revents)
		handshake_each(&h->control, answer_image, h);
}

/* Polls once and handles the events. Returns whether the command has ended; the command is not
 * reaped. */
static bool poll_once(struct holder *h, int timeout)
{
	size_t count = POLL_FIXED;
	for (const struct standby_image *image = h->first; image; image = image->next)
		count += POLL_EACH;
	struct pollfd *p = ms_xcalloc(count, sizeof *p);
	size_t n = fill(h, p);
	bool over = false;
	if (poll(p, n, timeout) > 0) {
		over = p[2].revents != 0;
		handle_events(h, p);
	}
	free(p);
	return over;
}

static void close_all(struct holder *h)
{
	while (h->first)
		remove_images(h, h->first->session->process.pid);
	descriptor_close(h->control.listener);
	descriptor_close(h->control.signals);
	descriptor_close(h->control.child);
	MS_FREE(h->control.launch.program, h->control.launch.guest);
}

/* Forks a child that goes on serving recorders, if processes started by the ended command still run
 * or are about to exec. The child detaches from the terminal. */
static void serve_in_background(struct holder *h)
{
	pid_t child = h->first || h->forked ? fork() : -1;
	if (child != 0)
		return;
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/"))
		_exit(0);
	close(h->control.child);
	h->control.child = -1;
	while (!h->told && (h->first || clock_mono() < h->since + LINGER_NS))
		poll_once(h, h->first ? -1 : 100);
	close_all(h);
	_exit(0);
}

static int start(struct holder *h, struct ms_err *err)
{
	struct control *c = &h->control;
	struct launch *l = &c->launch;
	if (launch_find(l, &c->opt->launch, err))
		return -1;
	if (l->inject)
		return ms_err_set(err, "cannot hold '%s' on standby: %s", l->program, l->inject);
	if (control_fork(c, err))
		return -1;
	h->control.child = (int)syscall(SYS_pidfd_open, l->pid, 0);
	if (h->control.child < 0) {
		launch_cancel(l);
		return ms_err_sys(err, "cannot monitor the command");
	}
	return launch_go(l, err);
}

int standby_run(const struct control_options *o, int *own, struct ms_err *err)
{
	struct holder h = {.control = {.opt = o, .listener = -1, .signals = -1, .child = -1}};
	int status = -1;
	if (start(&h, err)) {
		*own = h.control.launch.status;
		close_all(&h);
		return -1;
	}
	while (!poll_once(&h, -1))
		continue;
	pid_t pid = h.control.launch.pid;
	remove_images(&h, pid);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	*err = h.control.hooks.refused;
	if (!h.control.not_run)
		serve_in_background(&h);
	close_all(&h);
	return h.control.not_run ? -1 : status;
}
