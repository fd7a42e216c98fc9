/* SPDX-License-Identifier: MIT
 * Writes the trace of --poll: the process, its samples and its end, but no events.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/control/files.h"
#include "format/trace.h"
#include "ms-record/session/info.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/control/control_options.h"
#include "poll.h"
#include "ms-record/session/samples.h"
#include "ms-record/session/session.h"
#include "ms-record/write/encode.h"

/* Limits of a block, in samples and in age, so that readers see the trace grow. */
#define BLOCK_SAMPLES 1000u
#define BLOCK_NS UINT64_C(1000000000)

struct poll_trace {
	struct files files;
	struct output *out;
	struct session *session; /* only its identity is used */
	struct batch *batch;     /* holds the samples not written yet */
	unsigned samples;
	struct encoders encoders;
	struct ms_err err;
};

/* Returns a session that only identifies the process, and writes the identity as a recording
 * does. */
static struct session *identify(const struct poll *p, struct batch *b)
{
	struct session *s = ms_xcalloc(1, sizeof *s);
	s->opt = &p->rec->session;
	s->process.pid = p->pid_out;
	s->process.folder = p->taker.proc.folder;
	s->process.pidfd = -1;
	s->open.batch = b;
	s->who = identity_new();
	s->clock.start_mono = p->start_mono;
	s->clock.start_wall = p->start_wall;
	if (getrandom(s->run_id, sizeof s->run_id, 0) != sizeof s->run_id)
		memcpy(s->run_id, &p->start_mono, sizeof p->start_mono);
	info_names(s, NULL);
	info_write(s);
	return s;
}

static void write_batch(struct poll_trace *t)
{
	if (!t->err.text[0])
		encode_batch(&t->encoders, t->batch, &t->err);
	batch_reset(t->batch);
	t->samples = 0;
}

int poll_trace_open(struct poll *p, struct ms_err *err)
{
	if (!p->rec->files.output)
		return 0;
	struct poll_trace *t = p->trace = ms_xcalloc(1, sizeof *t);
	t->batch = batch_new();
	t->session = identify(p, t->batch);
	const char *exe = t->session->process.exe;
	if (!strcmp(p->rec->files.output, "-")) {
		t->out = output_new(STDOUT_FILENO, "-");
		t->out->keep_fd_open = true;
	} else if (!(t->out = files_open(&t->files, &p->rec->files, exe, p->pid_out, err))) {
		return -1;
	}
	struct output *o = t->batch->out = t->out;
	ms_trace_lock(o->fd);
	files_begin(&t->files);
	o->level = p->rec->files.level;
	o->trace = output_begin(o, o->fd, err);
	if (!o->trace)
		return -1;
	write_batch(t);
	if (!t->err.text[0])
		return 0;
	*err = t->err;
	return -1;
}

void poll_trace_sample(struct poll *p, const struct ms_proc_sample *s)
{
	struct poll_trace *t = p->trace;
	if (!t || t->err.text[0])
		return;
	samples_put(&t->batch->samples, s, true);
	struct batch *b = t->batch;
	b->first_ns = t->samples++ ? b->first_ns : s->ns;
	b->last_ns = s->ns;
	if (t->samples == BLOCK_SAMPLES ||
	    b->last_ns - b->first_ns + p->rec->interval_ns >= BLOCK_NS)
		write_batch(t);
	p->unread |= t->err.text[0] && !strcmp(p->rec->files.output, "-");
}

static void write_end(struct poll *p, struct poll_trace *t)
{
	struct ms_record_writer *w = batch_record(&t->batch->end, 9 * 16);
	ms_record_number(w, MS_END_TIME, p->duration_ns);
	ms_record_number(w, MS_END_REASON, p->end == POLL_ENDED ? MS_ENDED_EXIT : MS_ENDED_STOP);
	if (p->end == POLL_ENDED && p->status >= 0 && WIFEXITED(p->status))
		ms_record_number(w, MS_END_STATUS, (uint64_t)WEXITSTATUS(p->status));
	else if (p->end == POLL_ENDED && p->status >= 0 && WIFSIGNALED(p->status))
		ms_record_number(w, MS_END_SIGNAL, (uint64_t)WTERMSIG(p->status));
	ms_record_number(w, MS_END_EVENTS, 0);
	if (p->peak_rss.known)
		ms_record_number(w, MS_END_PEAK_RSS, p->peak_rss.bytes);
	ms_record_end(w);
	t->batch->first_ns = t->batch->last_ns = p->duration_ns;
	write_batch(t);
}

int poll_trace_close(struct poll *p, struct ms_err *err)
{
	struct poll_trace *t = p->trace;
	int rc = 0;
	if (!t)
		return 0;
	if (t->samples)
		write_batch(t);
	if (t->out && t->out->trace)
		write_end(p, t);
	if (t->out) {
		if (t->err.text[0]) {
			rc = ms_err_set(err, "'%s': %s", t->out->path, t->err.text);
			err->pipe = t->err.pipe;
		} else if (t->out->ino &&
			   !ms_dest_is(t->out->folder, t->out->name, t->out->dev, t->out->ino))
			rc = ms_err_set(err,
					"'%s' was removed or replaced while it was being written",
					t->out->path);
		output_free(t->out);
	}
	files_done(&t->files);
	encoders_free(&t->encoders);
	batch_free(t->batch);
	identity_unref(t->session->who);
	MS_FREE(t->session->process.exe, t->session->name, t->session, t);
	p->trace = NULL;
	return rc;
}
