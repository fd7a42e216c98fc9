/* SPDX-License-Identifier: MIT
 * Writes a snapshot in a second thread.
 */
#include "trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/snapshot/snapshot.h"
#include "format/trace.h"
#include "libcommon/base/thread.h"

#define STACK_BYTES (8u << 20) /* stack size that suffices to look up symbols */

struct save {
	pthread_t thread;
	bool running;
	_Atomic bool ended; /* set by the thread as its last write */
	const struct ms_wrappers *wrappers;
	char trace[4096], point[64], file[4200];
	char result[512];
};

struct save *save_new(const struct ms_wrappers *wrappers)
{
	struct save *s = ms_xcalloc(1, sizeof *s);
	s->wrappers = wrappers;
	return s;
}

static int write_snapshot(struct save *s, struct ms_err *err)
{
	const char *traces[] = {s->trace}, *points[] = {s->point};
	struct ms_build_options opt = {.points = points, .point_count = 1, .wrappers = s->wrappers};
	size_t size = 0;
	sqlite3 *db = ms_snapshot_build(traces, 1, &opt, NULL, err);
	unsigned char *image = db ? ms_snapshot_image(db, &size, err) : NULL;
	int rc = image ? ms_snapshot_put(s->file, image, size, err) : -1;
	sqlite3_free(image);
	sqlite3_close(db);
	return rc;
}

bool save_works(const struct save *s)
{
	return s->running && !s->ended;
}

int save_model(struct trace *t, const struct ms_wrappers *wrappers, int fd, struct ms_err *err)
{
	struct ms_recording *rec = t->follow->rec;
	struct ms_build_options opt = {.wrappers = wrappers};
	size_t size = 0;
	/* the limits of a cut trace apply only when it is read from its file */
	bool cut = ms_has(&rec->info, MS_INFO_CUT_FROM) || ms_has(&rec->info, MS_INFO_CUT_TO);
	const char *path = t->follow->path;
	sqlite3 *db =
		cut ? ms_snapshot_build(&path, 1, &opt, NULL, err) : ms_snapshot_of(rec, &opt, err);
	unsigned char *image = db ? ms_snapshot_image(db, &size, err) : NULL;
	if (!image)
		return -1;
	return ms_write_all(fd, image, size) == 0 ? 0 : ms_err_sys(err, "cannot write");
}

static void *work(void *arg)
{
	struct save *s = arg;
	struct ms_err err = {0};
	if (write_snapshot(s, &err) == 0)
		snprintf(s->result, sizeof s->result, "wrote %.400s", s->file);
	else
		snprintf(s->result, sizeof s->result, "%.500s", err.text);
	s->ended = true;
	return NULL;
}

bool save_begin(struct save *s, const char *trace, const char *point)
{
	if (s->running)
		return false;
	snprintf(s->trace, sizeof s->trace, "%s", trace);
	snprintf(s->point, sizeof s->point, "%s", point);
	snprintf(s->file, sizeof s->file, "%s.%s.db", trace, point);
	s->running = ms_thread_start(&s->thread, STACK_BYTES, work, s) == 0;
	return s->running;
}

bool save_ended(struct save *s, char *text, size_t room)
{
	if (!s->running || !s->ended)
		return false;
	pthread_join(s->thread, NULL);
	s->running = false;
	s->ended = false;
	snprintf(text, room, "%s", s->result);
	return true;
}

void save_free(struct save *s)
{
	if (!s)
		return;
	if (s->running)
		pthread_join(s->thread, NULL);
	free(s);
}
