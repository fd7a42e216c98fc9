/* SPDX-License-Identifier: MIT
 * The JSON of gprof2dot, which draws call graphs: one figure, and no key but those that it knows.
 */
#include "export.h"

#include "libcommon/base/json_writer.h"

#include <stdlib.h>

struct graph {
	struct export *x;
	struct ms_json j;
	struct table_of_bytes functions; /* as they are written */
	uint32_t *number;                /* of a place's function + 1; 0 = not asked yet */
};

static uint32_t function_number(struct graph *g, uint32_t place)
{
	const struct place *p = &g->x->places[place];
	if (g->number[place])
		return g->number[place] - 1;
	struct out text = {.fd = -1};
	struct ms_json j = out_json(&text);
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "name", p->function);
	if (p->path)
		ms_json_string(&j, "module", p->path);
	ms_json_close(&j, '}');
	uint32_t number = bytes_number(&g->functions, text.v, text.n, NULL);
	out_free(&text);
	g->number[place] = number + 1;
	return number;
}

static void put_event(struct graph *g, const struct export_row *r, uint64_t cost)
{
	size_t n = export_stack(g->x, r);
	ms_json_open(&g->j, NULL, '{');
	ms_json_open(&g->j, "callchain", '[');
	for (size_t i = 0; i < n; i++)
		ms_json_number(&g->j, NULL, function_number(g, g->x->path[i]));
	ms_json_close(&g->j, ']');
	ms_json_open(&g->j, "cost", '[');
	ms_json_number(&g->j, NULL, cost);
	ms_json_close(&g->j, ']');
	ms_json_close(&g->j, '}');
}

static void put_functions(struct graph *g)
{
	ms_json_open(&g->j, "functions", '[');
	for (uint32_t i = 0; i < g->functions.n; i++) {
		size_t n;
		const char *text = bytes_of(&g->functions, i, &n);
		ms_json_key(&g->j, NULL);
		g->j.put(g->j.to, text, n);
	}
	ms_json_close(&g->j, ']');
}

void export_gprof2dot(struct export *x, struct out *o, enum metric metric)
{
	struct graph g = {.x = x, .j = out_json(o)};
	enum export_figure f = export_figure_of(metric);
	g.number = ms_xcalloc(x->place_count, sizeof *g.number);
	ms_json_open(&g.j, NULL, '{');
	ms_json_number(&g.j, "version", 0);
	ms_json_open(&g.j, "costs", '[');
	ms_json_open(&g.j, NULL, '{');
	ms_json_string(&g.j, "description", export_title(x->m, f));
	ms_json_string(&g.j, "unit", metric_is_bytes(metric) ? "bytes" : "blocks");
	ms_json_close(&g.j, '}');
	ms_json_close(&g.j, ']');
	ms_json_open(&g.j, "events", '[');
	for (size_t i = 0; i < x->n; i++)
		if (x->rows[i].v[f])
			put_event(&g, &x->rows[i], x->rows[i].v[f]);
	ms_json_close(&g.j, ']');
	put_functions(&g);
	ms_json_close(&g.j, '}');
	out_char(o, '\n');
	bytes_free(&g.functions);
	free(g.number);
}
