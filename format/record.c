/* SPDX-License-Identifier: MIT
 * Writes and reads records of numbered fields.
 */
#include "record.h"

#include <string.h>

#include "varint.h"

void ms_record_writer_init(struct ms_record_writer *w, void *data, size_t room)
{
	*w = (struct ms_record_writer){.data = data, .room = room};
}

void ms_record_begin(struct ms_record_writer *w)
{
	w->start = w->size;
	w->full = false;
}

static void append(struct ms_record_writer *w, const void *bytes, size_t n)
{
	if (w->full || n > w->room - w->size) {
		w->full = true;
		return;
	}
	if (n)
		memcpy(w->data + w->size, bytes, n);
	w->size += n;
}

static void append_varint(struct ms_record_writer *w, uint64_t v)
{
	uint8_t b[MS_VARINT_MAX];
	append(w, b, (size_t)(ms_varint_put(b, v) - b));
}

void ms_record_number(struct ms_record_writer *w, uint32_t field, uint64_t value)
{
	append_varint(w, (uint64_t)field << 1);
	append_varint(w, value);
}

void ms_record_bytes(struct ms_record_writer *w, uint32_t field, const void *bytes, size_t n)
{
	append_varint(w, (uint64_t)field << 1 | 1);
	append_varint(w, n);
	append(w, bytes, n);
}

void ms_record_string(struct ms_record_writer *w, uint32_t field, const char *s)
{
	ms_record_bytes(w, field, s, strlen(s));
}

void ms_record_members(struct ms_record_writer *w, const struct ms_member *list, size_t n,
		       const void *row)
{
	for (size_t i = 0; i < n; i++) {
		const struct ms_member *m = &list[i];
		if (m->how >= MS_TEXT_ALWAYS) {
			const char *text;
			size_t size;
			memcpy((void *)&text, (const char *)row + m->at, sizeof text);
			memcpy(&size, (const char *)row + m->at + sizeof text, sizeof size);
			if (size || m->how == MS_TEXT_ALWAYS)
				ms_record_bytes(w, m->field, text, size);
			continue;
		}
		uint64_t v = ms_member_get(row, m);
		bool none = m->how == MS_UNLESS_ZERO   ? v == 0
			    : m->how == MS_UNLESS_NONE ? v == UINT32_MAX
						       : false;
		if (!none)
			ms_record_number(w, m->field, v);
	}
}

bool ms_record_end(struct ms_record_writer *w)
{
	uint8_t b[MS_VARINT_MAX];
	size_t body = w->size - w->start, n = (size_t)(ms_varint_put(b, body) - b);
	if (w->full || n > w->room - w->size) {
		w->size = w->start;
		return false;
	}
	memmove(w->data + w->start + n, w->data + w->start, body);
	memcpy(w->data + w->start, b, n);
	w->size += n;
	return true;
}

struct ms_column ms_record_column(const struct ms_record_writer *w)
{
	return (struct ms_column){MS_RECORDS_COLUMN, w->data, w->size};
}

void ms_record_reader_init(struct ms_record_reader *r, const void *data, size_t size)
{
	r->at = data;
	r->end = size ? r->at + size : r->at;
}

enum ms_fmt ms_record_next(struct ms_record_reader *r, struct ms_record *rec)
{
	uint64_t n;
	if (r->at == r->end)
		return MS_FMT_END;
	if (!ms_varint_get(&r->at, r->end, &n) || n > (size_t)(r->end - r->at)) {
		r->at = r->end;
		return MS_FMT_BAD;
	}
	rec->at = r->at;
	rec->end = r->at += n;
	return MS_FMT_OK;
}

enum ms_fmt ms_record_field(struct ms_record *rec, struct ms_field *f)
{
	uint64_t key;
	*f = (struct ms_field){0};
	if (rec->at == rec->end)
		return MS_FMT_END;
	if (!ms_varint_get(&rec->at, rec->end, &key) ||
	    !ms_varint_get(&rec->at, rec->end, &f->value))
		goto bad;
	f->id = key >> 1 > UINT32_MAX ? 0 : (uint32_t)(key >> 1);
	f->is_bytes = key & 1;
	if (!f->is_bytes)
		return MS_FMT_OK;
	if (f->value > (size_t)(rec->end - rec->at))
		goto bad;
	f->data = rec->at;
	f->size = (size_t)f->value;
	rec->at += f->size;
	return MS_FMT_OK;
bad:
	rec->at = rec->end;
	return MS_FMT_BAD;
}

bool ms_record_keep(struct ms_record_fields *v, const struct ms_field *f, uint64_t texts)
{
	if (f->id >= MS_RECORD_FIELDS || (texts >> f->id & 1) != f->is_bytes)
		return false;
	v->known |= UINT64_C(1) << f->id;
	v->number[f->id] = f->value;
	v->text[f->id] = (const char *)f->data;
	return true;
}

void ms_record_fill(const struct ms_record_fields *v, const struct ms_member *list, size_t n,
		    void *row)
{
	for (size_t i = 0; i < n; i++) {
		const struct ms_member *m = &list[i];
		bool known = v->known >> m->field & 1;
		if (m->how >= MS_TEXT_ALWAYS) {
			const char *text = known ? v->text[m->field] : "";
			size_t size = known ? (size_t)v->number[m->field] : 0;
			memcpy((char *)row + m->at, (const void *)&text, sizeof text);
			memcpy((char *)row + m->at + sizeof text, &size, sizeof size);
			continue;
		}
		ms_member_set(row, m,
			      known || m->how != MS_UNLESS_NONE ? v->number[m->field] : UINT32_MAX);
	}
}
