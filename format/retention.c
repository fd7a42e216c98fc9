/* SPDX-License-Identifier: MIT
 * Writes and reads records of a retention block.
 */
#include "retention.h"

#include "trace.h"

/* Writes a field whose absence means 0. */
static void put(struct ms_record_writer *w, uint32_t field, uint64_t value)
{
	if (value)
		ms_record_number(w, field, value);
}

static void put_text(struct ms_record_writer *w, uint32_t field, const char *text, size_t size)
{
	if (size)
		ms_record_bytes(w, field, text, size);
}

bool ms_retention_put_head(struct ms_record_writer *w, const struct ms_retention_head *h)
{
	ms_record_begin(w);
	ms_record_number(w, MS_RETENTION_SCAN, h->scan);
	ms_record_number(w, MS_RETENTION_STATE, h->state);
	put(w, MS_RETENTION_LIVE, h->live_bytes);
	put(w, MS_RETENTION_KEPT, h->kept_bytes);
	put(w, MS_RETENTION_UNREACHABLE, h->unreachable_bytes);
	put(w, MS_RETENTION_BLOCKS, h->blocks);
	put(w, MS_RETENTION_EDGES, h->edges);
	put(w, MS_RETENTION_TOOK, h->took_ns);
	put(w, MS_RETENTION_ROWS, h->rows);
	return ms_record_end(w);
}

bool ms_retention_put_root(struct ms_record_writer *w, const struct ms_retention_root *r)
{
	ms_record_begin(w);
	ms_record_number(w, MS_RETENTION_SCAN, r->scan);
	ms_record_number(w, MS_RETENTION_ROOT, r->root);
	ms_record_number(w, MS_RETENTION_KIND, r->kind);
	put_text(w, MS_RETENTION_NAME, r->name, r->name_size);
	put(w, MS_RETENTION_MODULE, r->module);
	put(w, MS_RETENTION_OFFSET, r->offset);
	put(w, MS_RETENTION_SIZE, r->size);
	put(w, MS_RETENTION_THREAD, r->thread);
	put(w, MS_RETENTION_STACK, r->stack);
	put(w, MS_RETENTION_OBSERVES, r->observes);
	put_text(w, MS_RETENTION_TYPE, r->type, r->type_size);
	return ms_record_end(w);
}

bool ms_retention_put_set(struct ms_record_writer *w, const struct ms_retention_set *s)
{
	ms_record_begin(w);
	ms_record_number(w, MS_RETENTION_SCAN, s->scan);
	ms_record_number(w, MS_RETENTION_SET, s->set);
	for (size_t i = 0; i < s->root_count; i++)
		ms_record_number(w, MS_RETENTION_ROOT, s->roots[i]);
	put(w, MS_RETENTION_OTHERS, s->others);
	return ms_record_end(w);
}

static void put_path(struct ms_record_writer *w, const struct ms_retention_row *r)
{
	put(w, MS_RETENTION_PATH_ROOT, r->path_root);
	for (size_t i = 0; i < r->path_count; i++) {
		ms_record_number(w, MS_RETENTION_PATH_STACK, r->path[i].stack);
		if (r->path[i].count != 1)
			ms_record_number(w, MS_RETENTION_PATH_COUNT, r->path[i].count);
		put(w, MS_RETENTION_PATH_MAPPING, r->path[i].mapping);
	}
	put(w, MS_RETENTION_PATH_BLOCKS, r->path_blocks);
	put(w, MS_RETENTION_PATH_CUT, r->path_cut);
}

bool ms_retention_put_row(struct ms_record_writer *w, const struct ms_retention_row *r)
{
	ms_record_begin(w);
	ms_record_number(w, MS_RETENTION_SCAN, r->scan);
	ms_record_number(w, MS_RETENTION_ROW, r->row);
	put(w, MS_RETENTION_PARENT, r->parent);
	put(w, MS_RETENTION_ROOT, r->root);
	put(w, MS_RETENTION_SET, r->set);
	put(w, MS_RETENTION_STACK, r->stack);
	put(w, MS_RETENTION_FLAGS, r->flags);
	put(w, MS_RETENTION_BYTES, r->bytes);
	put(w, MS_RETENTION_BLOCKS, r->blocks);
	put(w, MS_RETENTION_RETAINED_BYTES, r->retained_bytes);
	put(w, MS_RETENTION_RETAINED_BLOCKS, r->retained_blocks);
	put(w, MS_RETENTION_MAPPED, r->mapped_bytes);
	if (r->offset != MS_RETENTION_NO_OFFSET)
		ms_record_number(w, MS_RETENTION_OFFSET, r->offset);
	if (r->depth > 1)
		ms_record_number(w, MS_RETENTION_DEPTH, r->depth);
	put_text(w, MS_RETENTION_TYPE, r->type, r->type_size);
	put_path(w, r);
	return ms_record_end(w);
}

/* Holds the numbers and texts of a record by field, before its kind is known. */
struct fields {
	uint64_t known, number[MS_RETENTION_LAST + 1];
	const char *name, *type;
	size_t roots, steps; /* members and steps found, in the caller's lists */
	bool too_long;
};

static bool has(const struct fields *v, unsigned field)
{
	return v->known >> field & 1;
}

/* Adds a field that may be repeated to its list. */
static void take_list(struct fields *v, const struct ms_field *f, struct ms_retention_lists *l)
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

static bool take_fields(struct fields *v, struct ms_record rec, struct ms_retention_lists *l)
{
	struct ms_field f;
	enum ms_fmt rc;
	while ((rc = ms_record_field(&rec, &f)) == MS_FMT_OK) {
		bool text = f.id == MS_RETENTION_NAME || f.id == MS_RETENTION_TYPE;
		if (f.id > MS_RETENTION_LAST || text != f.is_bytes)
			continue;
		v->known |= UINT64_C(1) << f.id;
		v->number[f.id] = f.value;
		if (text)
			*(f.id == MS_RETENTION_NAME ? &v->name : &v->type) = (const char *)f.data;
		else
			take_list(v, &f, l);
	}
	return rc == MS_FMT_END && !v->too_long;
}

static struct ms_retention_head head_of(const struct fields *v)
{
	const uint64_t *n = v->number;
	return (struct ms_retention_head){.scan = n[MS_RETENTION_SCAN],
					  .state = n[MS_RETENTION_STATE],
					  .live_bytes = n[MS_RETENTION_LIVE],
					  .kept_bytes = n[MS_RETENTION_KEPT],
					  .unreachable_bytes = n[MS_RETENTION_UNREACHABLE],
					  .blocks = n[MS_RETENTION_BLOCKS],
					  .edges = n[MS_RETENTION_EDGES],
					  .took_ns = n[MS_RETENTION_TOOK],
					  .rows = n[MS_RETENTION_ROWS]};
}

static struct ms_retention_root root_of(const struct fields *v)
{
	const uint64_t *n = v->number;
	return (struct ms_retention_root){.scan = n[MS_RETENTION_SCAN],
					  .root = n[MS_RETENTION_ROOT],
					  .kind = n[MS_RETENTION_KIND],
					  .module = n[MS_RETENTION_MODULE],
					  .offset = n[MS_RETENTION_OFFSET],
					  .size = n[MS_RETENTION_SIZE],
					  .thread = n[MS_RETENTION_THREAD],
					  .stack = n[MS_RETENTION_STACK],
					  .observes = n[MS_RETENTION_OBSERVES],
					  .name = v->name,
					  .name_size = n[MS_RETENTION_NAME],
					  .type = v->type,
					  .type_size = n[MS_RETENTION_TYPE]};
}

static struct ms_retention_row row_of(const struct fields *v, const struct ms_retention_lists *l)
{
	const uint64_t *n = v->number;
	bool there = has(v, MS_RETENTION_OFFSET);
	return (struct ms_retention_row){
		.scan = n[MS_RETENTION_SCAN],
		.row = n[MS_RETENTION_ROW],
		.parent = n[MS_RETENTION_PARENT],
		.root = n[MS_RETENTION_ROOT],
		.set = n[MS_RETENTION_SET],
		.stack = n[MS_RETENTION_STACK],
		.flags = n[MS_RETENTION_FLAGS],
		.bytes = n[MS_RETENTION_BYTES],
		.blocks = n[MS_RETENTION_BLOCKS],
		.retained_bytes = n[MS_RETENTION_RETAINED_BYTES],
		.retained_blocks = n[MS_RETENTION_RETAINED_BLOCKS],
		.mapped_bytes = n[MS_RETENTION_MAPPED],
		.offset = there ? n[MS_RETENTION_OFFSET] : MS_RETENTION_NO_OFFSET,
		.depth = n[MS_RETENTION_DEPTH],
		.type = v->type,
		.type_size = n[MS_RETENTION_TYPE],
		.path_root = n[MS_RETENTION_PATH_ROOT],
		.path = l->path,
		.path_count = v->steps,
		.path_blocks = n[MS_RETENTION_PATH_BLOCKS],
		.path_cut = n[MS_RETENTION_PATH_CUT],
	};
}

bool ms_retention_get(struct ms_record rec, struct ms_retention_record *out,
		      struct ms_retention_lists *lists)
{
	struct fields v = {.name = "", .type = ""};
	if (!take_fields(&v, rec, lists) || !v.number[MS_RETENTION_SCAN])
		return false;
	*out = (struct ms_retention_record){0};
	if (has(&v, MS_RETENTION_STATE)) {
		out->kind = MS_RETENTION_IS_HEAD;
		out->head = head_of(&v);
		return true;
	}
	if (has(&v, MS_RETENTION_ROW)) {
		out->kind = MS_RETENTION_IS_ROW;
		out->row = row_of(&v, lists);
		return out->row.row;
	}
	if (has(&v, MS_RETENTION_KIND)) {
		out->kind = MS_RETENTION_IS_ROOT;
		out->root = root_of(&v);
		return out->root.root;
	}
	out->kind = MS_RETENTION_IS_SET;
	out->set = (struct ms_retention_set){.scan = v.number[MS_RETENTION_SCAN],
					     .set = v.number[MS_RETENTION_SET],
					     .others = v.number[MS_RETENTION_OTHERS],
					     .roots = lists->roots,
					     .root_count = v.roots};
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
