/* SPDX-License-Identifier: MIT
 * Traces made by hand for the tests of what reads them.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"

#define MADE_EVENTS 4096

struct made {
	int fd;
	struct ms_trace_writer *w;
	struct ms_event_encoder events;
	void *event_memory;
	uint64_t number, event, now; /* next allocation and event numbers; ns */
	uint32_t frames, nodes;
	uint8_t record_memory[1 << 16];
	struct ms_record_writer records;
};

static inline void made_die(const char *what, const struct ms_err *err)
{
	printf("cannot make a trace: %s: %s\n", what, err ? err->text : "");
	exit(1);
}

static inline void made_open(struct made *m, const char *path)
{
	struct ms_err err = {0};
	struct ms_trace_head head = {.major = MS_TRACE_MAJOR,
				     .minor = MS_TRACE_MINOR,
				     .machine = 62,
				     .address_bytes = 8,
				     .tick_ns = MS_TRACE_TICK_NS};
	memset(m, 0, sizeof *m);
	m->fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	m->w = ms_trace_writer_new(m->fd, &head, 1, &err);
	if (!m->w)
		made_die(path, &err);
	m->event_memory = malloc(MS_EVENT_MEMORY(MADE_EVENTS));
	m->frames = m->nodes = 1;
}

static inline void made_block(struct made *m, unsigned type, const struct ms_column *c, size_t n)
{
	struct ms_err err = {0};
	if (ms_trace_write(m->w, (uint16_t)type, m->now, m->now, c, n, &err) != 0)
		made_die("block", &err);
}

/* A block of one record: made_records(&m); ms_record_number(&m.records, ...); made_write(&m, type).
 */
static inline void made_records(struct made *m)
{
	ms_record_writer_init(&m->records, m->record_memory, sizeof m->record_memory);
	ms_record_begin(&m->records);
}
static inline void made_next_record(struct made *m)
{
	if (!ms_record_end(&m->records))
		made_die("records", NULL);
	ms_record_begin(&m->records);
}
static inline void made_write(struct made *m, unsigned type)
{
	if (!ms_record_end(&m->records))
		made_die("records", NULL);
	struct ms_column c = ms_record_column(&m->records);
	made_block(m, type, &c, 1);
}

static inline void made_info(struct made *m, uint64_t pid, uint64_t start_mono)
{
	made_records(m);
	ms_record_number(&m->records, MS_INFO_PID, pid);
	ms_record_string(&m->records, MS_INFO_EXE, "/bin/app");
	ms_record_string(&m->records, MS_INFO_ARG, "app");
	ms_record_string(&m->records, MS_INFO_ARG, "--say=\"hi\"\n");
	ms_record_number(&m->records, MS_INFO_START_WALL,
			 UINT64_C(1700000000000000000)); /* 22:13:20 UTC */
	ms_record_number(&m->records, MS_INFO_START_MONO, start_mono);
	ms_record_string(&m->records, MS_INFO_BOOT_ID, "boot");
	made_write(m, MS_BLOCK_INFO);
}

static inline void made_stacks(struct made *m, const struct ms_frame *f, uint32_t frames,
			       const struct ms_node *n, uint32_t nodes)
{
	struct ms_stacks_encoder e;
	struct ms_column c[MS_STACKS_COLUMNS];
	void *memory = malloc(MS_STACKS_MEMORY(frames, nodes));
	ms_stacks_encoder_init(&e, memory, frames, nodes);
	ms_stacks_encoder_begin(&e, m->frames, m->nodes);
	for (uint32_t i = 0; i < frames; i++)
		ms_stacks_put_frame(&e, &f[i]);
	for (uint32_t i = 0; i < nodes; i++)
		ms_stacks_put_node(&e, &n[i]);
	made_block(m, MS_BLOCK_STACKS, c, ms_stacks_encoder_finish(&e, c));
	m->frames += frames;
	m->nodes += nodes;
	free(memory);
}

/* Events in one block; their allocation numbers are set. */
static inline void made_events(struct made *m, struct ms_event *ev, size_t n)
{
	struct ms_column c[MS_EVENT_COLUMNS];
	ms_event_encoder_init(&m->events, m->event_memory, MADE_EVENTS);
	ms_event_encoder_begin(&m->events, m->number, m->event, n ? ev[0].time_ticks : 0);
	for (size_t i = 0; i < n; i++) {
		ev[i].number = ms_event_next_number(&m->events);
		if (ms_event_put(&m->events, &ev[i]) != MS_FMT_OK)
			made_die("event", NULL);
		m->now = ev[i].time_ticks * MS_TRACE_TICK_NS;
	}
	m->number = ms_event_next_number(&m->events);
	m->event += n;
	size_t columns = ms_event_encoder_finish(&m->events, c);
	made_block(m, MS_BLOCK_EVENTS, c, columns);
}

static inline void made_end(struct made *m, uint64_t time_ns, const char *successor)
{
	made_records(m);
	ms_record_number(&m->records, MS_END_TIME, time_ns);
	ms_record_number(&m->records, MS_END_STATUS, 0);
	ms_record_number(&m->records, MS_END_EVENTS, m->event);
	ms_record_number(&m->records, MS_END_REASON, successor ? MS_ENDED_EXEC : MS_ENDED_EXIT);
	if (successor)
		ms_record_string(&m->records, MS_END_SUCCESSOR, successor);
	ms_record_string(&m->records, MS_END_ALLOCATOR, "glibc 2.36");
	m->now = time_ns;
	made_write(m, MS_BLOCK_END);
}

static inline void made_close(struct made *m)
{
	ms_trace_writer_free(m->w);
	close(m->fd);
	free(m->event_memory);
}
