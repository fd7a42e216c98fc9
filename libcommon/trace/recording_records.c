/* SPDX-License-Identifier: MIT
 * Keeps the records of a trace: of its blocks of records, and of symbols, verdicts and resident
 * memory.
 */
#include "recording_private.h"

#include "format/record.h"
#include "libcommon/replay/replay_cohorts.h"
#include "libcommon/replay/replay_mapped.h"
#include "libcommon/replay/replay_sampled.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX                                                                                \
	(UINT32_C(1)                                                                               \
	 << 22) /* limit of module and thread ids, and so of the memory for a hostile trace */

static const char *text_of(struct ms_recording *t, const struct ms_field *f)
{
	return f->is_bytes ? ms_arena_strndup(&t->arena, (const char *)f->data, f->size) : NULL;
}

/* Stores the fields present in the record in `f`, and leaves other fields unchanged. */
static void get_fields(struct ms_recording *t, struct ms_record rec, struct ms_fields *f)
{
	struct ms_field field;
	while (ms_record_field(&rec, &field) == MS_FMT_OK) {
		if (field.id >= MS_FIELDS)
			continue;
		f->known |= UINT64_C(1) << field.id;
		f->number[field.id] = field.value;
		f->text[field.id] = text_of(t, &field);
	}
}

/* Stores the fields present in the record in a row, and leaves other fields unchanged. */
static void get_row(struct ms_recording *t, struct ms_record rec, struct ms_row *r)
{
	struct ms_field field;
	while (ms_record_field(&rec, &field) == MS_FMT_OK) {
		if (field.id >= MS_ROW_FIELDS)
			continue;
		r->known |= UINT32_C(1) << field.id;
		r->number[field.id] = field.value;
		if (field.id == 2 || field.id == 3)
			r->text[field.id - 2] = text_of(t, &field);
	}
}

static void get_strings(struct ms_recording *t, struct ms_record rec, unsigned id,
			struct ms_strings *out)
{
	struct ms_field field;
	out->n = 0;
	while (ms_record_field(&rec, &field) == MS_FMT_OK)
		if (field.id == id && field.is_bytes)
			*MS_PUSH(out) = text_of(t, &field);
}

/* Returns the row with that index, created if needed; NULL if the index is too large. */
static struct ms_row *indexed(struct ms_rows *r, uint64_t index)
{
	if (index >= RECORDS_MAX || index > r->n + 4096)
		return NULL;
	while (r->n <= index)
		*MS_PUSH(r) = (struct ms_row){0};
	return &r->v[index];
}

/* Applies a record to the row whose number, counted from `base`, is in field `key`. */
static bool amend(struct ms_recording *t, struct ms_record rec, struct ms_rows *r, unsigned key,
		  unsigned base)
{
	struct ms_record again = rec;
	struct ms_field f;
	while (ms_record_field(&again, &f) == MS_FMT_OK) {
		if (f.id != key)
			continue;
		struct ms_row *row = f.value >= base ? indexed(r, f.value - base) : NULL;
		if (row)
			get_row(t, rec, row);
		return row != NULL;
	}
	return false;
}

/* Adds a function of a module that is a source file. */
static void add_function(struct ms_recording *t, struct ms_record rec)
{
	struct ms_field f;
	uint64_t id = 0, number = 0;
	while (ms_record_field(&rec, &f) == MS_FMT_OK) {
		if (f.id == MS_MODULE_ID)
			id = f.value;
		if (f.id == MS_MODULE_NUMBER)
			number = f.value;
		if (f.id != MS_MODULE_FUNCTION || !f.is_bytes || !id || id > t->modules.n)
			continue;
		while (t->functions.n < id)
			*MS_PUSH(&t->functions) = (struct ms_functions){0};
		struct ms_functions *all = &t->functions.v[id - 1];
		uint64_t last = all->n ? all->v[all->n - 1].number : 0;
		number = number ? number : last + 1;
		if (number > last)
			*MS_PUSH(all) = (struct ms_function){number, text_of(t, &f)};
		number = 0;
	}
}

static void add_row(struct ms_recording *t, struct ms_record rec, struct ms_rows *r,
		    unsigned time_field)
{
	struct ms_row *row = MS_PUSH(r);
	*row = (struct ms_row){0};
	get_row(t, rec, row);
	if (ms_has(row, time_field) && row->number[time_field] > t->last_ns &&
	    row->number[time_field] <= INT64_MAX)
		t->last_ns = row->number[time_field];
}

static bool add_thread(struct ms_recording *t, struct ms_record rec)
{
	struct ms_record again = rec;
	struct ms_field f;
	while (!t->replay.cohorts->labels && ms_record_field(&again, &f) == MS_FMT_OK)
		t->replay.cohorts->labels = f.id == MS_THREAD_OF;
	return amend(t, rec, &t->threads, MS_THREAD_INDEX, 0);
}

static void add_mark(struct ms_recording *t, struct ms_record rec)
{
	add_row(t, rec, &t->marks, MS_MARK_TIME);
	const struct ms_row *m = &t->marks.v[t->marks.n - 1];
	ms_cohorts_mark(&t->replay, ms_has(m, MS_MARK_EVENT) ? m->number[MS_MARK_EVENT] : MS_NEVER,
			m->number[MS_MARK_TIME] / t->head->tick_ns);
}

/* ---- symbols ---- */

/* Converts a string number, which counts from 1 in each block, to the index among the strings of
 * all blocks. */
static uint32_t string_number(const struct ms_recording *t, uint32_t in_block)
{
	return in_block ? t->string_base + in_block : 0;
}

/* Stores a field of a variable's record. */
static void add_to_variable(const struct ms_recording *t, struct ms_told_variable *v,
			    const struct ms_field *f)
{
	if (f->id == MS_SYM_ADDRESS)
		v->address = f->value;
	else if (f->id == MS_SYM_IN_THREAD)
		v->in_thread = f->value;
	else if (f->id == MS_SYM_TYPE)
		v->type = string_number(t, (uint32_t)f->value);
	else if (f->id == MS_SYM_MEMBERS)
		v->members = string_number(t, (uint32_t)f->value);
}

static bool add_symbols(struct ms_recording *t, struct ms_record rec)
{
	struct ms_field f;
	struct ms_chain *chain = NULL;
	struct ms_place *place = NULL;
	struct ms_module_state *module = NULL;
	struct ms_told_variable *variable = NULL;
	while (ms_record_field(&rec, &f) == MS_FMT_OK) {
		uint32_t value = (uint32_t)f.value;
		if (f.id == MS_SYM_STRING && f.is_bytes) {
			*MS_PUSH(&t->strings) = text_of(t, &f);
		} else if (f.id == MS_SYM_FRAME) {
			if (f.value >= t->chain_count)
				return false;
			chain = &t->chains[f.value];
			*chain = (struct ms_chain){(uint32_t)t->places.n, 0};
		} else if (f.id == MS_SYM_FUNCTION && chain) {
			place = MS_PUSH(&t->places);
			*place = (struct ms_place){.function = string_number(t, value)};
			chain->count++;
		} else if (f.id == MS_SYM_FILE && place) {
			place->file = string_number(t, value);
		} else if (f.id == MS_SYM_LINE && place) {
			place->line = value;
		} else if (f.id == MS_SYM_COLUMN && place) {
			place->column = value;
		} else if (f.id == MS_SYM_MODULE) {
			module = MS_PUSH(&t->states);
			*module = (struct ms_module_state){value, 0};
		} else if (f.id == MS_SYM_STATE && module) {
			module->state = value;
		} else if (f.id == MS_SYM_VARIABLE) {
			variable = MS_PUSH(&t->variables);
			*variable = (struct ms_told_variable){.module = value};
			place = &variable->at;
		} else if (variable) {
			add_to_variable(t, variable, &f);
		}
	}
	return true;
}

/* Begins another symbols block. It covers at least the frames of earlier symbols blocks: its chains
 * replace the earlier ones, and its strings are numbered anew. */
static void begin_symbols(struct ms_recording *t)
{
	t->has_symbols = true;
	t->string_base = (uint32_t)t->strings.n;
	if (t->chain_count < t->frames.n) {
		t->chains = ms_xrealloc(t->chains, t->frames.n, sizeof *t->chains);
		memset(t->chains + t->chain_count, 0,
		       (t->frames.n - t->chain_count) * sizeof *t->chains);
		t->chain_count = t->frames.n;
	}
}

/* Copies the roots of a record into the arena. */
static void take_roots(struct ms_recording *t, struct ms_record rec, struct ms_verdict_site *s)
{
	struct ms_verdict_root root = {0};
	struct ms_record again = rec;
	while (ms_verdict_next_root(&rec, &root))
		s->root_count++;
	if (!s->root_count)
		return;
	struct ms_verdict_root *v = ms_arena_alloc(&t->arena, s->root_count * sizeof *v);
	for (root.blocks = 0; ms_verdict_next_root(&again, &root);)
		*v++ = root;
	s->roots = v - s->root_count;
}

static bool add_verdict(struct ms_recording *t, struct ms_record rec)
{
	struct ms_verdict_record v;
	if (!ms_verdict_get(rec, &v))
		return false;
	const struct ms_verdict_record *last =
		t->verdicts.v ? &t->verdicts.v[t->verdicts.n - 1] : NULL;
	uint64_t number = !last ? 0 : last->is_scan ? last->scan.scan : last->site.scan;
	bool goes_on = v.is_scan ? v.scan.scan > number
				 : last && v.site.scan == number &&
					   (last->is_scan || v.site.stack > last->site.stack);
	if (!goes_on)
		return false;
	if (v.is_scan)
		v.scan.label = ms_arena_strndup(&t->arena, v.scan.label, v.scan.label_size);
	else
		take_roots(t, rec, &v.site);
	*MS_PUSH(&t->verdicts) = v;
	return true;
}

/* Adds a record about resident memory. Records of a measurement are accepted only after the
 * measurement's head record. */
static bool add_resident(struct ms_recording *t, struct ms_record rec)
{
	struct ms_row row = {0};
	get_row(t, rec, &row);
	const struct ms_fields *head = t->moments.n ? &t->moments.v[t->moments.n - 1] : NULL;
	static const struct ms_row none;
	const struct ms_row *last = t->resident.n ? &t->resident.v[t->resident.n - 1] : &none;
	uint64_t moment = row.number[MS_RESIDENT_MOMENT];
	if (ms_has(&row, MS_RESIDENT_LABEL)) {
		if (!moment || moment > INT64_MAX || t->moments.n == MS_RESIDENT_MOMENTS_MAX ||
		    (head && moment <= head->number[MS_RESIDENT_MOMENT]))
			return false;
		struct ms_fields *f = MS_PUSH(&t->moments);
		*f = (struct ms_fields){0};
		get_fields(t, rec, f);
		return true;
	}
	bool file = ms_has(&row, MS_RESIDENT_FILE), stack = ms_has(&row, MS_RESIDENT_STACK);
	if (!head || moment != head->number[MS_RESIDENT_MOMENT] || file == stack ||
	    (stack && last->number[MS_RESIDENT_MOMENT] >= moment &&
	     (ms_has(last, MS_RESIDENT_FILE) ||
	      row.number[MS_RESIDENT_STACK] <= last->number[MS_RESIDENT_STACK])))
		return false;
	*MS_PUSH(&t->resident) = row;
	return true;
}

static bool take_record(struct ms_recording *t, unsigned type, struct ms_record rec)
{
	switch (type) {
	case MS_BLOCK_INFO:
		get_fields(t, rec, &t->info);
		if (!t->has_info && ms_has(&t->info, MS_INFO_SAMPLE_BYTES) &&
		    t->info.number[MS_INFO_SAMPLE_BYTES])
			ms_sampled_start(&t->replay, t->info.number[MS_INFO_SAMPLE_BYTES]);
		if (!t->has_info && ms_has(&t->info, MS_INFO_OPTIONS))
			ms_beside_start(&t->replay, t->info.number[MS_INFO_OPTIONS]);
		if (!t->has_info)
			get_strings(t, rec, MS_INFO_ARG, &t->args);
		t->has_info = true;
		return true;
	case MS_BLOCK_END:
		t->end = (struct ms_fields){0};
		get_fields(t, rec, &t->end);
		get_strings(t, rec, MS_END_ALLOCATOR, &t->allocators);
		get_strings(t, rec, MS_END_HOOK_MISSING, &t->hooks_missing);
		get_strings(t, rec, MS_END_ALLOCATOR_MISSED, &t->allocators_missed);
		get_strings(t, rec, MS_END_LEFT, &t->left);
		t->has_end = true;
		return true;
	case MS_BLOCK_MODULES:
		if (!amend(t, rec, &t->modules, MS_MODULE_ID, 1))
			return false;
		add_function(t, rec);
		return true;
	case MS_BLOCK_THREADS:
		return add_thread(t, rec);
	case MS_BLOCK_SAMPLES:
		add_row(t, rec, &t->samples, MS_SAMPLE_TIME);
		return true;
	case MS_BLOCK_MARKS:
		add_mark(t, rec);
		return true;
	case MS_BLOCK_LOSSES:
		add_row(t, rec, &t->losses, MS_LOSS_TO);
		return true;
	case MS_BLOCK_VERDICTS:
		return add_verdict(t, rec);
	case MS_BLOCK_RESIDENT:
		return add_resident(t, rec);
	case MS_BLOCK_RETENTION:
		return ms_recording_add_retention(t, rec);
	case MS_BLOCK_BEFORE:
		add_row(t, rec, &t->before, MS_BEFORE_TIME);
		return true;
	default:
		return add_symbols(t, rec);
	}
}

/* Tells whether a record has a field that can be read. A hostile trace may have millions of records
 * without any, which would fill memory. */
static bool has_field(struct ms_record rec)
{
	struct ms_field f;
	return ms_record_field(&rec, &f) == MS_FMT_OK;
}

bool ms_recording_take_records(struct ms_recording *t, const struct ms_block *b)
{
	const struct ms_column *c = ms_block_column(b, MS_RECORDS_COLUMN);
	struct ms_record_reader reader;
	struct ms_record rec;
	enum ms_fmt rc;
	bool good = true;
	if (b->type == MS_BLOCK_SYMBOLS)
		begin_symbols(t);
	ms_record_reader_init(&reader, c ? c->data : NULL, c ? c->size : 0);
	while ((rc = ms_record_next(&reader, &rec)) == MS_FMT_OK)
		good &= has_field(rec) && take_record(t, b->type, rec);
	return good && rc == MS_FMT_END;
}
