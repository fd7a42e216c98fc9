/* SPDX-License-Identifier: MIT
 * The images of a run: they begin, are over, and are remembered.
 */
#include "images.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control.h"
#include "libcommon/base/arena.h"
#include "ms-record/attach/attach.h"
#include "ms-record/base/elffile.h"
#include "ms-record/heap/heap.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/drain/recording.h"
#include "ms-record/code/attach_modules.h"
#include "ms-record/session/info.h"
#include "ms-record/code/interpreter.h"
#include "ms-record/code/modules.h"
#include "ms-record/session/samples.h"

/* ---- they begin ---- */

void begin_image(struct control *c, struct session *s, uint32_t parent)
{
	if (s->out == c->first)
		c->first = NULL;
	pause_init(s, &c->run);
	s->image = c->next_image++;
	s->mem->sample_seed += s->image; /* program images are sampled independently of each
					    other */
	s->parent_image = parent;
	memcpy(s->run_id, c->run_id, sizeof s->run_id);
	info_names(s, NULL);
	info_write(s);
	modules_read_maps(&s->modules);
	modules_back(&s->modules, (uint32_t)s->modules.maps.n);
	modules_hold_files(&s->modules);
	interpreter_find(&s->modules);
	recording_begin(s);
	if (s->modules.attached)
		attach_modules_look(&s->modules);
	else if (!s->standby)
		modules_list_frames(&s->modules);
	samples_take(s, false);
	s->next = c->sessions;
	c->sessions = s;
}

void begin_draining(struct control *c, struct session *s)
{
	drain_add(&c->drain, s);
	scanner_add(c->scanner, s);
}

struct session *begin_attached(struct control *c, struct attach *a, struct output *out,
			       uint32_t parent, struct ms_err *err)
{
	bool forks = c->files.folder &&
		     follow_wants(&c->opt->follow, FOLLOW_FORK, attach_program(a), "");
	if (attach_prepare(a, forks, err))
		return NULL;
	struct session *s =
		attach_begin(a, &c->opt->session, &c->writer, out, &c->buffer_used, &c->hooks, err);
	if (s)
		begin_image(c, s, parent);
	return s;
}

/* ---- they are over ---- */

static struct image *add_session(struct control *c, const struct session *s)
{
	struct image *i = MS_PUSH(&c->images);
	memset(i, 0, sizeof *i);
	i->name = ms_xstrdup(s->name);
	i->exe = ms_xstrdup(s->process.exe);
	i->file = ms_xstrdup(s->out->path);
	i->pid = s->process.pid;
	i->number = s->image;
	i->parent = s->parent_image;
	i->started_ns = s->clock.start_mono > c->start_ns ? s->clock.start_mono - c->start_ns : 0;
	i->bytes = __atomic_load_n(&s->out->bytes, __ATOMIC_RELAXED);
	i->duration_ns = s->end.ns;
	i->rss_at_peak = samples_rss_at(s, s->stats.peak_ns, &i->rss_ns);
	i->ending = s->ending;
	i->exit_status = s->end.status;
	i->scan = *scan_result(s->scan);
	i->stats = s->out->full ? s->out->written : s->stats;
	i->mid_run = s->heap->preexisting != NULL;
	i->late = session_mid_run(s);
	if (s->heap->preexisting)
		i->preexisting = preexisting_counts(s->heap->preexisting);
	i->sampled = s->opt->sample_bytes != 0;
	i->full = s->out->full;
	i->full_ns = s->out->written_ns;
	i->dropped_events = s->out->dropped_events;
	i->dropped_ns = s->out->dropped_ns;
	memcpy(i->damage, s->damage, sizeof i->damage);
	i->guest = s->guest;
	i->dev = s->out->dev;
	i->ino = s->out->ino;
	for (size_t k = 0; k < s->modules.files.n; k++)
		*MS_PUSH(&i->files) = s->modules.files.v[k];
	if (__atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE))
		i->error = ms_xstrdup(s->out->err.text);
	return i;
}

void images_settle(struct control *c, const struct session *s)
{
	struct image *i = add_session(c, s);
	i->kept = !s->may_drop || s->kept_for_sure || !session_trivial(s);
	const char *unhooked = images_unhooked(i);
	uint64_t elsewhere = images_elsewhere(i);
	if (elsewhere)
		snprintf(i->note, sizeof i->note,
			 "recorded in part: at least %ju blocks came from elsewhere (their frees "
			 "were recorded, their allocations were not)%s%.100s",
			 (uintmax_t)elsewhere, unhooked ? "; perhaps from " : "",
			 unhooked ? unhooked : "");
	else if (unhooked)
		snprintf(i->note, sizeof i->note, "%s: %s is not hooked",
			 i->kept ? "recorded in part" : "not recorded", unhooked);
	if (!i->kept) {
		if (!i->note[0])
			strcpy(i->note, "trivial");
		*(unhooked ? &c->missed : &c->trivial) += 1;
		files_remove(s->out);
		limit_give_back(&c->writer.limit, i->bytes);
	} else if (!s->launched) {
		c->kept++;
	}
	files_index(&c->files, i);
	/* An attached process is not followed through exec, so its new program is not listed. */
	bool hidden = s->exec.program && !s->exec.announced && s->ending == SESSION_EXECED &&
		      !s->end.successor && !c->attached;
	if (hidden && (s->process.pid == c->launch.pid ||
		       follow_wants(&c->opt->follow, FOLLOW_EXEC, s->exec.program,
				    basename(s->exec.program))))
		images_missed(c, s->process.pid, s->image + 1, s->exec.ns, s->exec.program,
			      s->exec.why);
}

void images_missed(struct control *c, pid_t pid, uint32_t parent, uint64_t mono_ns, const char *exe,
		   const char *why)
{
	struct image *i = MS_PUSH(&c->images);
	memset(i, 0, sizeof *i);
	i->name = info_name(-1, exe); /* the name as in file names and reports */
	i->exe = ms_xstrdup(exe);
	i->pid = pid;
	i->number = c->next_image++;
	i->parent = parent;
	i->started_ns = mono_ns > c->start_ns ? mono_ns - c->start_ns : 0;
	snprintf(i->note, sizeof i->note, "not recorded: %s", why);
	c->missed++;
	files_index(&c->files, i);
}

void images_free(struct control *c)
{
	for (size_t i = 0; i < c->images.n; i++)
		MS_FREE(c->images.v[i].name, c->images.v[i].exe, c->images.v[i].file,
			c->images.v[i].files.v, c->images.v[i].error);
	free(c->images.v);
}

const char *images_lost(const struct image *m)
{
	struct stat st;
	if (!m->kept || !m->ino || m->error)
		return NULL;
	if (stat(m->file, &st))
		return "removed";
	return st.st_dev == m->dev && st.st_ino == m->ino ? NULL : "replaced by another file";
}

bool images_own_malloc(const struct image *m)
{
	struct elffile_malloc its;
	int fd = open(m->exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool yes = elffile_malloc(fd, &its) && its.malloc;
	descriptor_close(fd);
	return yes;
}

uint64_t images_elsewhere(const struct image *m)
{
	uint64_t few = m->stats.paused_allocations + SESSION_FEW_UNKNOWN;
	return !m->late && !m->sampled && m->stats.unknown_frees > few
		       ? m->stats.unknown_frees - m->stats.paused_allocations
		       : 0;
}

const char *images_unhooked(const struct image *m)
{
	return m->guest.missed[0] ? m->guest.missed : NULL;
}

const struct image *images_first(const struct control *c)
{
	for (size_t i = 0; i < c->images.n; i++)
		if (c->images.v[i].number == 0 && !images_lost(&c->images.v[i]))
			return &c->images.v[i];
	return NULL;
}
