/* SPDX-License-Identifier: MIT
 * Fuzzes what ms-record reads from the memory that it shares with the recorded process: records,
 * counters, modules. Whatever is there, the trace that comes out is whole and its books balance.
 *
 * Input: one byte of options, then steps { what | ring << 4, length low, length high, bytes }.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "folder.h"
#include "fuzz.h"
#include "format/trace.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/heap/heap.h"
#include "ms-record/code/attach_modules.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session_options.h"

/* round_session and conclude are its own */
#include "ms-record/drain/drain.c"

#define RINGS 3u
#define MODULES 16u
#define WINDOW (UINT64_C(32) << 10)
#define STEPS 64
#define DSO_BYTES 8192

enum { RECORDS, PENDING, HEAD, MODULE, MODULE_COUNT, COUNTERS, EPOCH, LOOK, TEXT, PATCH };

static struct writer writer;
static struct session_options opt;
static struct ms_event_decoder decoder;

/* The kernel's own little library is a module whose file is there. */
static void make_files(void)
{
	static const char maps[] =
		"7f0000000000-7f0000002000 r-xp 00000000 00:00 0 /m\n"
		"7f0000010000-7f0000011000 rwxp 00000000 00:00 0 \n"
		"7f0000020000-7f0000021000 r-xp 00001000 00:00 0 /gone (deleted)\n";
	fuzz_file(fuzz_folder(), "maps", maps, sizeof maps - 1);
	fuzz_file(fuzz_folder(), "task/7/comm", "seven\n", 6);
}

static void make_module_file(void)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	fuzz_file(fuzz_folder(), "root/m", vdso, vdso ? DSO_BYTES : 0);
}

static struct session *make_session(int fd)
{
	struct session *s = ms_xrealloc(NULL, 1, sizeof *s);
	memset(s, 0, sizeof *s);
	s->opt = &opt;
	s->hooks = &opt.hooks;
	s->writer = &writer;
	s->out = output_new(fd, "trace");
	s->out->keep_fd_open = true;
	s->process.pidfd = -1;
	s->settled = true;
	s->end.status = -1;
	s->same_pidns = true;
	s->process.folder = dup(fuzz_folder());
	s->process.exe = strdup("/m");
	s->name = strdup("m");
	static uint64_t used;
	static struct pool pool;
	s->pool = &pool;
	s->buffer_used = &used;
	s->modules.table_max = s->modules.backed = MODULES;
	s->rings.max = s->rings.prepared = RINGS;
	s->mem = aligned_alloc(64, sizeof *s->mem);
	s->modules.table = ms_xrealloc(NULL, MODULES, sizeof *s->modules.table);
	s->rings.shared = aligned_alloc(64, RINGS * sizeof *s->rings.shared);
	memset(s->mem, 0, sizeof *s->mem);
	pool.head = s->mem;
	memset(s->modules.table, 0, MODULES * sizeof *s->modules.table);
	memset(s->rings.shared, 0, RINGS * sizeof *s->rings.shared);
	pthread_mutex_init(&s->queued.lock, NULL);
	clock_start(&s->clock, &s->mem->sequence);
	s->rings.readers = ms_xrealloc(NULL, RINGS, sizeof *s->rings.readers);
	memset(s->rings.readers, 0, RINGS * sizeof *s->rings.readers);
	for (uint32_t i = 0; i < RINGS; i++) {
		struct reader *r = &s->rings.readers[i];
		r->ring = &s->rings.shared[i];
		r->window = ms_xrealloc(NULL, WINDOW, 1);
		memset((void *)r->window, 0, WINDOW);
		r->window_bytes = WINDOW;
		r->thread = UINT32_MAX;
		r->prepared = true;
		r->allowed = MG_RING_LARGEST;
		r->ring->state = MG_RING_TAKEN;
	}
	stacks_init(&s->stacks);
	session_link(s);
	s->drained = ms_xcalloc(1, sizeof *s->drained);
	s->heap = ms_xcalloc(1, sizeof *s->heap);
	live_init(&s->heap->live);
	s->scan = scan_new();
	s->modules.entries = ms_xrealloc(NULL, MODULES, sizeof *s->modules.entries);
	return s;
}

static void free_session(struct session *s)
{
	for (uint32_t i = 0; i < RINGS; i++)
		free((void *)s->rings.readers[i].window);
	free(s->rings.shared);
	free(s->modules.table);
	free(s->mem);
	recording_free(s);
}

/* ---- steps ---- */

/* Writes records as the guest would, where the reader is, so that they follow each other. */
static void put_records(struct reader *r, const uint8_t *data, size_t n)
{
	if (r->offset >= WINDOW)
		return;
	size_t room = WINDOW - r->offset;
	n = n < room ? n : room;
	memcpy((uint8_t *)r->window + r->offset, data, n);
	r->ring->head += n;
}

static void put_module(struct session *s, const uint8_t *data, size_t n)
{
	uint32_t i = s->mem->module_count;
	if (i >= MODULES)
		return;
	struct mg_module *m = &s->modules.table[i];
	/* A module whose file is there, unless the bytes say otherwise. */
	*m = (struct mg_module){.start = UINT64_C(0x7f0000000000),
				.end = UINT64_C(0x7f0000002000),
				.bias = UINT64_C(0x7f0000000000)};
	memcpy(m, data, n < sizeof *m ? n : sizeof *m);
	s->mem->module_count = i + 1;
}

/* n numbers of the shared memory, from `at` on. */
static void put(void *at, size_t room, const uint8_t *data, size_t n)
{
	memcpy(at, data, n < room ? n : room);
}

/* Damage in the module's file, at { offset low, offset high }. */
static void patch(const uint8_t *data, size_t n)
{
	if (n < 3)
		return;
	int fd = openat(fuzz_folder(), "root/m", O_WRONLY | O_CLOEXEC);
	off_t at = (data[0] | data[1] << 8) % DSO_BYTES;
	if (fd < 0 || pwrite(fd, data + 2, n - 2, at) < 0)
		exit(2);
	close(fd);
}

static void step(struct session *s, unsigned what, unsigned ring, const uint8_t *data, size_t n)
{
	struct reader *r = &s->rings.readers[ring % RINGS];
	struct mg_ring *g = r->ring;
	switch (what) {
	case RECORDS:
		put_records(r, data, n & ~(size_t)7);
		break;
	case PENDING:
		put(&g->pending, sizeof g->pending, data, n);
		break;
	case HEAD:
		put(&g->head, sizeof g->head, data, n);
		break;
	case MODULE:
		put_module(s, data, n);
		break;
	case MODULE_COUNT:
		put(&s->mem->module_count, sizeof s->mem->module_count, data, n);
		break;
	case COUNTERS:
		put(&g->tid, sizeof *g - offsetof(struct mg_ring, tid), data, n);
		break;
	case EPOCH:
		put(&s->modules.table[ring % MODULES].loaded, 16, data, n);
		s->mem->epoch++;
		break;
	case LOOK:
		s->drained->looked_ns = s->drained->flushed_ns = 0;
		break;
	case TEXT:
		put(&s->mem->sequence, sizeof *s->mem - offsetof(struct mg_session, sequence) - 64,
		    data, n);
		break;
	case PATCH:
		patch(data, n);
		break;
	}
}

/* Does a round as drain.c does, without making more rings. */
static void take_round(struct session *s)
{
	if (!s->damaged)
		round_events(s);
	if (!s->drained->looked_ns) {
		s->drained->looked_ns = 1;
		threads_look(s, false);
		ring_return(s, true);
	}
	for (uint32_t i = 0; i < RINGS; i++)
		if (s->rings.readers[i].taken)
			losses_take(s, &s->rings.readers[i]);
		else /* a new thread takes it */
			s->rings.readers[i].ring->state = MG_RING_TAKEN;
}

/* ---- what came out ---- */

static void broken(const char *why)
{
	fprintf(stderr, "broken: %s\n", why);
	abort();
}

static void check_trace(const struct session *s, const char *path)
{
	struct ms_err err = {0};
	struct ms_block b;
	struct ms_event ev;
	enum ms_trace_next r;
	uint64_t events = 0;
	struct ms_trace *t = ms_trace_open(path, &err);
	if (!t)
		broken(err.text);
	while ((r = ms_trace_next(t, 0, 0, &b, &err)) == MS_NEXT_BLOCK) {
		if (b.type != MS_BLOCK_EVENTS)
			continue;
		if (ms_event_decoder_init(&decoder, b.columns, b.column_count) != MS_FMT_OK ||
		    decoder.first_event != events)
			broken("event block");
		while (ms_event_next(&decoder, &ev) == MS_FMT_OK)
			events++;
	}
	if (r != MS_NEXT_EOF || ms_trace_state(t) != MS_TRACE_ENDED)
		broken("the trace has no end");
	if (events != s->stats.events)
		broken("events are missing");
	ms_trace_close(t);
}

static void check_books(const struct session *s, const char *path)
{
	static const char *const points[] = {"peak", "end"};
	struct ms_build_options build = {.no_symbols = true, .points = points, .point_count = 2};
	struct ms_build_result res;
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_build(&path, 1, &build, &res, &err);
	if (!db)
		broken(err.text);
	if (ms_sql_int(db, "SELECT allocations FROM process", -1) !=
		    (int64_t)s->stats.allocations ||
	    ms_sql_int(db, "SELECT frees FROM process", -1) != (int64_t)s->stats.frees ||
	    ms_sql_int(db, "SELECT unfreed_blocks FROM process", -1) !=
		    (int64_t)s->stats.live_blocks)
		broken("other sums than the recorder's");
	sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool ready;
	char path[64];
	if (!ready) {
		make_files();
		if (writer_start(&writer, -1))
			exit(2);
		ready = true;
	}
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || n < 1 || n > 1 << 16) {
		close(fd);
		return 0;
	}
	make_module_file();
	opt = (struct session_options){.depth = data[0] & 1 ? 8 : 512};
	unsigned steps = 0;
	struct session *s = make_session(fd);
	s->ending = data[0] & 2 ? SESSION_EXITED : SESSION_RUNS;
	s->launched = data[0] & 4;
	s->modules.attached = data[0] & 16 ? attach_modules_new() : NULL;
	for (size_t at = 1; at + 3 <= n && steps < STEPS; steps++) {
		size_t size = data[at + 1] | (size_t)data[at + 2] << 8;
		if (size > n - at - 3)
			size = n - at - 3;
		step(s, data[at] & 15, data[at] >> 4, data + at + 3, size);
		take_round(s);
		at += 3 + size;
	}
	s->ending = SESSION_EXITED;
	conclude(s);
	while (!__atomic_load_n(&s->out->closed, __ATOMIC_ACQUIRE))
		usleep(20);
	if (s->out->failed)
		broken(s->out->err.text);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	check_trace(s, path);
	if (data[0] & 8)
		check_books(s, path);
	free_session(s);
	close(fd);
	return 0;
}
