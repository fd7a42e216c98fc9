/* SPDX-License-Identifier: MIT
 * Makes the trace of a core dump.
 */
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump_blocks.h"
#include "dump_file.h"
#include "dump_join.h"
#include "dump_sites.h"
#include "dump_trace.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/units.h"
#include "ms-record/scan/scan.h"
#include "ms-record/scan/scan_image.h"
#include "ms-record/session/session_options.h"

struct dump {
	const struct dump_options *opt;
	struct dump_file file;
	struct dump_join join;
	struct dump_blocks blocks;
	struct dump_trace trace;
	struct ms_err *err;
	int failed;
};

static bool part(void *arg, uint64_t *start, uint64_t *end)
{
	return dump_part(arg, start, end);
}

/* Returns the registers of the threads, in memory to be freed. */
static struct scan_thread *threads_of(const struct dump_file *d)
{
	struct scan_thread *v = ms_xcalloc(d->thread_count + 1, sizeof *v);
	for (size_t i = 0; i < d->thread_count; i++) {
		const struct dump_thread *from = &d->threads[i];
		struct scan_thread *t = &v[i];
		size_t general = sizeof from->regs.all, room = sizeof t->regs - general;
		size_t more = from->vector_bytes < room ? (size_t)from->vector_bytes : room;
		memcpy(t->regs, &from->regs.all, general);
		memcpy((uint8_t *)t->regs + general, d->notes + from->vectors, more);
		t->reg_count = (unsigned)((general + more) / 8);
		t->sp = from->regs.sp;
		t->tp = from->regs.tp;
		t->ip = from->regs.ip;
		t->tid = (uint32_t)from->tid;
	}
	return v;
}

/* Says what the dump lacks, in `text`. */
static void say_missing(const struct dump *d, char *text, size_t room)
{
	char a[MS_UNIT_BUF];
	const struct dump_blocks *b = &d->blocks;
	size_t n = 0;
	text[0] = '\0';
	if (d->file.missing)
		n = (size_t)snprintf(text, room, "the file is cut: %s of its memory are missing%s",
				     ms_format_size(a, d->file.missing), b->why[0] ? "; " : "");
	snprintf(text + n, room - n, "%s", b->why);
}

/* Writes the blocks, once their types are known. */
static void write_blocks(void *arg, struct graph_block *v, uint32_t count,
			 const char *(*type)(const void *of, uint32_t block), const void *of)
{
	struct dump *d = arg;
	struct dump_sites sites = {.s = d->trace.s};
	uint32_t *order = dump_order(&d->blocks, v, count);
	for (uint32_t i = 0; i < count && !d->failed; i++) {
		struct graph_block *b = &v[order[i]];
		const struct dump_known *k = b->number ? &d->blocks.known[b->number - 1] : NULL;
		if (!k)
			b->stack = dump_site(&sites, type(of, order[i]), b->size);
		b->number = i;
		struct ms_event e = {.kind = MS_EV_ALLOC,
				     .address = b->address,
				     .size = b->size,
				     .stack = b->stack,
				     .number = i,
				     .time_ticks = k ? k->tick : 0,
				     .thread = k ? k->thread : 0,
				     .slack = k ? k->slack : 0};
		d->failed = dump_trace_add(&d->trace, &e, d->err);
	}
	dump_sites_free(&sites);
	free(order);
}

static int write_all(struct dump *d, const struct scan_options *scan)
{
	const struct attach_memory memory = dump_memory(&d->file);
	const struct memory_image image = {&d->file.maps, memory.read, part, memory.arg};
	struct scan_image in = {.memory = &image,
				.threads = threads_of(&d->file),
				.thread_count = d->file.thread_count,
				.blocks = d->blocks.v,
				.count = d->blocks.count,
				.wide = d->blocks.why[0],
				.unreadable = d->file.missing,
				.name = write_blocks,
				.arg = d};
	struct session *s = d->trace.s;
	d->blocks.v = NULL; /* the session frees them */
	snprintf(s->mem->allocator, sizeof s->mem->allocator, "%s",
		 d->blocks.glibc ? "glibc " : "");
	scan_image(s, scan, &in);
	return d->failed ? -1 : dump_trace_close(&d->trace, &d->file, d->blocks.glibc, d->err);
}

static void tell(const struct dump *d, const char *missing)
{
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF], c[MS_UNIT_BUF], e[MS_UNIT_BUF];
	const struct session *s = d->trace.s;
	const struct scan_result *r = scan_result(s->scan);
	if (*missing)
		fprintf(stderr, "ms-record: '%s' is incomplete: %s\n", d->opt->core, missing);
	if (d->opt->quiet)
		return;
	fprintf(stderr, "ms-record: %s (pid %d): %s live in %s block%s", s->name,
		(int)s->process.pid, ms_format_size(a, s->stats.live_bytes),
		ms_format_count(b, s->stats.live_blocks), s->stats.live_blocks == 1 ? "" : "s");
	if (d->blocks.known)
		fprintf(stderr, ", %s of them in '%s'", ms_format_count(c, d->blocks.joined),
			d->opt->trace);
	if (r->state == MS_SCAN_DONE)
		fprintf(stderr, ", %s in %s unreachable\n", ms_format_size(c, r->unreachable_bytes),
			ms_format_count(e, r->unreachable_blocks));
	else
		fprintf(stderr, "; not checked for leaks: %s\n", scan_state_words(r->state));
}

int dump_record(const struct dump_options *o, const struct session_options *session,
		const struct scan_options *scan, const struct files_options *files,
		struct ms_err *err)
{
	struct dump d = {.opt = o, .err = err};
	char missing[400];
	const struct dump_join *j = o->trace ? &d.join : NULL;
	int rc = dump_open(&d.file, o->core, o->exe, err);
	if (!rc && j)
		rc = dump_join_open(&d.join, o->trace, err);
	rc = rc ?: dump_find_blocks(&d.file, j, &d.blocks, err);
	if (!rc) {
		say_missing(&d, missing, sizeof missing);
		dump_trace_begin(&d.trace, &d.file, j, session);
		rc = dump_trace_open(&d.trace, &d.file, j, files, missing, err);
		rc = rc ?: write_all(&d, scan);
		if (rc)
			files_discard(&d.trace.files);
	}
	if (!rc)
		tell(&d, missing);
	dump_trace_free(&d.trace);
	free(d.blocks.v);
	dump_join_free(&d.join);
	dump_close(&d.file);
	return rc ? -1 : *missing != '\0';
}
