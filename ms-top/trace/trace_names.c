/* SPDX-License-Identifier: MIT
 * Names call stacks.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"
#include "libcommon/base/path.h"
#include "format/trace.h"

bool trace_names_came(struct trace *t, uint64_t *seen)
{
	bool pending;
	uint64_t now, before = *seen;
	while (now = ms_names_answers(t->names, &pending), pending)
		usleep(1000);
	*seen = now;
	return now != before;
}

static struct trace_frame logical_frame(const struct trace *t, uint32_t number,
					struct ms_frame_names names, size_t part)
{
	static const struct ms_named unknown;
	const struct ms_recording *rec = t->follow->rec;
	const struct ms_frame *f = &rec->frames.v[number < rec->frames.n ? number : 0];
	const struct ms_row *m = ms_module_of(rec, f->module);
	const struct ms_named *n = part < names.n ? &names.v[part] : &unknown;
	const char *note = number ? ms_frame_note(f) : "truncated",
		   *cwd = rec->info.text[MS_INFO_CWD];
	return (struct trace_frame){.function = t->full_names && n->at.function ? n->at.function
										: n->brief,
				    .full = n->at.function ? n->at.function : "",
				    .file = n->at.file,
				    .path = ms_path_below(n->at.file, cwd, cwd ? strlen(cwd) : 0),
				    .line = n->at.line,
				    .module = ms_base_name(m ? m->text[MS_MODULE_PATH - 2] : NULL),
				    .address = f->address - (m ? m->number[MS_MODULE_BIAS] : 0),
				    .note = note,
				    .inlined = n->at.inlined,
				    .runtime = n->runtime || (note && n != &unknown),
				    .wrapper = n->wrapper,
				    .pending = names.n == 0};
}

size_t trace_parts(const struct trace *t, uint32_t frame)
{
	size_t n = ms_names_of(t->names, t->follow->rec, frame).n;
	return n ? n : 1;
}

struct trace_frame trace_part(const struct trace *t, uint32_t frame, uint16_t part)
{
	return logical_frame(t, frame, ms_names_of(t->names, t->follow->rec, frame), part);
}

bool trace_next_frame(struct trace_stack *s, struct trace_frame *f)
{
	const struct ms_recording *rec = s->t->follow->rec;
	if (!s->node || s->node >= rec->nodes.n)
		return false;
	const struct ms_node *n = &rec->nodes.v[s->node];
	struct ms_frame_names names = ms_names_of(s->t->names, rec, n->frame);
	*f = logical_frame(s->t, n->frame, names, s->part);
	if (++s->part >= names.n) {
		s->node = n->parent;
		s->part = 0;
	}
	return true;
}

bool trace_next_row(struct trace_stack *s, struct trace_stack_row *r)
{
	struct trace_frame f;
	if (!trace_next_frame(s, &f))
		return false;
	*r = (struct trace_stack_row){.frame = f, .number = s->number++};
	bool folds = !s->t->full_names && f.runtime && !f.note;
	for (struct trace_stack outer = *s;
	     folds && trace_next_frame(&outer, &f) && f.runtime && !f.note;) {
		if (!s->in_user_code) {
			r->frame = f;
			r->number = outer.number;
		}
		r->more++;
		outer.number++;
		*s = outer;
	}
	s->in_user_code |= !folds;
	return true;
}

struct trace_site_name trace_site_name(const struct trace *t, uint32_t node)
{
	struct trace_site_name n = {.user = {.note = node ? "lost" : "no stack", .full = ""}};
	struct trace_frame f, inner = {0};
	struct trace_stack s = {.t = t, .node = node};
	bool named = false;
	for (size_t i = 0; trace_next_frame(&s, &f); i++, inner = f) {
		if (named) {
			n.caller = f;
			n.has_caller = !f.runtime && !f.pending;
			break;
		}
		/* a pending frame names the site until its symbols are known */
		named = f.pending || (!f.runtime && !f.wrapper);
		/* without a frame of user code, the outermost wrapper names the site, or else the
		 * innermost frame */
		if (!i || named || f.wrapper)
			n.user = f;
		if (named || f.wrapper) {
			n.called = inner;
			n.has_called = i > 0;
		}
		if (f.pending)
			break;
	}
	return n;
}

const char *trace_frame_name(const struct trace_frame *f, char *text, size_t room)
{
	if (f->note)
		snprintf(text, room, "[%s]", f->note);
	else if (f->function)
		snprintf(text, room, "%s", f->function);
	else
		snprintf(text, room, "%s+0x%llx", f->module ? f->module : "?",
			 (unsigned long long)f->address);
	return text;
}

const char *trace_frame_place(const struct trace_frame *f, char *text, size_t room)
{
	text[0] = 0;
	if (f->file && f->line)
		snprintf(text, room, "%s:%u", basename(f->file), f->line);
	else if (f->file)
		snprintf(text, room, "%s", basename(f->file));
	else if (f->function && f->module)
		snprintf(text, room, "[%s]", f->module);
	return text;
}

bool trace_node_matches(const struct trace *t, uint32_t node, const struct pattern *p)
{
	struct trace_stack s = {.t = t, .node = node};
	struct trace_frame f;
	bool found = !p->text[0];
	while (!found && trace_next_frame(&s, &f)) {
		/* omits the directories of absolute paths: a word of a common one would match every
		 * frame */
		const char *path = f.path && f.path[0] == '/' ? basename(f.path) : f.path;
		const char *where[] = {f.full, f.function, path, f.module};
		for (size_t i = 0; i < 4 && !found; i++)
			found = where[i] && pattern_matches_text(p, where[i]);
	}
	return found;
}

const char *trace_thread_name(const struct trace *t, uint32_t thread, char *text, size_t room)
{
	const struct ms_recording *rec = t->follow->rec;
	const struct ms_row *row = thread < rec->threads.n ? &rec->threads.v[thread] : NULL;
	const char *called =
		row && ms_has(row, MS_THREAD_NAME) ? row->text[MS_THREAD_NAME - 2] : NULL;
	if (called && called[0])
		snprintf(text, room, "%s", called);
	else
		snprintf(text, room, "thread %u", thread);
	return text;
}
