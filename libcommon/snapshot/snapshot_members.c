/* SPDX-License-Identifier: MIT
 * Divides what a variable keeps among the members of its struct: each that keeps blocks by itself is
 * a keeper of its own, `server.cache` beside `server`, to which the rest is left, with what several
 * of its members keep together.
 */
#include "libcommon/symbols/frame_places.h"
#include "snapshot_private.h"

#include <stdlib.h>
#include <string.h>

struct work {
	struct ms_fill *w;
	struct ms_arena *a;
	const struct ms_retention_root *roots;
	struct ms_members *out;
	struct ms_variable *declared; /* by number of a root */
	bool *asked;                  /* whether that is filled in */
};

/* Finds the member that holds the offsets from `from` up to `until` of a variable. Returns NULL if
 * there is none, or none with a name; *offset receives its offset. */
static const char *member_at(struct work *k, const char *members, uint64_t from, uint64_t until,
			     uint64_t *offset)
{
	const char *name = NULL, *stop;
	char *at;
	for (const char *p = members; *p; p = *stop ? stop + 1 : stop) {
		uint64_t next = strtoull(p, &at, 10);
		stop = strchrnul(at, '\n');
		if (next >= until)
			break;
		if (next > from)
			return NULL;
		at += *at == ' ';
		name = at < stop ? ms_arena_strndup(k->a, at, (size_t)(stop - at)) : NULL;
		*offset = next;
	}
	return name;
}

/* Returns 1 + the index of the member of root number `root` with the offsets of a row; 0 = none. */
static uint32_t member_of(struct work *k, uint64_t root, const struct ms_retention_row *row)
{
	const struct ms_retention_root *of = &k->roots[root - 1];
	uint64_t offset = 0;
	if (!k->asked[root])
		k->declared[root] = ms_declaration_of(k->w, of);
	k->asked[root] = true;
	const char *members = k->declared[root].members,
		   *name = members ? member_at(k, members, row->from, row->until, &offset) : NULL;
	if (!name)
		return 0;
	size_t i = 0;
	for (; i < k->out->n; i++)
		if (k->out->v[i].of == root && k->out->v[i].offset == offset)
			return (uint32_t)i + 1;
	*MS_PUSH(k->out) = (struct ms_kept_member){.of = root, .offset = offset};
	struct ms_kept_member *m = &k->out->v[i];
	m->root = *of;
	m->root.root = k->out->roots + i + 1;
	m->root.offset += offset;
	m->root.size = m->root.observes = m->root.type_size = 0;
	m->root.name = ms_arena_printf(k->a, "%s.%s", ms_root_name(k->a, of, NULL) ?: "", name);
	m->at = k->declared[root];
	m->at.type = NULL;
	return (uint32_t)i + 1;
}

static struct ms_retention_row *push(struct ms_members *out, const struct ms_retention_row *row)
{
	struct ms_retention_row *x = MS_PUSH(&out->rows);
	*x = *row;
	x->row = out->rows.n;
	return x;
}

/* Adds the row of a variable, without what its members keep, and their rows. Returns its number, or
 * 0 if nothing is left to it. */
static uint64_t push_variable(struct ms_members *out, const struct ms_retention_row *row, bool left)
{
	struct ms_retention_row rest = *row;
	bool divided = false;
	for (size_t i = 0; i < out->n; i++) {
		const struct ms_kept_member *m = &out->v[i];
		if (m->of != row->root)
			continue;
		rest.retained_bytes -= m->bytes;
		rest.retained_blocks -= m->blocks;
		divided = true;
	}
	uint64_t number = left || !divided ? push(out, &rest)->row : 0;
	for (size_t i = 0; i < out->n; i++) {
		struct ms_kept_member *m = &out->v[i];
		if (m->of == row->root)
			m->row = push(out,
				      &(struct ms_retention_row){.scan = row->scan,
								 .root = m->root.root,
								 .retained_bytes = m->bytes,
								 .retained_blocks = m->blocks,
								 .offset = MS_RETENTION_NO_OFFSET,
								 .type = ""})
					 ->row;
	}
	return number;
}

void ms_divide(struct ms_fill *w, const struct ms_retention_scan *s, struct ms_arena *a,
	       struct ms_members *out)
{
	size_t n = s->row_count;
	const struct ms_retention_row *rows = &w->t->retention.rows.v[s->first_row];
	uint32_t *member = ms_xcalloc(n + 1, sizeof *member); /* by row: 1 + index; 0 = none */
	uint64_t *number = ms_xcalloc(n + 1, sizeof *number); /* of each row, then */
	bool *left = ms_xcalloc(n + 1, sizeof *left);         /* by row: something stays below it */
	struct work k = {.w = w,
			 .a = a,
			 .roots = &w->t->retention.roots.v[s->first_root],
			 .out = out,
			 .declared = ms_xcalloc(s->root_count + 1, sizeof *k.declared),
			 .asked = ms_xcalloc(s->root_count + 1, sizeof *k.asked)};
	out->n = out->rows.n = 0;
	out->roots = s->root_count;
	for (size_t i = 0; i < n; i++) {
		const struct ms_retention_row *r = &rows[i];
		uint64_t root = r->parent ? rows[r->parent - 1].root : 0;
		if (root && r->until > r->from)
			member[i] = member_of(&k, root, r);
		left[r->parent] |= !member[i];
		if (!member[i])
			continue;
		out->v[member[i] - 1].bytes += r->retained_bytes;
		out->v[member[i] - 1].blocks += r->retained_blocks;
	}
	for (size_t i = 0; i < n; i++) {
		const struct ms_retention_row *r = &rows[i];
		struct ms_kept_member *m = member[i] ? &out->v[member[i] - 1] : NULL;
		if (r->root) {
			number[i + 1] = push_variable(out, r, left[i + 1]);
			continue;
		}
		struct ms_retention_row *x = push(out, r);
		number[i + 1] = x->row;
		x->parent = m ? m->row : number[r->parent];
		if (m && x->offset != MS_RETENTION_NO_OFFSET)
			x->offset -= m->offset;
	}
	MS_FREE(member, number, left, k.declared, k.asked);
}
