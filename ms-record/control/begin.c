/* SPDX-License-Identifier: MIT
 * Sessions begin.
 */
#include "begin.h"

#include <string.h>

#include "control.h"
#include "ms-record/attach/attach.h"
#include "ms-record/drain/recording.h"
#include "ms-record/session/attach_modules.h"
#include "ms-record/session/info.h"
#include "ms-record/session/modules.h"
#include "ms-record/session/samples.h"

void begin_image(struct control *c, struct session *s, uint32_t parent)
{
	pause_init(s, &c->run);
	s->image = c->next_image++;
	s->mem->sample_seed += s->image; /* images are sampled independently of each other */
	s->parent_image = parent;
	s->file = strdup(s->out->path);
	memcpy(s->run_id, c->run_id, sizeof s->run_id);
	info_names(s, NULL);
	info_write(s);
	modules_read_maps(s);
}

void begin_watching(struct control *c, struct session *s)
{
	samples_take(s, false);
	s->next = c->sessions;
	c->sessions = s;
}

struct session *begin_attached(struct control *c, uint32_t parent, struct ms_err *err)
{
	struct attach *a = c->attach;
	bool forks = c->files.folder && follow_fork(&c->opt->follow, attach_program(a), "");
	if (attach_prepare(a, forks, err))
		return NULL;
	struct session *s = attach_begin(a, &c->opt->session, &c->writer, c->first, &c->buffer_used,
					 &c->hooks, err);
	if (!s)
		return NULL;
	recording_begin(s);
	files_begin(&c->files);
	c->first = NULL;
	begin_image(c, s, parent);
	attach_modules_look(s);
	begin_watching(c, s);
	return s;
}
