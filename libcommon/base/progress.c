/* SPDX-License-Identifier: MIT
 * Shows the progress of long work in one line on a terminal.
 *
 * The working thread only stores its progress. A separate thread draws the line, so that it keeps
 * changing during one long step. Without a terminal there is no such thread.
 */
#include "progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "thread.h"
#include "units.h"

#define FIRST_NS 1000000000u
#define EVERY_NS 200000000u
#define LEFT_NS 500000000u /* with less work done, the time left cannot be estimated */
#define STACK_BYTES (128u << 10)

/* Holds the state of the line, under `lock`; only `on` is set before there is a second thread. */
static struct {
	bool on, below, threaded, drawn;
	uint64_t due_ns; /* earliest time at which the line is shown */
	char what[60];   /* description of the work; empty = nothing is shown */
	const char *unit;
	char detail[40];          /* printable */
	uint64_t done, total;     /* amount of work done and in all */
	uint64_t began_ns, first; /* start of the work, and the amount already done then */
} line;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	return ms_clock_ns(CLOCK_MONOTONIC);
}

static int columns(void)
{
	struct winsize w;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col : 80;
}

/* Writes ": 43 % of 1.2 GiB" or ": 43 % of 1,204 traces". If the total is unknown, only the amount
 * done, if any. */
static void add_amount(char *to, size_t room)
{
	char n[MS_UNIT_BUF], share[20] = "";
	uint64_t of = line.total ? line.total : line.done;
	if (line.total)
		snprintf(share, sizeof share, "%.0f %% of ",
			 100.0 * (double)line.done / (double)line.total);
	if (of)
		snprintf(to, room, ": %s%s%s%s", share,
			 line.unit ? ms_format_count(n, of) : ms_format_size(n, of),
			 line.unit ? " " : "", line.unit ? line.unit : "");
}

/* Writes ", 5 s left", extrapolated from the time so far; ", for 5 s" if the total is unknown. */
static void add_time(char *to, size_t room, uint64_t spent_ns)
{
	char n[MS_UNIT_BUF];
	double seconds = (double)spent_ns / 1e9;
	if (spent_ns < LEFT_NS || (line.total && line.done <= line.first))
		return;
	if (line.total)
		seconds *= (double)(line.total - line.done) / (double)(line.done - line.first);
	if (seconds < 60)
		snprintf(n, sizeof n, "%.0f s", seconds);
	else
		ms_format_duration(n, (uint64_t)seconds * 1000000000u);
	snprintf(to, room, line.total ? ", %s left" : ", for %s", n);
}

static void draw(uint64_t now)
{
	char text[320], share[120] = "", left[60] = "";
	add_amount(share, sizeof share);
	add_time(left, sizeof left, now - line.began_ns);
	snprintf(text, sizeof text, "%s%s%s%s%s", line.what, share, line.detail[0] ? ", in " : "",
		 line.detail, left);
	/* If another program has printed an unfinished line, keep it: these blanks wrap to the next
	 * line unless the cursor is at the beginning of one. */
	if (!line.drawn && line.below)
		fprintf(stderr, "%*s", columns() - 1, "");
	fprintf(stderr, "\r\033[K%.*s", columns() - 1, text);
	fflush(stderr);
	line.drawn = true;
}

static void *draw_on(void *arg)
{
	struct timespec step = {.tv_nsec = EVERY_NS};
	for (;;) {
		nanosleep(&step, NULL);
		pthread_mutex_lock(&lock);
		uint64_t now = now_ns();
		if (line.what[0] && now >= line.due_ns)
			draw(now);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

void ms_progress_start(bool wanted)
{
	line.on = wanted && isatty(STDERR_FILENO);
	line.due_ns = now_ns() + FIRST_NS;
	if (line.on)
		atexit(ms_progress_hide);
}

void ms_progress_start_below(bool wanted)
{
	ms_progress_start(wanted);
	line.below = true;
}

bool ms_progress_on(void)
{
	return line.on;
}

/* Stores the detail with unprintable characters of file names replaced, as they could control the
 * terminal. */
static void take_detail(const char *s)
{
	size_t n = 0;
	for (; s && s[n] && n + 1 < sizeof line.detail; n++)
		line.detail[n] = s[n] >= ' ' && s[n] < 0x7f ? s[n] : '?';
	line.detail[n] = '\0';
}

static void take_work(const char *what, uint64_t done, uint64_t total)
{
	if (strncmp(line.what, what, sizeof line.what - 1) != 0 || done < line.done) {
		line.began_ns = now_ns();
		line.first = done;
	}
	snprintf(line.what, sizeof line.what, "%s", what);
	line.done = total && done > total ? total : done;
	line.total = total;
}

void ms_progress(const char *what, const char *unit, uint64_t done, uint64_t total,
		 const char *detail)
{
	pthread_t thread;
	if (!line.on)
		return;
	pthread_mutex_lock(&lock);
	take_work(what, done, total);
	line.unit = unit;
	take_detail(detail);
	bool begin = !line.threaded;
	line.threaded = true;
	pthread_mutex_unlock(&lock);
	if (begin && ms_thread_start(&thread, STACK_BYTES, draw_on, NULL) == 0)
		pthread_detach(thread);
}

void ms_progress_hide(void)
{
	pthread_mutex_lock(&lock);
	if (line.drawn)
		fputs("\r\033[K", stderr);
	line.drawn = false;
	line.what[0] = '\0';
	line.due_ns = line.on ? now_ns() + FIRST_NS : 0;
	pthread_mutex_unlock(&lock);
}
