/* SPDX-License-Identifier: MIT
 * --tell, the recorder's side: receives requests, starts their execution, and answers. All of it
 * runs in the control thread, which never waits here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "ms-record/base/packet.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/descriptor.h"
#include "tell.h"

#define OPEN_MAX_CONNECTIONS 64u

/* ---- descriptors ---- */

static int watch(const struct tell *t, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e);
}

int tell_start(struct tell *t)
{
	*t = (struct tell){.listener = -1};
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return t->epoll < 0 || t->event < 0 || watch(t, t->event) ? -1 : 0;
}

/* ---- answers ---- */

/* Sends an answer and closes the connection. Always true, so that the caller can return it. */
static bool answer(int fd, char how, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool answer(int fd, char how, const char *fmt, ...)
{
	char text[TELL_PACKET];
	va_list ap;
	text[0] = how;
	va_start(ap, fmt);
	vsnprintf(text + 1, sizeof text - 1, fmt, ap);
	va_end(ap);
	send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
	return true;
}

/* ---- receiving ---- */

static void accept_all(struct tell *t)
{
	pid_t pid;
	for (int fd; (fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
		if (!descriptor_trusted(fd, &pid))
			answer(fd, '1', "it belongs to user '%s'; run this as that user or as root",
			       descriptor_user());
		else if (t->open >= OPEN_MAX_CONNECTIONS || watch(t, fd))
			close(fd);
		else
			t->open++;
	}
}

void tell_listen(struct tell *t, int fd, const char *path, const uint8_t session[TELL_SESSION])
{
	struct stat st;
	if (fd >= 0 ? fstat(fd, &st) : stat(path, &st))
		return;
	int s = packet_listen(tell_name(&st, session).text, 16);
	if (s < 0)
		return;
	if (watch(t, s)) {
		close(s);
		return;
	}
	if (t->listener >= 0) {
		accept_all(t);
		close(t->listener);
	}
	t->listener = s;
}

static void take_request(struct tell *t, int fd)
{
	char text[TELL_PACKET + 1];
	const char *name;
	struct ms_err err = {0};
	enum tell_verb verb;
	ssize_t n = TEMP_FAILURE_RETRY(recv(fd, text, TELL_PACKET, 0));
	epoll_ctl(t->epoll, EPOLL_CTL_DEL, fd, NULL);
	t->open--;
	if (n <= 0) {
		close(fd);
		return;
	}
	text[n] = '\0';
	if (tell_parse(text, &verb, &name, &err)) {
		answer(fd, '1', "%s", err.text);
		return;
	}
	struct tell_job **last = &t->first, *job = ms_xrealloc(NULL, 1, sizeof *job);
	while (*last)
		last = &(*last)->next;
	*job = (struct tell_job){.fd = fd, .verb = verb};
	strncpy(job->name, name, sizeof job->name - 1);
	*last = job;
}

static void receive_requests(struct tell *t)
{
	struct epoll_event e[16];
	int n = epoll_wait(t->epoll, e, 16, 0);
	for (int i = 0; i < n; i++) {
		uint64_t count;
		if (e[i].data.fd == t->listener)
			accept_all(t);
		else if (e[i].data.fd != t->event)
			take_request(t, e[i].data.fd);
		else if (read(t->event, &count, sizeof count) < 0)
			continue; /* an earlier call already read the count */
	}
}

/* ---- status ---- */

static const char *state_of(const struct control *c)
{
	if (c->stopped || c->over)
		return "stopped";
	if (!__atomic_load_n(&c->run.started_ns, __ATOMIC_ACQUIRE))
		return "waiting";
	return __atomic_load_n(&c->run.paused, __ATOMIC_ACQUIRE) ? "paused" : "recording";
}

/* Adds the figures of all ended program images to `f`, and sets *bytes to the size of all
 * traces. */
static void all_figures(const struct control *c, struct figures *f, uint64_t *bytes)
{
	*bytes = 0;
	for (const struct session *s = c->sessions; s; s = s->next) {
		*bytes += __atomic_load_n(&s->out->bytes, __ATOMIC_RELAXED);
		if (__atomic_load_n(&s->finished, __ATOMIC_ACQUIRE))
			drain_requests_add_figures(f, s);
	}
	for (size_t i = 0; i < c->images.n; i++) {
		const struct image *m = &c->images.v[i];
		*bytes += m->kept ? m->bytes : 0;
		figures_add(f, &m->stats, m->stats.paused_ns);
	}
}

static bool answer_status(const struct control *c, const struct tell_job *j)
{
	struct figures f = c->requests.sent.figures;
	uint64_t bytes, started = __atomic_load_n(&c->run.started_ns, __ATOMIC_ACQUIRE);
	char waiting[48] = "";
	size_t n = 0;
	all_figures(c, &f, &bytes);
	for (size_t i = 0; i < c->opt->session.hooks.n; i++)
		n += !c->hooks.placed[i];
	if (c->opt->session.hooks.n)
		snprintf(waiting, sizeof waiting, "hooks_waiting %zu\n", n);
	return answer(j->fd, '0',
		      "state %s\nrunning_ns %" PRIu64 "\nstarted_late_ns %" PRIu64
		      "\nevents %" PRIu64 "\nallocations %" PRIu64 "\nlive_bytes %" PRIu64
		      "\nlive_blocks %" PRIu64 "\npeak_bytes %" PRIu64 "\nlost_events %" PRIu64
		      "\npaused_ns %" PRIu64 "\npaused_allocations %" PRIu64 "\nimages %" PRIu64
		      "\nfile_bytes %" PRIu64 "\n%s",
		      state_of(c), clock_mono() - c->start_ns, started ? started - c->start_ns : 0,
		      f.events, f.allocations, f.live_bytes, f.live_blocks, f.peak_bytes, f.lost,
		      f.paused_ns, f.paused_allocations, f.images, bytes, waiting);
}

/* ---- doing ---- */

/* Asks for a mark in all images, or if `name` is NULL for all to be written. */
static void ask_all(struct control *c, struct tell_job *j, const char *name)
{
	j->request = requests_add(&c->requests, DRAIN_ALL, name, false);
	j->step = TELL_WRITING;
}

/* Begins a job. Returns true if it was answered immediately, so that the job is done. */
static bool begin(struct control *c, struct tell_job *j)
{
	bool over = c->stopped || c->over;
	char label[sizeof j->name + 16];
	if (over && (j->verb == TELL_MARK || j->verb >= TELL_LEAK_CHECK || j->verb == TELL_PAUSE ||
		     j->verb == TELL_RESUME))
		return answer(j->fd, '1', "recording has stopped");
	if (!c->drain.started && j->verb != TELL_STOP) /* all events are in the traces already */
		return j->verb == TELL_STATUS ? answer_status(c, j) : answer(j->fd, '0', "%s", "");
	switch (j->verb) {
	case TELL_MARK:
		ask_all(c, j, j->name);
		return false;
	case TELL_FLUSH:
		ask_all(c, j, NULL);
		return false;
	case TELL_PAUSE:
		if (!__atomic_load_n(&c->run.started_ns, __ATOMIC_ACQUIRE))
			return answer(j->fd, '1', "recording has not begun yet (--start-after)");
		__atomic_store_n(&c->run.paused, 1, __ATOMIC_RELEASE);
		break;
	case TELL_RESUME:
		control_resume(c);
		break;
	case TELL_STOP:
		control_stop(c, "--tell");
		j->step = TELL_CLOSING;
		return false;
	case TELL_STATUS:
		break;
	case TELL_LEAK_CHECK:
		if (!scanner_ask(c->scanner, NULL, false))
			return answer(j->fd, '1',
				      "leak scans are off: --leak-check=no, or --sample; record "
				      "with --leak-check=auto");
		j->step = TELL_SCANNING;
		return false;
	case TELL_RETENTION:
		if (!scanner_ask(c->scanner, NULL, true))
			return answer(
				j->fd, '1',
				"retention scans are off: --retention=no, --leak-check=no, or "
				"--sample");
		j->step = TELL_SCANNING;
		return false;
	case TELL_RESIDENT:
		snprintf(label, sizeof label, "resident%s%s", *j->name ? ":" : "", j->name);
		if (!scanner_ask(c->scanner, label, false))
			return answer(j->fd, '1',
				      "leak scans, which measure resident memory, are off: "
				      "--leak-check=no, or --sample");
		j->step = TELL_SCANNING;
		return false;
	}
	j->request = requests_add(&c->requests, DRAIN_NONE, NULL, false);
	j->step = TELL_MERGING;
	return false;
}

/* Notes the answer of a scan that is over, and has what it found written. Returns true if the job
 * was answered. */
static bool scanned(struct control *c, struct tell_job *j)
{
	const char *said = scanner_answer(c->scanner);
	if (!said)
		return false;
	if (!*said)
		return answer(j->fd, '1', "none of the processes it records is still running");
	j->how = scanner_answered_all(c->scanner) ? '0' : TELL_NOT_DONE;
	j->said = ms_xstrdup(said);
	ask_all(c, j, NULL);
	return false;
}

/* Continues a job. Returns true if it was answered, so that the job is done. */
static bool go_on(struct control *c, struct tell_job *j)
{
	if (j->step == TELL_NEW && begin(c, j))
		return true;
	if (j->step == TELL_SCANNING && scanned(c, j))
		return true;
	if (j->step == TELL_CLOSING && !c->sessions && (c->symbols_done || c->symbols_late))
		return answer(j->fd, '0', "%s", "");
	const struct requests *r = &c->requests;
	bool done = j->step == TELL_MERGING   ? j->request <= r->merged
		    : j->step == TELL_WRITING ? j->request <= r->written
					      : false;
	if (!done)
		return false;
	if (j->verb == TELL_STATUS)
		return answer_status(c, j);
	for (const struct session *s = c->sessions; s; s = s->next)
		if (__atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE))
			return answer(j->fd, '1', "%s", s->out->err.text);
	return answer(j->fd, j->said ? j->how : '0', "%s", j->said ?: "");
}

void tell_turn(struct control *c)
{
	struct tell *t = &c->tell;
	requests_look(&c->requests, &c->drain, &c->writer);
	if (t->epoll >= 0)
		receive_requests(t);
	/* Jobs are processed one at a time. But a scan may take long, so the jobs behind it are
	 * processed while it runs, except further scans and stops. */
	bool scans = false;
	for (struct tell_job **at = &t->first, *j; (j = *at);) {
		bool waits = scans && (j->verb >= TELL_LEAK_CHECK || j->verb == TELL_STOP);
		if (!waits && go_on(c, j)) {
			*at = j->next;
			MS_FREE(j->said, j);
			continue;
		}
		scans |= j->step == TELL_SCANNING;
		if (!waits && j->step != TELL_SCANNING)
			break;
		at = &j->next;
	}
	requests_send(&c->requests, &c->drain);
}

void tell_over(struct control *c)
{
	for (const struct tell_job *j = c->tell.first; j; j = j->next)
		if (j->step == TELL_CLOSING)
			answer(j->fd, '0', "%s", "");
}

void tell_free(struct tell *t)
{
	for (struct tell_job *j; (j = t->first);) {
		t->first = j->next;
		close(j->fd);
		MS_FREE(j->said, j);
	}
	descriptor_close(t->listener);
	descriptor_close(t->event);
	descriptor_close(t->epoll);
}
