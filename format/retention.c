/* SPDX-License-Identifier: MIT
 * Writes and reads records of a retention block.
 */
#include "retention.h"

#include "trace.h"

#define PUT(w, list, row) ms_record_members(w, list, MS_MEMBER_COUNT(list), row)

#define ALWAYS(member, field) MS_MEMBER(MEMBER_OF, member, MS_ALWAYS, MS_RETENTION_##field)
#define NUMBER(member, field) MS_MEMBER(MEMBER_OF, member, MS_UNLESS_ZERO, MS_RETENTION_##field)
#define OFFSET(member, field) MS_MEMBER(MEMBER_OF, member, MS_UNLESS_NONE, MS_RETENTION_##field)
#define TEXT(member, field) MS_MEMBER(MEMBER_OF, member, MS_TEXT_UNLESS_EMPTY, MS_RETENTION_##field)

#define MEMBER_OF struct ms_retention_head
static const struct ms_member head[] = {ALWAYS(scan, SCAN),
					ALWAYS(state, STATE),
					NUMBER(live_bytes, LIVE),
					NUMBER(kept_bytes, KEPT),
					NUMBER(unreachable_bytes, UNREACHABLE),
					NUMBER(blocks, BLOCKS),
					NUMBER(edges, EDGES),
					NUMBER(took_ns, TOOK),
					NUMBER(rows, ROWS)};
#undef MEMBER_OF
#define MEMBER_OF struct ms_retention_root
static const struct ms_member root[] = {
	ALWAYS(scan, SCAN),         ALWAYS(root, ROOT),     ALWAYS(kind, KIND),
	TEXT(name, NAME),           NUMBER(module, MODULE), NUMBER(offset, OFFSET),
	NUMBER(size, SIZE),         NUMBER(thread, THREAD), NUMBER(stack, STACK),
	NUMBER(observes, OBSERVES), TEXT(type, TYPE)};
#undef MEMBER_OF
#define MEMBER_OF struct ms_retention_row
static const struct ms_member row[] = {
	ALWAYS(scan, SCAN),
	ALWAYS(row, ROW),
	NUMBER(parent, PARENT),
	NUMBER(root, ROOT),
	NUMBER(set, SET),
	NUMBER(stack, STACK),
	NUMBER(flags, FLAGS),
	NUMBER(bytes, BYTES),
	NUMBER(blocks, BLOCKS),
	NUMBER(retained_bytes, RETAINED_BYTES),
	NUMBER(retained_blocks, RETAINED_BLOCKS),
	NUMBER(mapped_bytes, MAPPED),
	OFFSET(offset, OFFSET),
	NUMBER(from, FROM),
	NUMBER(until, UNTIL),
	NUMBER(depth, DEPTH),
	TEXT(type, TYPE),
	NUMBER(path_root, PATH_ROOT),
};
/* These come after the steps of the path. */
static const struct ms_member row_end[] = {NUMBER(path_blocks, PATH_BLOCKS),
					   NUMBER(path_cut, PATH_CUT)};
#undef MEMBER_OF

bool ms_retention_put_head(struct ms_record_writer *w, const struct ms_retention_head *h)
{
	ms_record_begin(w);
	PUT(w, head, h);
	return ms_record_end(w);
}

bool ms_retention_put_root(struct ms_record_writer *w, const struct ms_retention_root *r)
{
	ms_record_begin(w);
	PUT(w, root, r);
	return ms_record_end(w);
}

bool ms_retention_put_set(struct ms_record_writer *w, const struct ms_retention_set *s)
{
	ms_record_begin(w);
	ms_record_number(w, MS_RETENTION_SCAN, s->scan);
	ms_record_number(w, MS_RETENTION_SET, s->set);
	for (size_t i = 0; i < s->root_count; i++)
		ms_record_number(w, MS_RETENTION_ROOT, s->roots[i]);
	if (s->others)
		ms_record_number(w, MS_RETENTION_OTHERS, 1);
	return ms_record_end(w);
}

bool ms_retention_put_row(struct ms_record_writer *w, const struct ms_retention_row *given)
{
	struct ms_retention_row r = *given;
	r.depth = r.depth > 1 ? r.depth : 0;
	ms_record_begin(w);
	PUT(w, row, &r);
	for (size_t i = 0; i < r.path_count; i++) {
		ms_record_number(w, MS_RETENTION_PATH_STACK, r.path[i].stack);
		if (r.path[i].count != 1)
			ms_record_number(w, MS_RETENTION_PATH_COUNT, r.path[i].count);
		if (r.path[i].mapping)
			ms_record_number(w, MS_RETENTION_PATH_MAPPING, 1);
	}
	PUT(w, row_end, &r);
	return ms_record_end(w);
}

#define FILL(v, list, row) ms_record_fill(v, list, MS_MEMBER_COUNT(list), row)
#define TEXTS (UINT64_C(1) << MS_RETENTION_NAME | UINT64_C(1) << MS_RETENTION_TYPE)

/* Counts the members and steps found, in the caller's lists. */
struct lists {
	size_t roots, steps;
	bool too_long;
};

/* Adds a field that may be repeated to its list. */
static void take_list(struct lists *v, const struct ms_field *f, struct ms_retention_lists *l)
{
	if (f->id == MS_RETENTION_ROOT) {
		v->too_long |= v->roots == MS_RETENTION_MEMBERS_MAX;
		if (!v->too_long)
			l->roots[v->roots++] = f->value;
	} else if (f->id == MS_RETENTION_PATH_STACK) {
		v->too_long |= v->steps == MS_RETENTION_STEPS_MAX;
		if (!v->too_long)
			l->path[v->steps++] = (struct ms_retention_step){f->value, 1, false};
	} else if (f->id == MS_RETENTION_PATH_COUNT && v->steps) {
		l->path[v->steps - 1].count = f->value;
	} else if (f->id == MS_RETENTION_PATH_MAPPING && v->steps) {
		l->path[v->steps - 1].mapping = f->value;
	}
}

static struct ms_retention_row row_of(const struct ms_record_fields *v,
				      const struct ms_retention_lists *l, size_t steps)
{
	struct ms_retention_row r = {.path = l->path, .path_count = steps};
	FILL(v, row, &r);
	FILL(v, row_end, &r);
	return r;
}

bool ms_retention_get(struct ms_record rec, struct ms_retention_record *out,
		      struct ms_retention_lists *lists)
{
	struct ms_record_fields v = {0};
	struct lists found = {0};
	struct ms_field f;
	enum ms_fmt rc;
	while ((rc = ms_record_field(&rec, &f)) == MS_FMT_OK)
		if (ms_record_keep(&v, &f, TEXTS))
			take_list(&found, &f, lists);
	if (rc != MS_FMT_END || found.too_long || !v.number[MS_RETENTION_SCAN])
		return false;
	*out = (struct ms_retention_record){0};
	if (v.known >> MS_RETENTION_STATE & 1) {
		out->kind = MS_RETENTION_IS_HEAD;
		FILL(&v, head, &out->head);
		return true;
	}
	if (v.known >> MS_RETENTION_ROW & 1) {
		out->kind = MS_RETENTION_IS_ROW;
		out->row = row_of(&v, lists, found.steps);
		return out->row.row;
	}
	if (v.known >> MS_RETENTION_KIND & 1) {
		out->kind = MS_RETENTION_IS_ROOT;
		FILL(&v, root, &out->root);
		return out->root.root;
	}
	out->kind = MS_RETENTION_IS_SET;
	out->set = (struct ms_retention_set){.scan = v.number[MS_RETENTION_SCAN],
					     .set = v.number[MS_RETENTION_SET],
					     .others = v.number[MS_RETENTION_OTHERS],
					     .roots = lists->roots,
					     .root_count = found.roots};
	return out->set.set;
}

const char *ms_keeper_word(uint64_t kind)
{
	static const char *const words[] = {
		[MS_KEEPER_VARIABLE] = "variable",         [MS_KEEPER_SECTION] = "section",
		[MS_KEEPER_THREAD_LOCAL] = "thread_local", [MS_KEEPER_FRAME] = "frame",
		[MS_KEEPER_REGISTERS] = "registers",       [MS_KEEPER_CONTROL] = "control",
		[MS_KEEPER_MAPPING] = "mapping",           [MS_KEEPER_OTHER] = "other",
	};
	return kind < sizeof words / sizeof *words ? words[kind] : NULL;
}
