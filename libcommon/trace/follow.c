/* SPDX-License-Identifier: MIT
 * Follows a trace while it grows.
 */
#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "format/trace.h"

#define CHECK_NS 200000000u
#define BATCHES 16u /* batches applied between two checks of the clock */

/* ---- opening ---- */

/* Opens the recording and sets *fd to the descriptor of its file. Returns NULL with `err` set on
 * failure. */
static struct ms_recording *open_file(const char *path, int *fd, struct ms_err *err)
{
	struct stat st;
	struct ms_recording *rec = NULL;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0) {
		ms_err_sys(err, "cannot open '%s'", path);
		return NULL;
	}
	if (fstat(*fd, &st) == 0 && S_ISDIR(st.st_mode))
		ms_err_set(err, "cannot read '%s': it is a folder; name a trace in it", path);
	else if (!S_ISREG(st.st_mode))
		ms_err_set(err, "cannot follow '%s': it is not a regular file", path);
	else
		rec = ms_recording_open_fd(*fd, path, NULL, 0, err);
	if (!rec)
		close(*fd);
	return rec;
}

/* Switches to the trace at `path` and takes ownership of `path`. Returns 0, or -1 with `err` set
 * and nothing changed. */
static int go_to(struct ms_follow *f, char *path, void (*leaving)(void *arg), void *arg,
		 struct ms_err *err)
{
	int fd;
	struct ms_recording *rec = open_file(path, &fd, err);
	if (!rec)
		return -1;
	if (leaving)
		leaving(arg);
	ms_recording_close(f->rec);
	if (path != f->path)
		free(f->path);
	f->path = path;
	f->rec = rec;
	f->fd = fd;
	f->file = MS_FILE_THERE;
	f->next_check_ns = 0;
	f->same_boot = -1;
	f->caught_up = false;
	f->waits_for[0] = 0;
	return 0;
}

struct ms_follow *ms_follow_open(const char *path, struct ms_err *err)
{
	struct ms_follow *f = ms_xcalloc(1, sizeof *f);
	f->path = ms_xstrdup(path);
	if (f->path && go_to(f, f->path, NULL, NULL, err) == 0)
		return f;
	ms_follow_close(f);
	return NULL;
}

int ms_follow_again(struct ms_follow *f, void (*leaving)(void *arg), void *arg, struct ms_err *err)
{
	return go_to(f, f->path, leaving, arg, err);
}

void ms_follow_close(struct ms_follow *f)
{
	if (!f)
		return;
	ms_recording_close(f->rec);
	MS_FREE(f->path, f);
}

/* ---- the file ---- */

static void check_file(struct ms_follow *f)
{
	struct stat open_one, named;
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
	if (now < f->next_check_ns || f->file == MS_FILE_CUT || fstat(f->fd, &open_one) != 0)
		return;
	f->next_check_ns = now + CHECK_NS;
	f->size = (uint64_t)open_one.st_size;
	/* on a full disk the writer truncates an incomplete block; this is harmless, as the block
	 * was not applied */
	if ((uint64_t)open_one.st_size < ms_recording_offset(f->rec))
		f->file = MS_FILE_CUT;
	else if (stat(f->path, &named) != 0)
		f->file = errno == ENOENT ? MS_FILE_REMOVED : f->file;
	else if (named.st_dev != open_one.st_dev || named.st_ino != open_one.st_ino)
		f->file = MS_FILE_REPLACED;
	else
		f->file = MS_FILE_THERE;
}

int ms_follow_step(struct ms_follow *f, uint64_t budget_ns, struct ms_err *err)
{
	uint64_t until = ms_clock_ns(CLOCK_MONOTONIC) + budget_ns;
	check_file(f);
	while (f->file != MS_FILE_CUT) {
		for (unsigned i = 0; i < BATCHES; i++) {
			int rc = ms_recording_step(f->rec, err);
			f->caught_up = rc == 0;
			if (rc <= 0)
				return rc;
		}
		if (ms_clock_ns(CLOCK_MONOTONIC) >= until)
			return 1;
	}
	f->caught_up = true;
	return 0;
}

/* ---- exec ---- */

bool ms_follow_successor(struct ms_follow *f, void (*leaving)(void *arg), void *arg)
{
	const struct ms_recording *t = f->rec;
	const char *next = t->has_end ? t->end.text[MS_END_SUCCESSOR] : NULL;
	const char *slash = strrchr(f->path, '/');
	struct ms_err why = {0};
	char *path;
	if (!next || !next[0] || !f->caught_up)
		return false;
	if (asprintf(&path, "%.*s%s", slash ? (int)(slash - f->path) + 1 : 0, f->path, next) < 0)
		return false;
	if (go_to(f, path, leaving, arg, &why) != 0) {
		snprintf(f->waits_for, sizeof f->waits_for, "%s", path);
		free(path);
		return false;
	}
	f->images++;
	return true;
}

/* ---- time ---- */

uint64_t ms_follow_reached(const struct ms_follow *f)
{
	const struct ms_recording *t = f->rec;
	if (f->caught_up)
		return ms_recording_length(t);
	return t->replay.last_tick * t->head->tick_ns;
}

/* Tells whether the trace was recorded during this boot. It stores the boot id as bytes; the kernel
 * prints it in hex. */
static bool of_this_boot(const struct ms_recording *t)
{
	char text[64] = "";
	const char *recorded = t->info.text[MS_INFO_BOOT_ID];
	uint64_t size = t->info.number[MS_INFO_BOOT_ID], n = 0;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	for (const char *p = text; recorded && *p && n < size; p++) {
		unsigned byte;
		if (*p == '-')
			continue;
		if (sscanf(p, "%2x", &byte) != 1 || (unsigned char)recorded[n] != byte)
			return false;
		n++;
		p++;
	}
	return size && n == size;
}

uint64_t ms_follow_lag(struct ms_follow *f)
{
	const struct ms_recording *t = f->rec;
	if (t->state != MS_TRACE_GROWING || !ms_has(&t->info, MS_INFO_START_MONO))
		return UINT64_MAX;
	if (f->same_boot < 0)
		f->same_boot = of_this_boot(t);
	if (!f->same_boot)
		return UINT64_MAX;
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC),
		 then = t->info.number[MS_INFO_START_MONO] + ms_follow_reached(f);
	return now > then ? now - then : 0;
}
