/* SPDX-License-Identifier: MIT
 * Records of a verdicts block.
 */
#include "verdict.h"

#include "trace.h"

bool ms_verdict_put_scan(struct ms_record_writer *w, const struct ms_verdict_scan *s)
{
	ms_record_begin(w);
	ms_record_number(w, MS_VERDICT_SCAN, s->scan);
	ms_record_bytes(w, MS_VERDICT_LABEL, s->label, s->label_size);
	ms_record_number(w, MS_VERDICT_TIME, s->time_ns);
	ms_record_number(w, MS_VERDICT_EVENT, s->event);
	ms_record_number(w, MS_VERDICT_STATE, s->state);
	ms_record_number(w, MS_VERDICT_PAUSE, s->pause_ns);
	ms_record_number(w, MS_VERDICT_TOOK, s->took_ns);
	ms_record_number(w, MS_VERDICT_READ, s->read_bytes);
	if (s->wide)
		ms_record_number(w, MS_VERDICT_WIDE, 1);
	return ms_record_end(w);
}

bool ms_verdict_put_site(struct ms_record_writer *w, const struct ms_verdict_site *s)
{
	ms_record_begin(w);
	ms_record_number(w, MS_VERDICT_SCAN, s->scan);
	ms_record_number(w, MS_VERDICT_STACK, s->stack);
	for (unsigned v = 0; v < MS_VERDICTS; v++)
		if (s->blocks[v]) {
			ms_record_number(w, MS_VERDICT_DIRECT_BLOCKS + 2 * v, s->blocks[v]);
			ms_record_number(w, MS_VERDICT_DIRECT_BYTES + 2 * v, s->bytes[v]);
		}
	if (s->retained_blocks) {
		ms_record_number(w, MS_VERDICT_RETAINED_BLOCKS, s->retained_blocks);
		ms_record_number(w, MS_VERDICT_RETAINED_BYTES, s->retained_bytes);
	}
	return ms_record_end(w);
}

static void get_field(const struct ms_field *f, struct ms_verdict_record *out, bool *stack)
{
	struct ms_verdict_scan *s = &out->scan;
	uint64_t *const numbers[] = {
		[MS_VERDICT_TIME] = &s->time_ns,
		[MS_VERDICT_EVENT] = &s->event,
		[MS_VERDICT_STATE] = &s->state,
		[MS_VERDICT_PAUSE] = &s->pause_ns,
		[MS_VERDICT_TOOK] = &s->took_ns,
		[MS_VERDICT_READ] = &s->read_bytes,
		[MS_VERDICT_STACK] = &out->site.stack,
		[MS_VERDICT_RETAINED_BLOCKS] = &out->site.retained_blocks,
		[MS_VERDICT_RETAINED_BYTES] = &out->site.retained_bytes,
	};
	if (f->id >= MS_VERDICT_DIRECT_BLOCKS && f->id <= MS_VERDICT_UNKNOWN_BYTES) {
		unsigned v = f->id - MS_VERDICT_DIRECT_BLOCKS;
		(v % 2 ? out->site.bytes : out->site.blocks)[v / 2] = f->value;
		return;
	}
	if (f->id == MS_VERDICT_WIDE)
		s->wide = f->value != 0;
	if (f->id == MS_VERDICT_STACK)
		*stack = true;
	if (f->id < sizeof numbers / sizeof *numbers && numbers[f->id])
		*numbers[f->id] = f->value;
}

bool ms_verdict_get(struct ms_record rec, struct ms_verdict_record *out)
{
	struct ms_field f;
	bool stack = false;
	uint64_t scan = 0;
	enum ms_fmt rc;
	*out = (struct ms_verdict_record){.scan.label = ""};
	while ((rc = ms_record_field(&rec, &f)) == MS_FMT_OK) {
		if (f.id == MS_VERDICT_LABEL && f.is_bytes) {
			out->is_scan = true;
			out->scan.label = (const char *)f.data;
			out->scan.label_size = f.size;
		} else if (f.is_bytes) {
			continue;
		} else if (f.id == MS_VERDICT_SCAN) {
			scan = f.value;
		} else {
			get_field(&f, out, &stack);
		}
	}
	out->scan.scan = out->site.scan = scan;
	return rc == MS_FMT_END && scan && (out->is_scan || stack);
}
