/* SPDX-License-Identifier: MIT
 * Folded stacks for flame graph tools: one line per path of the call tree, outermost function
 * first.
 */
#include "formats.h"

#include "names.h"
#include "out.h"
#include "tree.h"

#include <string.h>

static const char *name_of(struct model *m, const struct branch *b, bool full)
{
	const struct style st = {.full_names = full};
	if (b->frame != NONE)
		return frame_label(&m->arena, m, &m->frames.v[b->frame], &st);
	if (b->process == NONE)
		return "(no stack)";
	const struct process *q = &m->processes.v[b->process];
	return ms_arena_printf(&m->arena, "%s (%llu)",
			       q->exe ? name_clean(&m->arena, base_name(q->exe), false) : "process",
			       (unsigned long long)q->pid);
}

/* The separator of this format cannot be part of a name. */
static void put_name(struct out *o, const char *s)
{
	for (size_t n; *s; s += n) {
		n = strcspn(s, ";");
		out_put(o, s, n);
		if (s[n] == ';') {
			out_char(o, ':');
			n++;
		}
	}
}

void folded_tree(struct model *m, struct out *o, const struct tree *t, bool full_names)
{
	struct out path = {.fd = -1};
	size_t *end = ms_arena_alloc(&m->arena, t->n * sizeof *end); /* of a branch's path */
	uint32_t at = t->v[0].first_child;
	while (at != NONE) {
		const struct branch *b = &t->v[at];
		path.n = end[b->parent];
		if (path.n)
			out_char(&path, ';');
		put_name(&path, name_of(m, b, full_names));
		end[at] = path.n;
		if (b->self.a) {
			out_put(o, path.v, path.n);
			out_char(o, ' ');
			out_number(o, b->self.a);
			out_char(o, '\n');
		}
		if (b->first_child != NONE) {
			at = b->first_child;
			continue;
		}
		while (at != NONE && t->v[at].next == NONE)
			at = t->v[at].parent;
		at = at == NONE ? NONE : t->v[at].next;
	}
	out_free(&path);
	if (t->hidden.a && t->hidden.a != UNKNOWN)
		out_printf(o, "[hidden by filters] %llu\n", (unsigned long long)t->hidden.a);
	if (t->other.a && t->other.a != UNKNOWN)
		out_printf(o, "[of no site] %llu\n", (unsigned long long)t->other.a);
}
