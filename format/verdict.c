/* SPDX-License-Identifier: MIT
 * Writes and reads records of a verdicts block.
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
	if (s->number)
		ms_record_number(w, MS_VERDICT_NUMBER, s->number);
	if (s->align && s->align != 8)
		ms_record_number(w, MS_VERDICT_ALIGN, s->align);
	if (s->cleared)
		ms_record_number(w, MS_VERDICT_CLEARED, s->cleared);
	if (s->ignored)
		ms_record_number(w, MS_VERDICT_IGNORED, s->ignored);
	if (s->roots)
		ms_record_number(w, MS_VERDICT_ROOT_RANGES, s->roots);
	if (s->roots_refused)
		ms_record_number(w, MS_VERDICT_REFUSED_RANGES, s->roots_refused);
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

bool ms_verdict_get(struct ms_record rec, struct ms_verdict_record *out)
{
	struct ms_verdict_scan scan = {.label = ""};
	struct ms_verdict_site site = {0};
	uint64_t wide = 0, *const numbers[MS_VERDICT_LAST + 1] = {
				   [MS_VERDICT_SCAN] = &scan.scan,
				   [MS_VERDICT_TIME] = &scan.time_ns,
				   [MS_VERDICT_EVENT] = &scan.event,
				   [MS_VERDICT_STATE] = &scan.state,
				   [MS_VERDICT_PAUSE] = &scan.pause_ns,
				   [MS_VERDICT_TOOK] = &scan.took_ns,
				   [MS_VERDICT_READ] = &scan.read_bytes,
				   [MS_VERDICT_WIDE] = &wide,
				   [MS_VERDICT_NUMBER] = &scan.number,
				   [MS_VERDICT_ALIGN] = &scan.align,
				   [MS_VERDICT_CLEARED] = &scan.cleared,
				   [MS_VERDICT_IGNORED] = &scan.ignored,
				   [MS_VERDICT_ROOT_RANGES] = &scan.roots,
				   [MS_VERDICT_REFUSED_RANGES] = &scan.roots_refused,
				   [MS_VERDICT_STACK] = &site.stack,
				   [MS_VERDICT_RETAINED_BLOCKS] = &site.retained_blocks,
				   [MS_VERDICT_RETAINED_BYTES] = &site.retained_bytes,
			   };
	struct ms_field f;
	bool stack = false, is_scan = false;
	enum ms_fmt rc;
	while ((rc = ms_record_field(&rec, &f)) == MS_FMT_OK) {
		if (f.id == MS_VERDICT_LABEL && f.is_bytes) {
			is_scan = true;
			scan.label = (const char *)f.data;
			scan.label_size = f.size;
		}
		if (f.is_bytes || f.id > MS_VERDICT_LAST)
			continue;
		unsigned v = f.id - MS_VERDICT_DIRECT_BLOCKS;
		if (v <= MS_VERDICT_UNKNOWN_BYTES - MS_VERDICT_DIRECT_BLOCKS)
			(v % 2 ? site.bytes : site.blocks)[v / 2] = f.value;
		else if (numbers[f.id])
			*numbers[f.id] = f.value;
		stack |= f.id == MS_VERDICT_STACK;
	}
	scan.wide = wide != 0;
	site.scan = scan.scan;
	*out = (struct ms_verdict_record){.is_scan = is_scan};
	if (is_scan)
		out->scan = scan;
	else
		out->site = site;
	return rc == MS_FMT_END && scan.scan && (is_scan || stack);
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
