/* SPDX-License-Identifier: MIT
 * Writes and reads records of a verdicts block.
 */
#include "verdict.h"

#include "trace.h"

#define ALWAYS(member, field)                                                                      \
	MS_MEMBER(struct ms_verdict_scan, member, MS_ALWAYS, MS_VERDICT_##field)
#define NUMBER(member, field)                                                                      \
	MS_MEMBER(struct ms_verdict_scan, member, MS_UNLESS_ZERO, MS_VERDICT_##field)
static const struct ms_member scan[] = {
	ALWAYS(scan, SCAN),
	MS_MEMBER(struct ms_verdict_scan, label, MS_TEXT_ALWAYS, MS_VERDICT_LABEL),
	ALWAYS(time_ns, TIME),
	ALWAYS(event, EVENT),
	ALWAYS(state, STATE),
	ALWAYS(pause_ns, PAUSE),
	ALWAYS(took_ns, TOOK),
	ALWAYS(read_bytes, READ),
	NUMBER(wide, WIDE),
	NUMBER(number, NUMBER),
	NUMBER(align, ALIGN),
	NUMBER(cleared, CLEARED),
	NUMBER(ignored, IGNORED),
	NUMBER(roots, ROOT_RANGES),
	NUMBER(roots_refused, REFUSED_RANGES),
};

bool ms_verdict_put_scan(struct ms_record_writer *w, const struct ms_verdict_scan *given)
{
	struct ms_verdict_scan s = *given;
	s.align = s.align == 8 ? 0 : s.align;
	ms_record_begin(w);
	ms_record_members(w, scan, MS_MEMBER_COUNT(scan), &s);
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
	for (size_t i = 0; i < s->root_count; i++) {
		ms_record_number(w, MS_VERDICT_ROOT, s->roots[i].stack);
		ms_record_number(w, MS_VERDICT_ROOT_BLOCKS, s->roots[i].blocks);
		ms_record_number(w, MS_VERDICT_ROOT_BYTES, s->roots[i].bytes);
	}
	return ms_record_end(w);
}

static void get_site(const struct ms_record_fields *v, struct ms_verdict_site *s)
{
	const uint64_t *pair = &v->number[MS_VERDICT_DIRECT_BLOCKS];
	*s = (struct ms_verdict_site){.scan = v->number[MS_VERDICT_SCAN],
				      .stack = v->number[MS_VERDICT_STACK],
				      .retained_blocks = v->number[MS_VERDICT_RETAINED_BLOCKS],
				      .retained_bytes = v->number[MS_VERDICT_RETAINED_BYTES]};
	for (unsigned i = 0; i < MS_VERDICTS; i++, pair += 2) {
		s->blocks[i] = pair[0];
		s->bytes[i] = pair[1];
	}
}

bool ms_verdict_get(struct ms_record rec, struct ms_verdict_record *out)
{
	struct ms_record_fields v = {0};
	struct ms_field f;
	enum ms_fmt rc;
	while ((rc = ms_record_field(&rec, &f)) == MS_FMT_OK)
		ms_record_keep(&v, &f, UINT64_C(1) << MS_VERDICT_LABEL);
	bool stack = v.known >> MS_VERDICT_STACK & 1;
	*out = (struct ms_verdict_record){.is_scan = v.known >> MS_VERDICT_LABEL & 1};
	if (out->is_scan)
		ms_record_fill(&v, scan, MS_MEMBER_COUNT(scan), &out->scan);
	else
		get_site(&v, &out->site);
	return rc == MS_FMT_END && v.number[MS_VERDICT_SCAN] && (out->is_scan || stack);
}

bool ms_verdict_next_root(struct ms_record *rec, struct ms_verdict_root *out)
{
	struct ms_verdict_root next = {0};
	struct ms_field f;
	while (ms_record_field(rec, &f) == MS_FMT_OK) {
		if (f.id == MS_VERDICT_ROOT)
			next = (struct ms_verdict_root){.stack = f.value};
		else if (f.id == MS_VERDICT_ROOT_BLOCKS)
			next.blocks = f.value;
		next.bytes = f.value;
		bool in_order = !out->blocks || next.stack > out->stack;
		if (f.id != MS_VERDICT_ROOT_BYTES || f.is_bytes || !next.blocks || !in_order)
			continue;
		*out = next;
		return true;
	}
	return false;
}

enum ms_verdict ms_verdict_worst(const struct ms_verdict_site *s)
{
	static const enum ms_verdict from_worst[] = {MS_VERDICT_IS_DIRECT, MS_VERDICT_IS_INDIRECT,
						     MS_VERDICT_IS_UNKNOWN,
						     MS_VERDICT_IS_REACHABLE};
	size_t i = 0;
	while (i < MS_VERDICTS && !s->blocks[from_worst[i]])
		i++;
	return i < MS_VERDICTS ? from_worst[i] : MS_VERDICTS;
}

const char *ms_verdict_word(enum ms_verdict v)
{
	static const char *const words[MS_VERDICTS] = {
		[MS_VERDICT_IS_DIRECT] = "unreachable",
		[MS_VERDICT_IS_INDIRECT] = "indirect",
		[MS_VERDICT_IS_REACHABLE] = "reachable",
		[MS_VERDICT_IS_UNKNOWN] = "unknown",
	};
	return v < MS_VERDICTS ? words[v] : NULL;
}

const char *ms_scan_state_name(uint64_t state)
{
	static const char *const words[] = {
		[MS_SCAN_DONE] = "done",       [MS_SCAN_KILLED] = "killed",
		[MS_SCAN_TIME] = "time",       [MS_SCAN_UNREADABLE] = "unreadable",
		[MS_SCAN_THREADS] = "threads", [MS_SCAN_LOST] = "lost",
		[MS_SCAN_SAMPLED] = "sampled", [MS_SCAN_MEMORY] = "memory",
		[MS_SCAN_STOPPED] = "stopped", [MS_SCAN_ENDED] = "ended",
		[MS_SCAN_FILES] = "files",     [MS_SCAN_KEPT_MEMORY] = "memory",
		[MS_SCAN_KEPT_TIME] = "time",
	};
	return state < sizeof words / sizeof *words ? words[state] : NULL;
}
