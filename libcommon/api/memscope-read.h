/* SPDX-License-Identifier: MIT
 * libmemscope: the memory of running processes, and traces of MemScope, for other programs. See
 * memscope-read(3).
 *
 * Functions that can fail take `error`, a buffer of MEMSCOPE_ERROR bytes or NULL, for the message.
 * An object may be used by one thread at a time. Sizes are in bytes, times in ns. Unknown figures
 * are MEMSCOPE_UNKNOWN.
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

/* Returns the version of the library at run time. */
int memscope_read_version(void);

/* ---- a process ---- */

struct memscope_process;

struct memscope_sample {
	uint64_t time_ns;    /* since the process was opened */
	uint64_t rss_bytes;  /* resident memory */
	uint64_t heap_bytes; /* resident brk and private anonymous memory */
	uint64_t vsz_bytes;  /* address space */
	/* Known if the kernel visited every page for this sample, else unknown: */
	uint64_t pss_bytes, private_bytes, shared_bytes, swap_bytes;
	/* Known in at most ten samples a second, else unknown: */
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

/* Opens process `pid`. The object keeps referring to this process, even if the pid is reused.
 * Returns NULL with `error` set on failure. */
struct memscope_process *memscope_process_open(pid_t pid, char *error);
void memscope_process_close(struct memscope_process *p);
/* Returns the pid; memscope_process_name returns the process's name when it was opened. */
pid_t memscope_process_pid(const struct memscope_process *p);
const char *memscope_process_name(const struct memscope_process *p);

/* Takes a sample. If `exact` is not 0, the kernel visits every page, which takes about 12 ms per GB
 * of resident memory; else it does so at most once a second and for at most 1 % of the time.
 * Returns 1, or 0 if the process has ended. */
int memscope_process_sample(struct memscope_process *p, int exact, struct memscope_sample *out);
/* Takes a sample every `interval_ns` (at least 1 ms) and passes it to `f`, until `f` returns a
 * value other than 0 or the process ends. Returns the last value of `f`, or 0; -1 with `error`
 * set. */
int memscope_process_watch(struct memscope_process *p, uint64_t interval_ns,
			   int (*f)(void *arg, const struct memscope_sample *sample), void *arg,
			   char *error);
/* Returns the *n regions of the process in address order, valid until the next call. Without
 * `figures`, their figures are unknown. Returns NULL with `error` set: the process has ended, or
 * access is not permitted. */
const struct memscope_region *memscope_process_regions(struct memscope_process *p, int figures,
						       size_t *n, char *error);
/* Returns "heap", "shared_lib", ... */
const char *memscope_kind_name(enum memscope_kind kind);

/* ---- the last samples ---- */

/* Creates a ring of the last `n` samples (at least 1). NULL = out of memory. */
struct memscope_ring *memscope_ring_new(size_t n);
void memscope_ring_free(struct memscope_ring *r);
void memscope_ring_add(struct memscope_ring *r, const struct memscope_sample *s);
size_t memscope_ring_count(const struct memscope_ring *r);
/* Returns sample `i`, 0 = the oldest; NULL = there is none. */
const struct memscope_sample *memscope_ring_get(const struct memscope_ring *r, size_t i);

enum memscope_trend {
	MEMSCOPE_TOO_SHORT, /* less than 10 s or 16 samples */
	MEMSCOPE_STEADY,
	MEMSCOPE_STEP,
	MEMSCOPE_FILLING,
	MEMSCOPE_FALLING,
	MEMSCOPE_GROWING,
	MEMSCOPE_DOUBLING /* rises in jumps, each about twice the one before */
};
/* Returns the trend of the heap over the samples in the ring. *rate: bytes per second; *confidence:
 * 0 to 1, for a growing heap. Either pointer may be NULL. */
enum memscope_trend memscope_ring_trend(const struct memscope_ring *r, double *rate,
					double *confidence);

/* ---- JSON ---- */

/* Return a malloc'ed, NUL-terminated text; NULL = out of memory. Unknown figures are null. */
char *memscope_sample_json(const struct memscope_sample *s);
/* Returns the samples as an array, oldest first. */
char *memscope_ring_json(const struct memscope_ring *r);
char *memscope_regions_json(const struct memscope_region *v, size_t n);

/* ---- a trace ---- */

struct memscope_trace;

enum memscope_event_kind {
	MEMSCOPE_ALLOC,
	MEMSCOPE_FREE,
	MEMSCOPE_REALLOC,      /* frees `old_*`, allocates a block */
	MEMSCOPE_FAILED,       /* an allocation that returned NULL */
	MEMSCOPE_FREE_UNKNOWN, /* the block was not recorded */
	MEMSCOPE_MAP,          /* maps address space, with ms-record --mmap */
	MEMSCOPE_UNMAP
};

struct memscope_event {
	enum memscope_event_kind kind;
	uint64_t time_ns; /* since the recording began */
	uint32_t thread;  /* index, from 0 */
	uint32_t stack;   /* stack number for memscope_trace_stack; 0 = none */
	uint64_t number;  /* number of the allocated block, from 0 */
	uint64_t size, address;
	/* The freed block: */
	uint64_t old_number, old_size, old_address;
	uint32_t old_stack; /* stack of the freed block's allocation */
	int inferred;       /* inferred: the free was not recorded, but its address was allocated
			       again */
};

struct memscope_frame {
	uint64_t address;     /* address in the process; not known for an interpreted program, nor
				 is `offset` */
	const char *module;   /* path, or NULL; all strings are valid until the trace is closed */
	uint64_t offset;      /* offset of the address in the module's file, for a symbolizer */
	const char *function; /* NULL unless the trace has symbols, or the program is interpreted */
	const char *file;
	uint32_t line; /* 0 = not known */
	int inlined;   /* inlined into the next frame */
	/* 0: a line of an interpreted program if `file` is set; else a note that callers are
	 * missing here. */
	int is_address;
};

struct memscope_trace_info {
	uint64_t pid;
	const char *exe;                  /* path, or NULL */
	uint64_t started_ns, duration_ns; /* ns since 1970; ns recorded so far */
	uint64_t exit_status, exit_signal;
	const char *state; /* "complete", "growing", "no end" or "damaged"; NULL before the end */
};

/* Opens a trace ("-" = standard input). Returns NULL with `error` set on failure. */
struct memscope_trace *memscope_trace_open(const char *path, char *error);
void memscope_trace_close(struct memscope_trace *t);
/* Reads the next event, in exact order over all threads. Returns 1; 0 at the end (of a growing
 * trace: at its present end); or -1 with `error` set. Damaged places are skipped, and make the
 * state at the end "damaged". */
int memscope_trace_next(struct memscope_trace *t, struct memscope_event *ev, char *error);
/* Fills `out` with at most `max` frames of a stack from an event, innermost first; inlined
 * functions are frames of their own. Returns the number of all its frames. */
size_t memscope_trace_stack(struct memscope_trace *t, uint32_t stack, struct memscope_frame *out,
			    size_t max);
/* Returns the labels (memscope.h) that its thread had at the event read last, outermost first with
 * commas; NULL = none. Valid until the trace is closed. */
const char *memscope_trace_label(struct memscope_trace *t);
/* Fills `out` with the information read so far; exit status and state are known at the end. */
void memscope_trace_info(struct memscope_trace *t, struct memscope_trace_info *out);
/* Fills `out` with the i-th /proc sample read so far; memscope_trace_mark returns the i-th mark.
 * Both return 1, or 0 if there is no such sample or mark. */
int memscope_trace_sample(struct memscope_trace *t, size_t i, struct memscope_sample *out);
int memscope_trace_mark(struct memscope_trace *t, size_t i, uint64_t *time_ns, const char **name);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
