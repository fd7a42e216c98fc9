/* SPDX-License-Identifier: MIT
 * speedscope's own JSON: a profile for each figure, which share their frames.
 */
#include "export.h"

#include "libcommon/base/json_writer.h"

#include <stdlib.h>

/* In the order in which they are offered. */
static const enum export_figure order[EXPORT_FIGURES] = {
	EXPORT_LIVE,      EXPORT_LIVE_BLOCKS, EXPORT_PEAK,     EXPORT_PEAK_BLOCKS,
	EXPORT_ALLOCATED, EXPORT_ALLOCATIONS, EXPORT_TEMPORARY};

static bool is_bytes(enum export_figure f)
{
	return f == EXPORT_LIVE || f == EXPORT_PEAK || f == EXPORT_ALLOCATED;
}

struct speedscope {
	struct export *x;
	struct ms_json j;
	struct table_of_bytes frames; /* as they are written */
	uint32_t *number;             /* of a place's frame + 1; 0 = not asked yet */
};

static uint32_t frame_number(struct speedscope *s, uint32_t place)
{
	const struct place *p = &s->x->places[place];
	if (s->number[place])
		return s->number[place] - 1;
	struct out text = {.fd = -1};
	struct ms_json j = out_json(&text);
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "name", p->function);
	if (p->file || p->path)
		ms_json_string(&j, "file", p->file ? p->file : p->path);
	if (p->file && p->line)
		ms_json_number(&j, "line", p->line);
	ms_json_close(&j, '}');
	uint32_t number = bytes_number(&s->frames, text.v, text.n, NULL);
	out_free(&text);
	s->number[place] = number + 1;
	return number;
}

static void put_profile(struct speedscope *s, enum export_figure f)
{
	struct ms_json *j = &s->j;
	struct export *x = s->x;
	ms_json_open(j, NULL, '{');
	ms_json_string(j, "type", "sampled");
	ms_json_string(j, "name", export_title(x->m, f));
	ms_json_string(j, "unit", is_bytes(f) ? "bytes" : "none");
	ms_json_number(j, "startValue", 0);
	uint64_t sum = 0;
	ms_json_open(j, "samples", '[');
	for (size_t i = 0; i < x->n; i++) {
		if (!x->rows[i].v[f])
			continue;
		sum = figure_add(sum, x->rows[i].v[f]);
		ms_json_open(j, NULL, '[');
		for (size_t n = export_stack(x, &x->rows[i]); n > 0; n--)
			ms_json_number(j, NULL, frame_number(s, x->path[n - 1]));
		ms_json_close(j, ']');
	}
	ms_json_close(j, ']');
	ms_json_open(j, "weights", '[');
	for (size_t i = 0; i < x->n; i++)
		if (x->rows[i].v[f])
			ms_json_number(j, NULL, x->rows[i].v[f]);
	ms_json_close(j, ']');
	ms_json_number(j, "endValue", sum);
	ms_json_close(j, '}');
}

static void put_frames(struct speedscope *s)
{
	ms_json_open(&s->j, "shared", '{');
	ms_json_open(&s->j, "frames", '[');
	for (uint32_t i = 0; i < s->frames.n; i++) {
		size_t n;
		const char *text = bytes_of(&s->frames, i, &n);
		ms_json_key(&s->j, NULL);
		s->j.put(s->j.to, text, n);
	}
	ms_json_close(&s->j, ']');
	ms_json_close(&s->j, '}');
}

/* The format has no place for remarks but its name. */
static const char *title(struct export *x)
{
	const char *all = x->command;
	for (size_t i = 1; i < x->notes.n; i++)
		all = ms_arena_printf(&x->m->arena, "%s; %s", all, x->notes.v[i]);
	return all;
}

void export_speedscope(struct export *x, struct out *o, enum metric metric)
{
	struct speedscope s = {.x = x, .j = out_json(o)};
	uint64_t active = 0, count = 0;
	s.number = ms_xcalloc(x->place_count, sizeof *s.number);
	ms_json_open(&s.j, NULL, '{');
	ms_json_string(&s.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	ms_json_string(&s.j, "name", title(x));
	ms_json_string(&s.j, "exporter", "memscope " MS_VERSION);
	ms_json_open(&s.j, "profiles", '[');
	for (size_t i = 0; i < EXPORT_FIGURES; i++) {
		if (!x->known[order[i]])
			continue;
		if (order[i] == export_figure_of(metric))
			active = count;
		put_profile(&s, order[i]);
		count++;
	}
	ms_json_close(&s.j, ']');
	ms_json_number(&s.j, "activeProfileIndex", active);
	put_frames(&s);
	ms_json_close(&s.j, '}');
	out_char(o, '\n');
	bytes_free(&s.frames);
	free(s.number);
}
