/* SPDX-License-Identifier: MIT
 * A program of somebody else that uses libmemscope: process [PID], or trace FILE. Prints what it
 * found, a figure in a line.
 */
#include <inttypes.h>
#include <memscope-read.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x)                                                                                   \
	do                                                                                         \
		if (!(x)) {                                                                        \
			printf("line %d: not so: %s (%s)\n", __LINE__, #x, error);                 \
			exit(1);                                                                   \
		}                                                                                  \
	while (0)

static char error[MEMSCOPE_ERROR];

struct five {
	struct memscope_ring *ring;
	int seen;
};

static int count_to_five(void *arg, const struct memscope_sample *s)
{
	struct five *five = arg;
	memscope_ring_add(five->ring, s);
	return s->rss_bytes && ++five->seen == 5;
}

static void process(pid_t pid)
{
	struct memscope_sample s;
	CHECK(!memscope_process_open(1 << 22, error) && strstr(error, "no process"));
	CHECK(!memscope_process_open(1 << 22, NULL));
	struct memscope_process *p = memscope_process_open(pid, error);
	CHECK(p && memscope_process_pid(p) == pid && *memscope_process_name(p));
	CHECK(memscope_process_sample(p, 1, &s) == 1 && s.pss_bytes != MEMSCOPE_UNKNOWN);
	printf("rss %" PRIu64 "\nheap %" PRIu64 "\nvsz %" PRIu64 "\n", s.rss_bytes, s.heap_bytes,
	       s.vsz_bytes);
	size_t n;
	const struct memscope_region *v = memscope_process_regions(p, 1, &n, error);
	CHECK(v && n > 5);
	uint64_t rss = 0;
	for (size_t i = 0; i < n; i++)
		rss += v[i].rss_bytes;
	printf("regions %zu\nregions_rss %" PRIu64 "\n", n, rss);
	char *json = memscope_regions_json(v, n);
	CHECK(json);
	printf("regions_json %s\n", json);
	free(json);
	v = memscope_process_regions(p, 0, &n, error);
	CHECK(v && v[0].rss_bytes == MEMSCOPE_UNKNOWN);
	struct memscope_ring *ring = memscope_ring_new(3);
	struct five five = {ring, 0};
	CHECK(memscope_process_watch(p, 1, count_to_five, &five, error) == -1);
	CHECK(memscope_process_watch(p, 5000000, count_to_five, &five, error) == 1);
	CHECK(five.seen == 5);
	CHECK(memscope_ring_count(ring) == 3 && !memscope_ring_get(ring, 3));
	CHECK(memscope_ring_get(ring, 0)->time_ns < memscope_ring_get(ring, 1)->time_ns);
	CHECK(memscope_ring_trend(ring, NULL, NULL) == MEMSCOPE_TOO_SHORT);
	json = memscope_ring_json(ring);
	printf("ring_json %s\n", json);
	free(json);
	json = memscope_sample_json(&s);
	printf("sample_json %s\n", json);
	free(json);
	memscope_ring_free(ring);
	memscope_process_close(p);
}

/* A series of 30 s that grows by 1 MB a second. */
static void trend(void)
{
	struct memscope_ring *ring = memscope_ring_new(100);
	double rate, confidence;
	for (uint64_t i = 0; i < 130; i++) {
		struct memscope_sample s = {.time_ns = i * 300000000,
					    .heap_bytes = 5000000 + i * 300000};
		memscope_ring_add(ring, &s);
	}
	CHECK(memscope_ring_trend(ring, &rate, &confidence) == MEMSCOPE_GROWING);
	CHECK(rate > 999000 && rate < 1001000 && confidence > 0.9);
	memscope_ring_free(ring);
}

/* Prints the frames of a call stack that the test looks for. */
static void print_stack(struct memscope_trace *t, uint32_t stack)
{
	struct memscope_frame frames[64];
	size_t n = memscope_trace_stack(t, stack, frames, 64);
	CHECK(n && n <= 64 && memscope_trace_stack(t, stack, NULL, 0) == n);
	CHECK(memscope_trace_stack(t, 0, frames, 64) == 0 &&
	      memscope_trace_stack(t, UINT32_MAX, frames, 64) == 0);
	for (size_t i = 0; i < n; i++)
		if (frames[i].function && strcmp(frames[i].function, "load_table") == 0)
			printf("largest %s:%u\n", frames[i].file, frames[i].line);
	for (size_t i = 0; i < n; i++)
		if (!frames[i].is_address && frames[i].file)
			printf("interpreted %s %s:%u%s\n", frames[i].function, frames[i].file,
			       frames[i].line,
			       frames[i].address == MEMSCOPE_UNKNOWN &&
					       frames[i].offset == MEMSCOPE_UNKNOWN
				       ? ""
				       : " with an address");
}

static void trace(const char *path)
{
	struct memscope_event ev;
	struct memscope_trace_info info;
	uint64_t events[MEMSCOPE_UNMAP + 1] = {0}, allocated = 0, freed = 0, live = 0,
					 addresses = 0;
	uint32_t stack = 0;
	uint64_t largest = 0, last = 0;
	int rc;
	CHECK(!memscope_trace_open("/dev/null", error));
	CHECK(!memscope_trace_open("no-such-file", NULL));
	struct memscope_trace *t = memscope_trace_open(path, error);
	CHECK(t);
	while ((rc = memscope_trace_next(t, &ev, error)) > 0) {
		events[ev.kind]++;
		CHECK(ev.time_ns >= last);
		last = ev.time_ns;
		if (ev.number != MEMSCOPE_UNKNOWN) {
			allocated += ev.size;
			live++;
			addresses += ev.address != MEMSCOPE_UNKNOWN;
			if (ev.size > largest) {
				largest = ev.size;
				stack = ev.stack;
			}
		}
		if (ev.old_number != MEMSCOPE_UNKNOWN) {
			freed += ev.old_size;
			live--;
		}
	}
	CHECK(rc == 0);
	CHECK(memscope_trace_next(t, &ev, error) == 0);
	memscope_trace_info(t, &info);
	printf("allocations %" PRIu64 "\nfrees %" PRIu64 "\nreallocations %" PRIu64
	       "\nallocated_bytes %" PRIu64 "\nunfreed_bytes %" PRIu64 "\nunfreed_blocks %" PRIu64
	       "\nexit %" PRIu64 "\nstate %s\naddresses %d\n",
	       events[MEMSCOPE_ALLOC] + events[MEMSCOPE_REALLOC],
	       events[MEMSCOPE_FREE] + events[MEMSCOPE_REALLOC], events[MEMSCOPE_REALLOC],
	       allocated, allocated - freed, live, info.exit_status, info.state,
	       addresses == events[MEMSCOPE_ALLOC] + events[MEMSCOPE_REALLOC]);
	print_stack(t, stack);
	uint64_t ns;
	const char *name;
	for (size_t i = 0; memscope_trace_mark(t, i, &ns, &name); i++)
		printf("mark %s\n", name);
	struct memscope_sample s;
	CHECK(memscope_trace_sample(t, 0, &s) && s.rss_bytes != MEMSCOPE_UNKNOWN);
	memscope_trace_close(t);
}

int main(int argc, char **argv)
{
	CHECK(memscope_read_version() == MEMSCOPE_READ_VERSION);
	if (argc == 3 && strcmp(argv[1], "trace") == 0)
		trace(argv[2]);
	else
		process(argc == 3 ? (pid_t)atoi(argv[2]) : getpid());
	trend();
	return 0;
}
