/* SPDX-License-Identifier: MIT
 * Lets requests wait for their answers.
 *
 * The child works for the first due request that needs ms-report. Its result answers all requests
 * for the same, including those of the next second. Its snapshot is reused in the same way, so that
 * requests for different formats within a second show one moment.
 */
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "serve_private.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/io.h"

/* longest time that a request waits for the names of functions */
#define NAMES_NS UINT64_C(2000000000)

static uint64_t clock_now(void)
{
	return ms_clock_ns(CLOCK_MONOTONIC);
}

void asking_init(struct asking *a)
{
	*a = (struct asking){.image = -1, .child = CHILD_NONE};
	for (int i = 0; i < ANSWER_KINDS; i++)
		a->answers[i].fd = -1;
}

void asking_close(struct asking *a)
{
	child_drop(&a->child);
	ms_close(a->image);
	for (int i = 0; i < ANSWER_KINDS; i++)
		ms_close(a->answers[i].fd);
	asking_init(a);
}

/* ---- those that wait ---- */

static void begin(struct serve *s, struct ask *q)
{
	struct ask **last = &s->asking.first;
	while (*last)
		last = &(*last)->next;
	q->state = ASK_WAITS;
	q->next = NULL;
	*last = q;
}

static void end(struct serve *s, struct ask *q, enum ask_state state)
{
	struct ask **at = &s->asking.first;
	while (*at && *at != q)
		at = &(*at)->next;
	if (*at)
		*at = q->next;
	q->state = state;
	ms_close(q->base);
	q->base = -1;
	if (state != ASK_NONE)
		request_wake(q->of);
}

void ask_give_up(struct serve *s, struct ask *q)
{
	if (q->state == ASK_WAITS)
		end(s, q, ASK_FAILED);
}

void ask_drop(struct serve *s, struct ask *q)
{
	if (q->state == ASK_WAITS)
		end(s, q, ASK_NONE);
	ms_close(q->fd);
	q->fd = -1;
}

static void fail(struct serve *s, struct ask *q, const char *why)
{
	snprintf(q->error, sizeof q->error, "%.511s", why);
	end(s, q, ASK_FAILED);
}

/* ---- names ---- */

void ask_names(struct serve *s, struct ask *q)
{
	bool pending;
	ms_names_answers(s->trace->names, &pending);
	/* while waiting, further names may be requested */
	q->due_ns = q->due_ns ? q->due_ns : clock_now() + NAMES_NS;
	if (!pending || clock_now() >= q->due_ns)
		return;
	q->names = true;
	begin(s, q);
}

/* ---- ms-report ---- */

static bool is_fresh(uint64_t ns)
{
	return clock_now() - ns < SERVE_KEEP_NS;
}

/* Duplicates a descriptor for another reader of the file. */
static int again(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

bool ask_report(struct serve *s, struct ask *q, enum answer_kind kind, unsigned seconds)
{
	const struct answer *kept = &s->asking.answers[kind];
	unsigned waiting = 0;
	q->kind = kind;
	if (!seconds && kept->fd >= 0 && is_fresh(kept->ns)) {
		q->fd = again(kept->fd);
		q->state = ASK_DONE;
		return true;
	}
	/* counts the waiting requests of the same kind: with or without a time span */
	for (const struct ask *w = s->asking.first; w; w = w->next)
		waiting += !w->names && w->wants_base == (seconds > 0);
	if (waiting >= SERVE_WAITING)
		return false;
	q->wants_base = seconds > 0;
	q->due_ns = q->wants_base ? clock_now() + seconds * UINT64_C(1000000000) : 0;
	begin(s, q);
	return true;
}

/* Tells whether the child's result is for this request. */
static bool is_for(const struct ask *q, const struct child *c)
{
	bool begins = q->wants_base && q->base < 0;
	if (q->names || q->state != ASK_WAITS)
		return false;
	if (c->snapshot || c->base >= 0)
		return c->snapshot ? begins : q->base == c->base;
	return !q->wants_base && q->kind == c->kind;
}

/* Stores the reason why the child failed: its own message, else its status. */
static void why_failed(const struct child *c, int status, char *text, size_t room)
{
	ssize_t n = pread(c->errors, text, room - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (!text[0])
		snprintf(text, room, "ms-report %s %d",
			 WIFSIGNALED(status) ? "was killed by signal" : "ended with status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Passes the result of the ended child to all requests that wait for it. */
static void take_answer(struct serve *s, int status)
{
	struct asking *a = &s->asking;
	struct child *c = &a->child;
	char why[400];
	struct answer *kept = c->snapshot || c->base >= 0 ? NULL : &a->answers[c->kind];
	if (status != 0)
		why_failed(c, status, why, sizeof why);
	else if (c->snapshot_ns == c->start_ns) {
		ms_close(a->image);
		a->image = again(c->image);
		a->image_ns = c->start_ns;
	}
	for (struct ask *q = a->first, *next; q; q = next) {
		next = q->next;
		if (!is_for(q, c))
			continue;
		if (status != 0) {
			fail(s, q, why);
		} else if (c->snapshot) {
			q->base = again(c->image);
		} else {
			q->fd = again(c->out);
			end(s, q, ASK_DONE);
		}
	}
	if (status == 0 && kept) {
		ms_close(kept->fd);
		kept->fd = again(c->out);
		kept->ns = c->start_ns;
	}
	child_drop(c);
}

/* Starts the child for the next request. */
static void start(struct serve *s)
{
	struct asking *a = &s->asking;
	struct child *c = &a->child;
	struct ms_err err = {0};
	struct ask *q = a->first;
	uint64_t now = clock_now();
	while (q && (q->names || (q->due_ns > now && !(q->wants_base && q->base < 0))))
		q = q->next;
	/* while a snapshot is being saved, a forked child would wait for SQLite's locks */
	if (!q || save_works(s->trace->save))
		return;
	/* a report of changes until now needs a new snapshot */
	bool have = a->image >= 0 && is_fresh(a->image_ns) && q->base < 0;
	c->kind = q->kind;
	c->snapshot = q->wants_base && q->base < 0;
	c->base = q->base;
	if (c->snapshot && have) {
		q->base = again(a->image);
		return;
	}
	if (child_start(c, s, have ? a->image : -1, &err) == 0)
		c->snapshot_ns = have ? a->image_ns : c->start_ns;
	else
		fail(s, q, err.text);
}

/* Frees answers that are too old to be reused. */
static void forget(struct asking *a)
{
	if (a->image >= 0 && !is_fresh(a->image_ns)) {
		ms_close(a->image);
		a->image = -1;
	}
	for (struct answer *x = a->answers; x < a->answers + ANSWER_KINDS; x++)
		if (x->fd >= 0 && !is_fresh(x->ns)) {
			ms_close(x->fd);
			x->fd = -1;
		}
}

bool asking_work(struct serve *s)
{
	struct asking *a = &s->asking;
	bool pending;
	int status;
	if (a->child.pid && child_ended(&a->child, &status))
		take_answer(s, status);
	forget(a);
	if (!a->child.pid)
		start(s);
	ms_names_answers(s->trace->names, &pending);
	for (struct ask *q = a->first, *next; q; q = next) {
		next = q->next;
		if (q->names && (!pending || clock_now() >= q->due_ns))
			end(s, q, ASK_DONE);
	}
	return a->first != NULL;
}
