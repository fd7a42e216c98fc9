/* SPDX-License-Identifier: MIT
 * Writes the JSON of gprof2dot, which draws call graphs: one figure, and only keys that gprof2dot
 * knows.
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

void export_gprof2dot(struct export *x, struct out *o)
{
	struct ms_json j = out_json(o);
	enum export_figure f = export_figure_of(x->metric);
	ms_json_format(&j, "{version:%lu costs:[{description:%s unit:%s}] events:[", UINT64_C(0),
		       export_title(x->m, f), metric_is_bytes(x->metric) ? "bytes" : "blocks");
	for (const struct export_row *r = NULL; (r = export_next(x, r, f));) {
		ms_json_open(&j, NULL, '{');
		export_path(x, &j, "callchain", true, put_function);
		ms_json_format(&j, "cost:[%lu]}", r->v[f]);
	}
	ms_json_close(&j, ']');
	export_text_array(x, &j, "functions");
	ms_json_close(&j, '}');
	out_char(o, '\n');
}
