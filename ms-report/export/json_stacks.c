/* SPDX-License-Identifier: MIT
 * Writes call stacks in the JSON report: in full with each site, or once in two shared tables.
 */
#include "formats.h"

#include "ms-report/model/diff.h"
#include "ms-report/output/out.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/json_writer.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *none_needed(size_t n)
{
	uint32_t *rows =
		ms_xrealloc(NULL, n + 1, sizeof *rows); /* there is an array even for 0 rows */
	memset(rows, 0xff, n * sizeof *rows);
	return rows;
}

struct json_stacks json_stacks_make(struct model *m, bool tables)
{
	struct json_stacks s = {.m = m};
	if (tables) {
		s.row_of_node = none_needed(m->nodes.n);
		s.row_of_frame = none_needed(m->frames.n);
		s.keys = model_site_texts(m, "key");
		return s;
	}
	s.begin = ms_xrealloc(NULL, m->frames.n + 1, sizeof *s.begin);
	for (size_t i = 0; i < m->frames.n; i++) {
		struct ms_json j = out_json(&s.text);
		s.begin[i] = s.text.n;
		json_frame(m, &j, &m->frames.v[i]);
	}
	s.begin[m->frames.n] = s.text.n;
	return s;
}

void json_stacks_free(struct json_stacks *s)
{
	out_free(&s->text);
	MS_FREE(s->begin, s->row_of_node, s->row_of_frame);
}

void json_stacks_need(struct json_stacks *s, uint32_t node)
{
	for (uint32_t n = node; n != NONE && s->row_of_node[n] == NONE; n = s->m->nodes.v[n].parent)
		s->row_of_node[n] = s->row_of_frame[s->m->nodes.v[n].frame] = 0;
}

static void number_needed(uint32_t *rows, size_t n)
{
	uint32_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i] != NONE)
			rows[i] = count++;
}

static void put_frame(const struct json_stacks *s, struct ms_json *j, uint32_t i)
{
	ms_json_key(j, NULL);
	j->put(j->to, s->text.v + s->begin[i], s->begin[i + 1] - s->begin[i]);
}

void json_stacks_put(struct json_stacks *s, struct ms_json *j)
{
	const struct model *m = s->m;
	number_needed(s->row_of_node, m->nodes.n);
	number_needed(s->row_of_frame, m->frames.n);
	ms_json_open(j, "frames", '[');
	for (uint32_t i = 0; i < m->frames.n; i++)
		if (s->row_of_frame[i] != NONE)
			json_frame(m, j, &m->frames.v[i]);
	ms_json_close(j, ']');
	ms_json_open(j, "stacks", '[');
	for (size_t i = 0; i < m->nodes.n; i++) {
		const struct node *n = &m->nodes.v[i];
		if (s->row_of_node[i] == NONE)
			continue;
		ms_json_open(j, NULL, '[');
		ms_json_number(j, NULL, n->parent == NONE ? UNKNOWN : s->row_of_node[n->parent]);
		ms_json_number(j, NULL, s->row_of_frame[n->frame]);
		ms_json_close(j, ']');
	}
	ms_json_close(j, ']');
}

void json_stack(const struct json_stacks *s, struct ms_json *j, uint32_t node)
{
	if (s->row_of_node) {
		ms_json_number(j, "stack", node == NONE ? UNKNOWN : s->row_of_node[node]);
		return;
	}
	ms_json_open(j, "stack", '[');
	for (uint32_t n = node; n != NONE; n = s->m->nodes.v[n].parent)
		put_frame(s, j, s->m->nodes.v[n].frame);
	ms_json_close(j, ']');
}

/* ---- size of stacks written in full ---- */

static void count(void *to, const char *s, size_t n)
{
	(void)s;
	*(uint64_t *)to += n;
}

/* Computes the bytes of each node's stack, with commas. The caller frees the array. */
static uint64_t *stack_bytes(const struct model *m)
{
	uint64_t *of_frame = ms_xrealloc(NULL, m->frames.n + 1, sizeof *of_frame),
		 *of_node = ms_xrealloc(NULL, m->nodes.n + 1, sizeof *of_node);
	for (size_t i = 0; i < m->frames.n; i++) {
		struct ms_json j = {.put = count, .to = &of_frame[i]};
		of_frame[i] = 1;
		json_frame(m, &j, &m->frames.v[i]);
	}
	for (size_t i = 0; i < m->nodes.n; i++) {
		const struct node *n = &m->nodes.v[i];
		of_node[i] = of_frame[n->frame] + (n->parent == NONE ? 0 : of_node[n->parent]);
	}
	free(of_frame);
	return of_node;
}

uint64_t json_stacks_bytes(struct model *m, size_t limit)
{
	struct list l = list_all(m, METRIC_LIVE);
	uint64_t *of = stack_bytes(m), sum = 0;
	for (size_t i = 0; i < l.n && i < limit; i++)
		sum += l.rows[i]->stack == NONE ? 0 : of[l.rows[i]->stack];
	for (size_t i = 0; m->diff && i < m->diff->rows.n && i < limit; i++) {
		uint32_t stack = m->diff->rows.v[i].site->stack;
		sum += stack == NONE ? 0 : of[stack];
	}
	free(of);
	return sum;
}
