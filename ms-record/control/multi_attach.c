/* SPDX-License-Identifier: MIT
 * The processes of -p.
 */
#include <stdlib.h>
#include <string.h>

#include "ms-record/attach/attach.h"
#include "control.h"
#include "images.h"
#include "ms-record/session/info.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/program.h"
#include "standby.h"

/* ---- one of them ---- */

/* Returns the first process that has not failed. */
static const struct attach_process *first_good(const struct control *c)
{
	for (size_t i = 0; i < c->multi_attach.all.n; i++)
		if (!c->multi_attach.all.v[i].failed)
			return &c->multi_attach.all.v[i];
	return NULL;
}

static void select_first(struct control *c)
{
	const struct attach_process *p = first_good(c);
	if (!p && c->multi_attach.all.n)
		p = &c->multi_attach.all.v[0];
	if (!p)
		return;
	c->attach = p->attach;
	c->launch.pid = p->pid;
	c->launch.program = p->program;
}

/* Marks a process as not recordable. If the error does not begin with "cannot", it is only a
 * reason, so a message with the pid is made from it. */
static void refuse(struct control *c, struct attach_process *p, const struct ms_err *why)
{
	struct refusal *r = MS_PUSH(&c->multi_attach.refused);
	struct ms_err whole = {0};
	p->failed = true;
	if (!strncmp(why->text, "cannot ", 7))
		whole = *why;
	else
		ms_err_set(&whole, "cannot attach to process %d: %s", (int)p->pid, why->text);
	*r = (struct refusal){p->pid, ms_xstrdup(whole.text)};
}

/* Returns 0 if at least one process can be recorded. If only one process was named, `err` is set to
 * its error. */
static int settle(struct control *c, struct ms_err *err)
{
	struct multi_attach *s = &c->multi_attach;
	select_first(c);
	if (first_good(c))
		return 0;
	if (s->asked > 1)
		return ms_err_set(err, "none of the %zu processes could be attached to", s->asked);
	ms_err_set(err, "%s", s->refused.v[0].why);
	free(s->refused.v[--s->refused.n].why);
	return -1;
}

/* ---- looking ---- */

static int look_at(struct control *c, struct attach_process *p, struct ms_err *err)
{
	struct standby_attach *w = ms_xcalloc(1, sizeof *w);
	int standby = standby_attach_look(w, p->pid, c->opt, err);
	if (standby > 0) {
		char exe[PROCESS_EXE];
		process_exe_of(p->pid, exe);
		p->program = ms_xstrdup(exe);
		ms_one_line(p->program);
		p->standby = w;
		return 0;
	}
	free(w);
	if (standby < 0)
		return -1;
	int rc = attach_look(&p->attach, p->pid, false, &c->opt->session.hooks, c->opt->proc_root,
			     err);
	p->program = ms_xstrdup(attach_program(p->attach));
	ms_one_line(p->program); /* escapes control characters: the path is shown, and used in the
				    trace's name */
	return rc;
}

int multi_attach_look(struct control *c, struct ms_err *err)
{
	struct multi_attach *s = &c->multi_attach;
	s->asked = c->opt->pids.n;
	for (size_t i = 0; i < s->asked; i++) {
		struct ms_err why = {0};
		struct attach_process *p = MS_PUSH(&s->all);
		*p = (struct attach_process){.pid = c->opt->pids.v[i]};
		if (look_at(c, p, &why))
			refuse(c, p, &why);
	}
	return settle(c, err);
}

/* ---- mapping ---- */

/* Opens a separate trace for a process. */
static int own_file(struct control *c, const struct attach_process *p, struct ms_err *err)
{
	if (c->sessions) {
		int proc = process_folder(p->pid);
		char *name = info_name(proc, p->program ? p->program : "unknown");
		c->first = files_open_further(&c->files, &c->opt->files, name, p->pid,
					      c->next_image, err);
		free(name);
		descriptor_close(proc);
	} else if (!c->first) { /* the previous process was not recorded */
		files_done(&c->files);
		c->first = files_open(&c->files, &c->opt->files, p->program, p->pid, err);
	}
	return c->first ? 0 : -1;
}

static void give_up_file(struct control *c)
{
	if (c->first && !c->sessions)
		files_discard(&c->files);
	output_free(c->first);
	c->first = NULL;
}

static int prepare(struct control *c, struct attach_process *p, struct ms_err *err)
{
	if (p->standby)
		return standby_attach_prepare(c, p->standby, p->pid, err);
	return begin_attached(c, p->attach, c->first, 0, err) ? 0 : -1;
}

/* Examines a process again, after it has called exec. Returns false if it has not called exec, all
 * retries were made, or it cannot be attached to. */
static bool look_again(struct control *c, struct attach_process *p, uint64_t until_ns,
		       unsigned tries, struct ms_err *err)
{
	if (!p->attach || !attach_changed(p->attach) ||
	    (clock_mono() > until_ns && tries >= CHANGES_LEAST))
		return false;
	attach_free(p->attach);
	free(p->program);
	p->attach = NULL;
	p->program = NULL;
	*err = (struct ms_err){0};
	return look_at(c, p, err) == 0;
}

static int prepare_one(struct control *c, struct attach_process *p, struct ms_err *err)
{
	uint64_t until = clock_mono() + CHANGES_NS;
	unsigned tries = 0;
	do {
		if (!own_file(c, p, err) && !prepare(c, p, err))
			return 0;
		give_up_file(c);
	} while (look_again(c, p, until, tries++, err));
	return -1;
}

int multi_attach_prepare(struct control *c, struct ms_err *err)
{
	struct multi_attach *s = &c->multi_attach;
	if (s->all.n > 1 && !c->files.folder)
		return ms_err_set(err, "traces of several processes need a regular file, not '%s'",
				  c->files.path);
	for (size_t i = 0; i < s->all.n; i++) {
		struct ms_err why = {0};
		struct attach_process *p = &s->all.v[i];
		if (p->failed)
			continue;
		bool further = c->sessions != NULL;
		if (prepare_one(c, p, &why)) {
			refuse(c, p, &why);
			continue;
		}
		p->session = c->sessions;
		p->session->launched = !further;
	}
	return settle(c, err);
}

/* ---- recording ---- */

static void note_refusals(struct control *c)
{
	const struct multi_attach *s = &c->multi_attach;
	for (size_t i = 0; i < s->refused.n && s->asked > 1; i++) {
		const struct refusal *r = &s->refused.v[i];
		char exe[PROCESS_EXE];
		process_exe_of(r->pid, exe);
		images_missed(c, r->pid, 0, clock_mono(), exe, attach_reason(r->why));
	}
}

static int go(struct control *c, struct attach_process *p, struct ms_err *err)
{
	if (p->standby)
		session_wake(p->session);
	else if (attach_go(p->attach, p->session, err))
		return -1;
	files_begin(&c->files);
	begin_draining(c, p->session);
	return 0;
}

/* Starts recording a process, if several were named. If it called exec meanwhile, attaches again.
 * On failure, its trace is empty but complete. */
static int go_one_of(struct control *c, struct attach_process *p, struct ms_err *err)
{
	uint64_t until = clock_mono() + CHANGES_NS;
	for (unsigned tries = 0; go(c, p, err); tries++) {
		drain_add(&c->drain, p->session);
		control_end(c, p->session, SESSION_STOPPED, -1);
		if (!look_again(c, p, until, tries, err) || prepare_one(c, p, err))
			return -1;
		p->session = c->sessions;
	}
	return 0;
}

int multi_attach_go(struct control *c, struct ms_err *err)
{
	struct multi_attach *s = &c->multi_attach;
	size_t going = 0;
	for (size_t i = 0; i < s->all.n; i++) {
		struct ms_err why = {0};
		struct attach_process *p = &s->all.v[i];
		if (p->failed)
			continue;
		if (s->asked > 1 ? go_one_of(c, p, &why) : go(c, p, &why))
			refuse(c, p, &why);
		else
			going++;
	}
	if (!going)
		return settle(c, err);
	select_first(c);
	note_refusals(c);
	return 0;
}

bool multi_attach_changed(const struct control *c)
{
	const struct multi_attach *s = &c->multi_attach;
	return s->asked == 1 && s->all.n && s->all.v[0].attach &&
	       attach_changed(s->all.v[0].attach);
}

void multi_attach_detach(struct control *c)
{
	for (size_t i = 0; i < c->multi_attach.all.n; i++) {
		struct attach_process *p = &c->multi_attach.all.v[i];
		if (p->failed || p->standby)
			continue; /* not detached here: a standby process returns to standby when
				     its session ends */
		attach_detach(p->attach);
	}
}

bool multi_attach_ended(const struct control *c)
{
	for (size_t i = 0; i < c->multi_attach.all.n; i++) {
		const struct attach_process *p = &c->multi_attach.all.v[i];
		if (!p->failed &&
		    !(p->standby ? standby_attach_ended(p->standby) : attach_ended(p->attach)))
			return false;
	}
	return true;
}

void multi_attach_free(struct control *c)
{
	struct multi_attach *s = &c->multi_attach;
	for (size_t i = 0; i < s->all.n; i++) {
		attach_free(s->all.v[i].attach);
		if (s->all.v[i].standby)
			standby_attach_free(s->all.v[i].standby);
		MS_FREE(s->all.v[i].standby, s->all.v[i].program);
	}
	if (!c->attached)
		attach_free(c->attach);
	if (s->all.n)
		c->launch.program = NULL;
	for (size_t i = 0; i < s->refused.n; i++)
		free(s->refused.v[i].why);
	MS_FREE(s->all.v, s->refused.v);
}
