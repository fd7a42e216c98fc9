/* SPDX-License-Identifier: MIT
 * libmemscope: the memory of running processes, and traces of MemScope, for other programs.
 * memscope-read(3).
 *
 * Functions that can fail take `error`, a buffer of MEMSCOPE_ERROR bytes or NULL, and say there
 * why. An object is for one thread at a time. Sizes are bytes, times ns. What is not known is
 * MEMSCOPE_UNKNOWN.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define MEMSCOPE_READ_VERSION 1
#define MEMSCOPE_UNKNOWN UINT64_MAX
#define MEMSCOPE_ERROR 1024

/* The version that the library has. */
int memscope_read_version(void);

/* ---- a process ---- */

struct memscope_process;

struct memscope_sample {
	uint64_t time_ns;    /* since the process was opened */
	uint64_t rss_bytes;  /* resident */
	uint64_t heap_bytes; /* of it, brk and private anonymous memory */
	uint64_t vsz_bytes;  /* address space */
	/* Known where the kernel looked at every page for this sample, else unknown: */
	uint64_t pss_bytes, private_bytes, shared_bytes, swap_bytes;
	/* At most ten times a second, else unknown: */
	uint64_t minor_faults, major_faults, user_ns, system_ns, threads;
};

enum memscope_kind {
	MEMSCOPE_HEAP,
	MEMSCOPE_STACK,
	MEMSCOPE_CODE,
	MEMSCOPE_SHARED_LIB,
	MEMSCOPE_MAPPED_FILE,
	MEMSCOPE_ANONYMOUS,
	MEMSCOPE_VDSO,
	MEMSCOPE_VVAR,
	MEMSCOPE_VSYSCALL,
	MEMSCOPE_OTHER
};

struct memscope_region {
	uint64_t start, end, file_offset;
	enum memscope_kind kind;
	char perms[5];    /* "rw-p" */
	const char *path; /* "" = none */
	uint64_t rss_bytes, pss_bytes, shared_clean_bytes, shared_dirty_bytes, private_clean_bytes,
		private_dirty_bytes, swap_bytes;
};

/* Opens process `pid`; it is this one for ever, though its number be given anew. NULL with `error`
 * set. */
struct memscope_process *memscope_process_open(pid_t pid, char *error);
void memscope_process_close(struct memscope_process *p);
/* Its number, and what the kernel called it when it was opened. */
pid_t memscope_process_pid(const struct memscope_process *p);
const char *memscope_process_name(const struct memscope_process *p);

/* Samples now. With `exact` not 0 the kernel looks at every page, which takes about 12 ms for each
 * resident GB; else it does so at most once a second and for at most 1 % of the time. 1; 0 when the
 * process has ended. */
int memscope_process_sample(struct memscope_process *p, int exact, struct memscope_sample *out);
/* Samples every `interval_ns` (at least 1 ms) and calls `f`, until that returns other than 0, or
 * the process ends. What `f` returned, or 0; -1 with `error` set. */
int memscope_process_watch(struct memscope_process *p, uint64_t interval_ns,
			   int (*f)(void *arg, const struct memscope_sample *sample), void *arg,
			   char *error);
/* Its regions in order of address, *n of them, valid until the next call; figures are unknown
 * unless `figures` is not 0. NULL with `error` set: ended, or not permitted. */
const struct memscope_region *memscope_process_regions(struct memscope_process *p, int figures,
						       size_t *n, char *error);
/* "heap", "shared_lib", ... */
const char *memscope_kind_name(enum memscope_kind kind);

/* ---- the last samples ---- */

/* Keeps the last `n` samples (at least 1). NULL: no memory. */
struct memscope_ring *memscope_ring_new(size_t n);
void memscope_ring_free(struct memscope_ring *r);
void memscope_ring_add(struct memscope_ring *r, const struct memscope_sample *s);
size_t memscope_ring_count(const struct memscope_ring *r);
/* The i-th of them, 0 the oldest; NULL when there is none. */
const struct memscope_sample *memscope_ring_get(const struct memscope_ring *r, size_t i);

enum memscope_trend {
	MEMSCOPE_TOO_SHORT, /* under 10 s or 16 samples */
	MEMSCOPE_STEADY,
	MEMSCOPE_STEP,
	MEMSCOPE_FILLING,
	MEMSCOPE_FALLING,
	MEMSCOPE_GROWING,
	MEMSCOPE_DOUBLING /* in jumps, each about twice the one before */
};
/* Returns the trend of the heap over the samples kept: bytes a second, and of a growing one how
 * sure that is, 0 to 1. Either pointer may be NULL. */
enum memscope_trend memscope_ring_trend(const struct memscope_ring *r, double *rate,
					double *confidence);

/* ---- JSON ---- */

/* Each returns a malloc'ed, NUL-ended text, NULL without memory. Unknown is null. */
char *memscope_sample_json(const struct memscope_sample *s);
/* An array, oldest first. */
char *memscope_ring_json(const struct memscope_ring *r);
char *memscope_regions_json(const struct memscope_region *v, size_t n);

/* ---- a trace ---- */

struct memscope_trace;

enum memscope_event_kind {
	MEMSCOPE_ALLOC,
	MEMSCOPE_FREE,
	MEMSCOPE_REALLOC,      /* frees `old`, makes a block */
	MEMSCOPE_FAILED,       /* an allocation that returned NULL */
	MEMSCOPE_FREE_UNKNOWN, /* of a block that was not recorded */
	MEMSCOPE_MAP,          /* address space, with ms-record --mmap */
	MEMSCOPE_UNMAP
};

struct memscope_event {
	enum memscope_event_kind kind;
	uint64_t time_ns; /* since the recording began */
	uint32_t thread;  /* index, from 0 */
	uint32_t stack;   /* for memscope_trace_stack; 0 = none */
	uint64_t number;  /* of the block made, from 0 */
	uint64_t size, address;
	/* The block that is freed: */
	uint64_t old_number, old_size, old_address;
	uint32_t old_stack; /* that allocated it */
	int inferred;       /* the free was not seen: its address was given out again */
};

struct memscope_frame {
	uint64_t address;     /* of an interpreted program not known, as is offset */
	const char *module;   /* path, or NULL; as the rest, valid until the trace is closed */
	uint64_t offset;      /* of the address in the module's file, for a symbolizer */
	const char *function; /* NULL unless the trace has symbols, or the program is interpreted */
	const char *file;
	uint32_t line; /* 0 = not known */
	int inlined;   /* into the frame that follows */
	/* 0: a line of an interpreted program, when there is a file; else no frame, but a note that
	 * callers are missing here. */
	int is_address;
};

struct memscope_trace_info {
	uint64_t pid;
	const char *exe;                  /* or NULL */
	uint64_t started_ns, duration_ns; /* since 1970; so far */
	uint64_t exit_status, exit_signal;
	const char *state; /* "complete", "growing", "no end", "damaged"; NULL before the end */
};

/* Opens a trace ("-" = standard input). NULL with `error` set. */
struct memscope_trace *memscope_trace_open(const char *path, char *error);
void memscope_trace_close(struct memscope_trace *t);
/* The next event, in exact order over all threads. 1; 0 at the end (of a trace that grows: for
 * now); -1 with `error` set. Damaged places are stepped over: state says so at the end. */
int memscope_trace_next(struct memscope_trace *t, struct memscope_event *ev, char *error);
/* Fills `out` with the frames of a stack that an event named, innermost first, at most `max`;
 * inlined ones are frames too. Returns how many there are in all. */
size_t memscope_trace_stack(struct memscope_trace *t, uint32_t stack, struct memscope_frame *out,
			    size_t max);
/* Fills `out` with what is known by now; exit and state at the end. */
void memscope_trace_info(struct memscope_trace *t, struct memscope_trace_info *out);
/* Fills `out` with the i-th /proc sample met by now; memscope_trace_mark gives the i-th mark. 1, or
 * 0 when there is none. */
int memscope_trace_sample(struct memscope_trace *t, size_t i, struct memscope_sample *out);
int memscope_trace_mark(struct memscope_trace *t, size_t i, uint64_t *time_ns, const char **name);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
