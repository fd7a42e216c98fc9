/* SPDX-License-Identifier: MIT
 * Describes frames of a recording.
 */
#include "frame_places.h"

#include <string.h>

#include "format/trace.h"
#include "libcommon/names/runtime.h"

const struct ms_row *ms_module_of(const struct ms_recording *t, uint32_t id)
{
	return id && id <= t->modules.n && t->modules.v[id - 1].known ? &t->modules.v[id - 1]
								      : NULL;
}

const char *ms_frame_note(const struct ms_frame *f)
{
	return f->flags & MS_FRAME_CUT         ? "cut"
	       : f->flags & MS_FRAME_NOT_TAKEN ? "not taken"
	       : f->flags & MS_FRAME_BEFORE    ? "before"
	       : f->flags & MS_FRAME_TRUNCATED ? "truncated"
	       : f->flags & MS_FRAME_NOT_READ  ? "not read"
	       : f->flags & MS_FRAME_HEAP      ? "heap"
					       : NULL;
}

bool ms_frame_is_source(const struct ms_recording *t, const struct ms_frame *f)
{
	const struct ms_row *m = ms_module_of(t, f->module);
	return m && m->number[MS_MODULE_KIND] == MS_SYMBOLS_SOURCE;
}

/* Python sources that are frozen into the interpreter, such as the import system, count as runtime,
 * too. */
bool ms_frame_is_runtime(const struct ms_recording *t, const struct ms_frame *f,
			 const struct ms_location *l)
{
	const struct ms_row *m = ms_module_of(t, f->module);
	if (ms_frame_is_source(t, f))
		return l->file && strncmp(l->file, "<frozen ", 8) == 0;
	return (m && m->number[MS_MODULE_KIND] == MS_SYMBOLS_RECORDER) ||
	       ms_is_runtime(m ? m->text[MS_MODULE_PATH - 2] : NULL, l->function, l->file);
}

bool ms_frame_told(const struct ms_recording *t, uint32_t frame)
{
	return (t->has_symbols && frame < t->chain_count) ||
	       ms_frame_is_source(t, &t->frames.v[frame]);
}

uint32_t ms_frame_told_count(const struct ms_recording *t, uint32_t frame)
{
	return ms_frame_is_source(t, &t->frames.v[frame]) ? 1 : t->chains[frame].count;
}

static struct ms_location source_at(const struct ms_recording *t, const struct ms_frame *f)
{
	return (struct ms_location){.function = ms_source_function(t, f),
				    .file = ms_module_of(t, f->module)->text[MS_MODULE_PATH - 2],
				    .line = ms_source_line(f)};
}

static const char *string_of(const struct ms_recording *t, uint32_t number)
{
	return number && number <= t->strings.n && t->strings.v[number - 1][0]
		       ? t->strings.v[number - 1]
		       : NULL;
}

struct ms_location ms_frame_told_at(const struct ms_recording *t, uint32_t frame, uint32_t i)
{
	if (ms_frame_is_source(t, &t->frames.v[frame]))
		return source_at(t, &t->frames.v[frame]);
	const struct ms_chain *c = &t->chains[frame];
	const struct ms_place *p = &t->places.v[c->first + i];
	return (struct ms_location){.function = string_of(t, p->function),
				    .file = string_of(t, p->file),
				    .line = p->line,
				    .inlined = i + 1 < c->count};
}

bool ms_variable_told(const struct ms_recording *t, uint32_t module, uint64_t address,
		      bool in_thread, struct ms_variable *out)
{
	for (size_t i = 0; i < t->variables.n; i++) {
		const struct ms_told_variable *v = &t->variables.v[i];
		if (v->module != module || v->address != address || v->in_thread != in_thread)
			continue;
		*out = (struct ms_variable){string_of(t, v->type), string_of(t, v->at.file),
					    v->at.line, string_of(t, v->members)};
		return true;
	}
	return false;
}

bool ms_frame_question(const struct ms_recording *t, const struct ms_frame *f,
		       struct ms_frame_question *q)
{
	static const struct ms_row none = {.number[MS_MODULE_KIND] = MS_SYMBOLS_MADE,
					   .text[MS_MODULE_PATH - 2] = ""};
	const struct ms_row *m = f->module ? ms_module_of(t, f->module) : &none;
	if (!m || !m->text[MS_MODULE_PATH - 2] || m->number[MS_MODULE_KIND] == MS_SYMBOLS_SOURCE)
		return false;
	const char *id = m->text[MS_MODULE_BUILD_ID - 2];
	const uint64_t *info = t->info.number;
	q->module = (struct ms_symbols_module){
		.path = m->text[MS_MODULE_PATH - 2],
		.build_id = id,
		.build_id_size = id ? m->number[MS_MODULE_BUILD_ID] : 0,
		.kind = (int)m->number[MS_MODULE_KIND],
		.file_bytes = m->number[MS_MODULE_SIZE],
		.file_mtime_ns = m->number[MS_MODULE_MTIME],
		.deleted = m->number[MS_MODULE_DELETED],
		.pid = info[MS_INFO_PID],
		.uid = info[MS_INFO_UID],
		.from_ns =
			info[ms_has(&t->info, MS_INFO_BEGAN) ? MS_INFO_BEGAN : MS_INFO_START_WALL],
		.since_ns = info[MS_INFO_START_MONO],
		.cwd = t->info.text[MS_INFO_CWD],
		.to_ns = info[MS_INFO_START_WALL] + t->last_ns + MS_SYMBOLS_LATE_NS,
	};
	q->address = f->address - m->number[MS_MODULE_BIAS] - !(f->flags & MS_FRAME_EXACT);
	return true;
}
