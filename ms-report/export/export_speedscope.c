/* SPDX-License-Identifier: MIT
 * Writes speedscope's own JSON: one profile per figure, with shared frames.
 */
#include "export.h"

#include "libcommon/base/json_writer.h"

static bool is_bytes(enum export_figure f)
{
	return f == EXPORT_LIVE || f == EXPORT_PEAK || f == EXPORT_ALLOCATED;
}

static void put_frame(struct export *x, const struct place *p, struct out *o)
{
	struct ms_json j = out_json(o);
	(void)x;
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "name", p->function);
	if (p->file || p->path)
		ms_json_string(&j, "file", p->file ? p->file : p->path);
	if (p->file && p->line)
		ms_json_number(&j, "line", p->line);
	ms_json_close(&j, '}');
}

static void put_profile(struct export *x, struct ms_json *j, enum export_figure f)
{
	uint64_t sum = 0;
	ms_json_format(j, "{type:%s name:%s unit:%s startValue:%lu samples:[", "sampled",
		       export_title(x->m, f), is_bytes(f) ? "bytes" : "none", UINT64_C(0));
	for (const struct export_row *r = NULL; (r = export_next(x, r, f));) {
		sum = figure_add(sum, r->v[f]);
		export_path(x, j, NULL, false, put_frame);
	}
	ms_json_format(j, "] weights:[");
	for (size_t i = 0; i < x->n; i++)
		if (x->rows[i].v[f])
			ms_json_number(j, NULL, x->rows[i].v[f]);
	ms_json_format(j, "] endValue:%lu}", sum);
}

void export_speedscope(struct export *x, struct out *o)
{
	struct ms_json j = out_json(o);
	uint64_t active = 0, count = 0;
	/* the name is the only place for remarks */
	ms_json_format(&j, "{$schema:%s name:%s exporter:%s profiles:[",
		       "https://www.speedscope.app/file-format-schema.json",
		       export_joined(x, x->command, 1), "memscope " MS_VERSION);
	for (size_t i = 0; i < EXPORT_FIGURES; i++) {
		if (!x->known[export_order[i]])
			continue;
		if (export_order[i] == export_figure_of(x->asked))
			active = count;
		put_profile(x, &j, export_order[i]);
		count++;
	}
	ms_json_format(&j, "] activeProfileIndex:%lu shared:{", active);
	export_text_array(x, &j, "frames");
	ms_json_format(&j, "}}");
	out_char(o, '\n');
}
