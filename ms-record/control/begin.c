/* SPDX-License-Identifier: MIT
 * Sessions begin.
 */
#include "begin.h"

#include <string.h>

#include "control.h"
#include "ms-record/attach/attach.h"
#include "ms-record/drain/recording.h"
#include "ms-record/session/attach_modules.h"
#include "ms-record/session/frames_list.h"
#include "ms-record/session/info.h"
#include "ms-record/session/modules.h"
#include "ms-record/session/samples.h"

void begin_image(struct control *c, struct session *s, uint32_t parent)
{
	files_begin(&c->files);
	if (s->out == c->first)
		c->first = NULL;
	pause_init(s, &c->run);
	s->image = c->next_image++;
	s->mem->sample_seed += s->image; /* images are sampled independently of each other */
	s->parent_image = parent;
	s->file = strdup(s->out->path);
	memcpy(s->run_id, c->run_id, sizeof s->run_id);
	info_names(s, NULL);
	info_write(s);
	modules_read_maps(s);
	recording_begin(s);
	if (s->attach_modules)
		attach_modules_look(s);
	else if (!s->standby)
		frames_list_all(s);
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
	bool forks = c->files.folder && follow_fork(&c->opt->follow, attach_program(a), "");
	if (attach_prepare(a, forks, err))
		return NULL;
	struct session *s =
		attach_begin(a, &c->opt->session, &c->writer, out, &c->buffer_used, &c->hooks, err);
	if (s)
		begin_image(c, s, parent);
	return s;
}
