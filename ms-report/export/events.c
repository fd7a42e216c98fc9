/* SPDX-License-Identifier: MIT
 * Writes the events of a trace while it is read, as lines of text or JSON.
 */
#include "events.h"

#include "ms-report/output/number_table.h"
#include "ms-report/output/out.h"
#include "ms-report/words/names.h"

#include "libcommon/api/memscope-read.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/json_writer.h"
#include "libcommon/names/runtime.h"
#include "libcommon/names/shorten.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_SHOWN 4
#define TIME "%4" PRIu64 ".%09" PRIu64
#define SECONDS(ns) (ns) / 1000000000, (ns) % 1000000000

/* Holds the state of writing events. A trace has its symbols after all events, so it is read twice:
 * first to its end into `known`. */
struct events {
	struct memscope_trace *trace, *known;
	const struct events_options *opt;
	struct out *o;
	struct memscope_frame *frames; /* frames of the stack requested last */
	size_t frame_room;
	bool *told; /* JSON: stacks whose frames were already written */
	size_t told_room;
	struct table_of_bytes told_frames; /* numbers of the frames written, by their JSON text */
	struct out text;                   /* text of one frame */
	uint64_t *numbers;                 /* numbers of the frames of one stack */
	size_t number_room;
	size_t marks; /* number of marks already written */
	struct ms_arena names;
};

static const char *const kind_names[] = {
	[MEMSCOPE_ALLOC] = "alloc",        [MEMSCOPE_FREE] = "free",
	[MEMSCOPE_REALLOC] = "realloc",    [MEMSCOPE_FAILED] = "failed",
	[MEMSCOPE_FREE_UNKNOWN] = "free?", [MEMSCOPE_MAP] = "map",
	[MEMSCOPE_UNMAP] = "unmap",
};

/* Reads the frames of a stack into e->frames and returns their number. A growing trace may have
 * gained stacks since the first reading. */
static size_t stack_frames(struct events *e, uint32_t stack)
{
	bool named = memscope_trace_stack(e->known, stack, NULL, 0) != 0;
	struct memscope_trace *t = named ? e->known : e->trace;
	size_t n = memscope_trace_stack(t, stack, e->frames, e->frame_room);
	if (n > e->frame_room) {
		e->frames = ms_xrealloc(e->frames, e->frame_room = 2 * n, sizeof *e->frames);
		memscope_trace_stack(t, stack, e->frames, n);
	}
	return n;
}

/* ---- text ---- */

static void put_frame(struct events *e, const struct memscope_frame *f)
{
	struct ms_arena *a = &e->names;
	bool full = e->opt->full_names;
	if (!f->function) {
		const char *path = f->module ? f->module : "";
		const char *name = full || !strrchr(path, '/') ? path : strrchr(path, '/') + 1;
		out_printf(e->o, "%s+0x%" PRIx64, name_clean(a, name, e->opt->ascii),
			   f->module ? f->offset : f->address);
		return;
	}
	out_str(e->o,
		name_clean(a, full ? f->function : ms_name_short(a, f->function), e->opt->ascii));
	if (f->file) {
		const char *slash = full ? NULL : strrchr(f->file, '/');
		out_printf(e->o, " %s", name_clean(a, slash ? slash + 1 : f->file, e->opt->ascii));
		if (f->line)
			out_printf(e->o, ":%" PRIu32, f->line);
	}
}

static bool is_runtime(const struct memscope_frame *f)
{
	return ms_is_runtime(f->module, f->function, f->file);
}

/* Writes the frames of a stack: those of user code, if there are any. */
static void put_stack(struct events *e, const char *before, uint32_t stack)
{
	size_t n = stack ? stack_frames(e, stack) : 0, own = 0, shown = 0;
	for (size_t i = 0; i < n && !e->opt->full_names; i++)
		own += !is_runtime(&e->frames[i]);
	for (size_t i = 0; i < n; i++) {
		if (own && is_runtime(&e->frames[i]))
			continue;
		if (!e->opt->full_names && shown == FRAMES_SHOWN) {
			out_str(e->o, " < ...");
			break;
		}
		out_str(e->o, shown++ ? " < " : before);
		put_frame(e, &e->frames[i]);
	}
	ms_arena_release(&e->names, (struct ms_arena_mark){0});
}

static void put_line(struct events *e, const struct memscope_event *ev)
{
	bool made = ev->kind == MEMSCOPE_ALLOC || ev->kind == MEMSCOPE_REALLOC;
	bool freed = ev->kind == MEMSCOPE_FREE || ev->kind == MEMSCOPE_REALLOC;
	char block[24] = "-";
	if (made || freed)
		snprintf(block, sizeof block, "#%" PRIu64, made ? ev->number : ev->old_number);
	uint64_t bytes = ev->kind == MEMSCOPE_FREE ? ev->old_size : ev->size;
	char number[24] = "-";
	if (bytes != MEMSCOPE_UNKNOWN)
		snprintf(number, sizeof number, "%" PRIu64, bytes);
	out_printf(e->o, TIME "  %-7s  %6" PRIu32 "  %10s  %12s", SECONDS(ev->time_ns),
		   kind_names[ev->kind], ev->thread, block, number);
	put_stack(e, "  ", ev->stack);
	if (ev->kind == MEMSCOPE_REALLOC)
		out_printf(e->o, "  was #%" PRIu64, ev->old_number);
	if (ev->kind == MEMSCOPE_FREE)
		put_stack(e, ev->inferred ? "  free inferred, allocated by " : "  allocated by ",
			  ev->old_stack);
	const char *label = memscope_trace_label(e->trace);
	if (label)
		out_printf(e->o, "  label %s", name_clean(&e->names, label, e->opt->ascii));
	ms_arena_release(&e->names, (struct ms_arena_mark){0});
	out_char(e->o, '\n');
}

/* ---- JSON ---- */

static void put_json_frame(struct ms_json *j, const struct memscope_frame *f)
{
	ms_json_string(j, "function", f->function);
	ms_json_string(j, "file", f->file);
	ms_json_number(j, "line", f->line ? f->line : MEMSCOPE_UNKNOWN);
	ms_json_string(j, "module", f->module);
	if (f->is_address)
		ms_json_print(j, "address", "0x%" PRIx64, f->address);
	ms_json_bool(j, "inlined", f->inlined);
	ms_json_close(j, '}');
}

/* Returns the number of a frame. Writes a line that defines the number before its first use. */
static uint64_t frame_number(struct events *e, const struct memscope_frame *f)
{
	struct ms_json j = out_json(&e->text), line = out_json(e->o);
	bool is_new;
	e->text.n = 0;
	put_json_frame(&j, f);
	uint32_t number = bytes_number(&e->told_frames, e->text.v, e->text.n, &is_new);
	if (is_new) {
		ms_json_format(&line, "{frame:%lu", (uint64_t)number);
		out_char(e->o, ',');
		out_put(e->o, e->text.v, e->text.n);
		out_char(e->o, '\n');
	}
	return number;
}

static void put_json_stack(struct events *e, uint32_t stack)
{
	if (!stack || (stack < e->told_room && e->told[stack]))
		return;
	e->told = ms_xgrow(e->told, &e->told_room, (size_t)stack + 1, sizeof *e->told);
	e->told[stack] = true;
	size_t n = stack_frames(e, stack);
	e->numbers = ms_xgrow(e->numbers, &e->number_room, n, sizeof *e->numbers);
	for (size_t i = 0; i < n && !e->opt->whole_stacks; i++)
		e->numbers[i] = frame_number(e, &e->frames[i]);
	struct ms_json j = out_json(e->o);
	ms_json_format(&j, "{stack:%lu frames:[", (uint64_t)stack);
	for (size_t i = 0; i < n; i++) {
		if (e->opt->whole_stacks) {
			ms_json_open(&j, NULL, '{');
			put_json_frame(&j, &e->frames[i]);
		} else {
			ms_json_number(&j, NULL, e->numbers[i]);
		}
	}
	ms_json_format(&j, "]}");
	out_char(e->o, '\n');
}

static void put_object(struct events *e, const struct memscope_event *ev)
{
	put_json_stack(e, ev->stack);
	put_json_stack(e, ev->old_stack);
	bool made = ev->kind == MEMSCOPE_ALLOC || ev->kind == MEMSCOPE_REALLOC;
	bool freed = ev->kind == MEMSCOPE_FREE || ev->kind == MEMSCOPE_REALLOC;
	struct ms_json j = out_json(e->o);
	ms_json_open(&j, NULL, '{');
	ms_json_number(&j, "time_ns", ev->time_ns);
	ms_json_string(&j, "event", kind_names[ev->kind]);
	ms_json_number(&j, "thread", ev->thread);
	if (made)
		ms_json_number(&j, "block", ev->number);
	if (ev->kind != MEMSCOPE_FREE && ev->kind != MEMSCOPE_FREE_UNKNOWN)
		ms_json_number(&j, "size", ev->size);
	ms_json_number(&j, "stack", ev->stack ? ev->stack : MEMSCOPE_UNKNOWN);
	if (freed)
		MS_JSON_NUMBERS(&j, {"old_block", ev->old_number}, {"old_size", ev->old_size},
				{"old_stack", ev->old_stack ? ev->old_stack : MEMSCOPE_UNKNOWN});
	if (ev->address != MEMSCOPE_UNKNOWN)
		ms_json_print(&j, "address", "0x%" PRIx64, ev->address);
	if (memscope_trace_label(e->trace))
		ms_json_string(&j, "label", memscope_trace_label(e->trace));
	if (ev->inferred)
		ms_json_bool(&j, "inferred", true);
	ms_json_close(&j, '}');
	out_char(e->o, '\n');
}

/* ---- all formats ---- */

/* Writes the marks set before a time. */
static void put_marks(struct events *e, uint64_t until_ns)
{
	uint64_t time_ns;
	const char *name;
	while (memscope_trace_mark(e->known, e->marks, &time_ns, &name) && time_ns <= until_ns) {
		e->marks++;
		if (!e->opt->json) {
			out_printf(e->o, TIME "  mark     %s\n", SECONDS(time_ns),
				   name_clean(&e->names, name, e->opt->ascii));
			continue;
		}
		struct ms_json j = out_json(e->o);
		ms_json_format(&j, "{time_ns:%lu event:%s name:%s}", time_ns, "mark", name);
		out_char(e->o, '\n');
	}
}

static int put_events(struct events *e, char *why)
{
	struct memscope_event ev;
	size_t n = 0;
	int rc = 0;
	if (!e->opt->json)
		out_str(e->o, "      time, s  event    thread       block         bytes  where\n");
	while (n++ < e->opt->limit && !e->o->error &&
	       (rc = memscope_trace_next(e->trace, &ev, why)) > 0) {
		put_marks(e, ev.time_ns);
		if (e->opt->json)
			put_object(e, &ev);
		else
			put_line(e, &ev);
	}
	if (rc == 0)
		put_marks(e, UINT64_MAX);
	return rc;
}

static int read_all(struct memscope_trace *t, char *why)
{
	struct memscope_event ev;
	int rc;
	while ((rc = memscope_trace_next(t, &ev, why)) > 0)
		;
	return rc;
}

int events_write(const char *path, const struct events_options *opt, struct out *o,
		 const char **incomplete, struct ms_err *err)
{
	char why[MEMSCOPE_ERROR] = "";
	struct events e = {.opt = opt, .o = o};
	struct memscope_trace_info info = {0};
	e.known = memscope_trace_open(path, why);
	e.trace = e.known ? memscope_trace_open(path, why) : NULL;
	int rc = e.trace ? read_all(e.known, why) : -1;
	if (rc == 0)
		rc = put_events(&e, why);
	if (rc < 0)
		ms_err_set(err, "%s", why);
	else
		memscope_trace_info(e.known, &info);
	bool whole =
		info.state && (!strcmp(info.state, "complete") || !strcmp(info.state, "growing"));
	*incomplete = whole ? NULL : info.state;
	memscope_trace_close(e.trace);
	memscope_trace_close(e.known);
	MS_FREE(e.frames, e.told, e.numbers);
	out_free(&e.text);
	bytes_free(&e.told_frames);
	ms_arena_free(&e.names);
	return rc < 0 ? -1 : 0;
}
