/* SPDX-License-Identifier: MIT
 * Reads modules and frames of a trace, and puts those that have a name in the order in which they
 * are cheapest to look up.
 */
#include "symbols_wanted.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/err.h"
#include "format/record.h"
#include "format/trace.h"
#include "libcommon/trace/tracefile.h"

#define NOT_A_FRAME                                                                                \
	(MS_FRAME_CUT | MS_FRAME_TRUNCATED | MS_FRAME_NOT_TAKEN | MS_FRAME_BEFORE | MS_FRAME_HEAP)

static struct ms_wanted_module *module_of_id(struct ms_wanted *c, uint64_t id)
{
	for (size_t i = c->modules.n; i-- > 0;)
		if (c->modules.v[i].id == id)
			return &c->modules.v[i];
	struct ms_wanted_module *m = MS_PUSH(&c->modules);
	*m = (struct ms_wanted_module){.id = id, .is.path = "", .handle = -1};
	return m;
}

static void read_module(struct ms_wanted *c, struct ms_record rec)
{
	struct ms_record again = rec;
	struct ms_field f;
	uint64_t id = 0;
	while (ms_record_field(&rec, &f) == MS_FMT_OK)
		if (f.id == MS_MODULE_ID)
			id = f.value;
	if (!id)
		return;
	struct ms_wanted_module *m = module_of_id(c, id);
	while (ms_record_field(&again, &f) == MS_FMT_OK) {
		if (f.id == MS_MODULE_PATH && f.is_bytes) {
			m->is.path = ms_arena_strndup(&c->arena, (const char *)f.data, f.size);
		} else if (f.id == MS_MODULE_BUILD_ID && f.is_bytes) {
			m->is.build_id =
				memcpy(ms_arena_alloc(&c->arena, f.size + 1), f.data, f.size);
			m->is.build_id_size = f.size;
		} else if (f.id == MS_MODULE_BIAS) {
			m->bias = f.value;
		} else if (f.id == MS_MODULE_KIND) {
			m->is.kind = f.value > 255 ? 255 : (int)f.value;
		} else if (f.id == MS_MODULE_SIZE) {
			m->is.file_bytes = f.value;
		} else if (f.id == MS_MODULE_MTIME) {
			m->is.file_mtime_ns = f.value;
		} else if (f.id == MS_MODULE_DELETED) {
			m->is.deleted = f.value;
		}
	}
}

static void read_modules(struct ms_wanted *c, const struct ms_column *col)
{
	struct ms_record_reader r;
	struct ms_record rec;
	ms_record_reader_init(&r, col->data, col->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		read_module(c, rec);
}

static void read_info(struct ms_wanted *c, const struct ms_column *col)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	ms_record_reader_init(&r, col->data, col->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK) {
			if (f.id == MS_INFO_PID)
				c->pid = f.value;
			else if (f.id == MS_INFO_START_WALL)
				c->start_ns = f.value;
		}
}

/* Frames keep their numbers also where blocks were lost; a number that goes back is damage. */
static void read_frames(struct ms_wanted *c, const struct ms_block *b)
{
	enum { MAX_GAP = 1 << 24 };
	struct ms_stacks_decoder d;
	struct ms_frame f;
	if (ms_stacks_decoder_init(&d, b->columns, b->column_count) != MS_FMT_OK ||
	    d.first_frame < c->all.n || d.first_frame - c->all.n > MAX_GAP)
		return;
	while (c->all.n < d.first_frame)
		*MS_PUSH(&c->all) = (struct ms_frame){0};
	while (ms_stacks_next_frame(&d, &f) == MS_FMT_OK)
		*MS_PUSH(&c->all) = f;
}

static void read_end(struct ms_wanted *c, const struct ms_block *b, const struct ms_column *col)
{
	free(c->end);
	c->end = ms_xrealloc(NULL, col->size + 1, 1);
	memcpy(c->end, col->data, col->size);
	c->end_size = col->size;
	c->first_ns = b->first_ns;
	c->last_ns = b->last_ns;
	c->end_offset = b->offset + b->bytes;
	c->next_block = b->number + 1;
	c->has_symbols = c->open_symbols;
}

static void read_block(struct ms_wanted *c, const struct ms_block *b)
{
	const struct ms_column *col = ms_block_column(b, MS_RECORDS_COLUMN);
	if (b->type == MS_BLOCK_STACKS)
		read_frames(c, b);
	else if (b->type == MS_BLOCK_SYMBOLS)
		c->open_symbols = true;
	else if (b->type == MS_BLOCK_MODULES && col)
		read_modules(c, col);
	else if (b->type == MS_BLOCK_INFO && col)
		read_info(c, col);
	else if (b->type == MS_BLOCK_END && col)
		read_end(c, b, col);
}

static int by_module_and_address(const void *a, const void *b)
{
	const struct ms_wanted_frame *x = a, *y = b;
	return MS_ORDER(x->module, y->module) ?:
	       MS_ORDER(x->address, y->address) ?:
	       MS_ORDER(x->frame, y->frame);
}

static int by_id(const void *a, const void *b)
{
	const struct ms_wanted_module *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void choose_frames(struct ms_wanted *c)
{
	/* of number 0 are frames outside of all modules */
	module_of_id(c, 0)->is.kind = MS_SYMBOLS_MADE;
	qsort(c->modules.v, c->modules.n, sizeof *c->modules.v, by_id);
	for (size_t i = 1; i < c->all.n; i++) {
		const struct ms_frame *f = &c->all.v[i];
		struct ms_wanted_module key = {.id = f->module};
		struct ms_wanted_module *m =
			(f->flags & NOT_A_FRAME)
				? NULL
				: bsearch(&key, c->modules.v, c->modules.n, sizeof key, by_id);
		if (m)
			*MS_PUSH(&c->frames) = (struct ms_wanted_frame){
				(uint32_t)i, (uint32_t)(m - c->modules.v),
				f->address - m->bias - !(f->flags & MS_FRAME_EXACT)};
	}
	if (c->frames.n)
		qsort(c->frames.v, c->frames.n, sizeof *c->frames.v, by_module_and_address);
}

int ms_wanted_read(struct ms_trace *t, const char *path, struct ms_wanted *c, struct ms_err *err)
{
	const uint64_t types = UINT64_C(1) << MS_BLOCK_STACKS | UINT64_C(1) << MS_BLOCK_SYMBOLS |
			       UINT64_C(1) << MS_BLOCK_MODULES | UINT64_C(1) << MS_BLOCK_END |
			       UINT64_C(1) << MS_BLOCK_INFO;
	struct ms_block b;
	enum ms_trace_next next;
	uint64_t end;
	ms_trace_sparse(t,
			&end); /* events, most of a long trace, are stepped over if they can be */
	*MS_PUSH(&c->all) = (struct ms_frame){0};
	while ((next = ms_trace_next(t, types, 1, &b, err)) != MS_NEXT_EOF) {
		if (next == MS_NEXT_ERROR)
			return -1;
		if (next == MS_NEXT_BLOCK)
			read_block(c, &b);
	}
	if (ms_trace_state(t) == MS_TRACE_GROWING)
		return ms_err_set(err, "cannot add symbols to '%s': it is still being written",
				  path);
	if (ms_trace_state(t) != MS_TRACE_ENDED || !c->end)
		return ms_err_set(
			err, "cannot add symbols to '%s': it is incomplete (no end block)", path);
	if (!c->has_symbols)
		choose_frames(c);
	return 0;
}

void ms_wanted_free(struct ms_wanted *c)
{
	ms_arena_free(&c->arena);
	MS_FREE(c->modules.v, c->all.v, c->frames.v, c->end);
}
