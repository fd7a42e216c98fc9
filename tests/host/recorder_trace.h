/* SPDX-License-Identifier: MIT
 * The trace that came out of a test of the recorder, read into arrays. Each program that includes
 * recorder_play.h includes it once, by that.
 */
#pragma once

static struct ms_event events[EVENTS_MAX];
static size_t event_count;
static struct ms_frame frames[FRAMES_MAX];
static struct ms_node nodes[FRAMES_MAX];
static size_t frame_count, node_count, marks, blocks;
static uint64_t mark_event, end_fields[64];
static char module_path[64]; /* the first module's */

static void read_end(const struct ms_block *b)
{
	const struct ms_column *c = ms_block_column(b, 1);
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	ms_record_reader_init(&r, c->data, c->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK) {
			if (b->type == MS_BLOCK_END && f.id < 64)
				end_fields[f.id] = f.value;
			if (b->type == MS_BLOCK_MODULES && f.id == MS_MODULE_PATH &&
			    !module_path[0])
				snprintf(module_path, sizeof module_path, "%.*s", (int)f.size,
					 (const char *)f.data);
			if (b->type == MS_BLOCK_MARKS && f.id == MS_MARK_EVENT)
				mark_event = f.value, marks++;
		}
}

static void read_block(const struct ms_block *b)
{
	if (b->type == MS_BLOCK_EVENTS) {
		static struct ms_event_decoder d;
		CHECK("event block", ms_event_decoder_init(&d, b->columns, b->column_count),
		      MS_FMT_OK);
		CHECK("first event", d.first_event, event_count);
		while (event_count < EVENTS_MAX &&
		       ms_event_next(&d, &events[event_count]) == MS_FMT_OK)
			event_count++;
	} else if (b->type == MS_BLOCK_STACKS) {
		static struct ms_stacks_decoder d;
		CHECK("stacks block", ms_stacks_decoder_init(&d, b->columns, b->column_count),
		      MS_FMT_OK);
		CHECK("first frame", d.first_frame, frame_count + 1);
		CHECK("first node", d.first_node, node_count + 1);
		while (ms_stacks_next_frame(&d, &frames[frame_count + 1]) == MS_FMT_OK)
			frame_count++;
		while (ms_stacks_next_node(&d, &nodes[node_count + 1]) == MS_FMT_OK)
			node_count++;
	} else if (b->type == MS_BLOCK_END || b->type == MS_BLOCK_MARKS ||
		   b->type == MS_BLOCK_MODULES) {
		read_end(b);
	}
}

/* 0, or -1 with `err` set: not even a header. */
static int read_blocks(enum ms_trace_state *state, struct ms_err *err)
{
	struct ms_block b;
	enum ms_trace_next next;
	event_count = frame_count = node_count = marks = blocks = 0;
	memset(end_fields, 0, sizeof end_fields);
	module_path[0] = '\0';
	struct ms_trace *t = ms_trace_open("trace", err);
	if (!t)
		return -1;
	while ((next = ms_trace_next(t, 0, 1, &b, err)) == MS_NEXT_BLOCK) {
		read_block(&b);
		blocks++;
	}
	CHECK("end of the trace", next, MS_NEXT_EOF);
	*state = ms_trace_state(t);
	ms_trace_close(t);
	return 0;
}

static void read_trace(void)
{
	struct ms_err err = {0};
	enum ms_trace_state state;
	if (read_blocks(&state, &err)) {
		printf("%s: %s\n", test_name, err.text);
		exit(1);
	}
	CHECK("state of the trace", state, MS_TRACE_ENDED);
	CHECK("events in the end block", end_fields[MS_END_EVENTS], event_count);
}

/* Frames of a stack, innermost first; returns how many. */
static size_t stack_of(uint32_t node, struct ms_frame *out, size_t max)
{
	size_t n = 0;
	for (; node && n < max; node = nodes[node].parent)
		out[n++] = frames[nodes[node].frame];
	return n;
}
