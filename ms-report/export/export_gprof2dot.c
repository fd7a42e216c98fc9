/* SPDX-License-Identifier: MIT
 * The JSON of gprof2dot, which draws call graphs: one figure, and no key but those that it knows.
 */
#include "export.h"

#include "libcommon/base/json_writer.h"

static void put_function(struct export *x, const struct place *p, struct out *o)
{
	struct ms_json j = out_json(o);
	(void)x;
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "name", p->function);
	if (p->path)
		ms_json_string(&j, "module", p->path);
	ms_json_close(&j, '}');
}

static void put_event(struct export *x, struct ms_json *j, struct export_texts *functions,
		      const struct export_row *r, uint64_t cost)
{
	size_t n = export_stack(x, r);
	ms_json_open(j, NULL, '{');
	ms_json_open(j, "callchain", '[');
	for (size_t i = 0; i < n; i++)
		ms_json_number(j, NULL, export_text(x, functions, x->path[i], put_function));
	ms_json_close(j, ']');
	ms_json_open(j, "cost", '[');
	ms_json_number(j, NULL, cost);
	ms_json_close(j, ']');
	ms_json_close(j, '}');
}

void export_gprof2dot(struct export *x, struct out *o)
{
	struct ms_json j = out_json(o);
	struct export_texts functions = {0};
	enum export_figure f = export_figure_of(x->metric);
	ms_json_open(&j, NULL, '{');
	ms_json_number(&j, "version", 0);
	ms_json_open(&j, "costs", '[');
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "description", export_title(x->m, f));
	ms_json_string(&j, "unit", metric_is_bytes(x->metric) ? "bytes" : "blocks");
	ms_json_close(&j, '}');
	ms_json_close(&j, ']');
	ms_json_open(&j, "events", '[');
	for (size_t i = 0; i < x->n; i++)
		if (x->rows[i].v[f])
			put_event(x, &j, &functions, &x->rows[i], x->rows[i].v[f]);
	ms_json_close(&j, ']');
	export_text_array(&functions, &j, "functions");
	ms_json_close(&j, '}');
	out_char(o, '\n');
	export_texts_free(&functions);
}
