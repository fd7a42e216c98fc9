/* SPDX-License-Identifier: MIT
 * Reads the memory of a stopped process: its mappings and their contents.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"

struct memory_map {
	uint64_t start, end, offset, inode;
	bool read, write, shared, anonymous, heap, stack;
	bool guard_below;   /* the mapping right below is neither readable nor writable */
	bool libc;          /* the mapping is of the C library's file */
	bool special;       /* the mapping is the kernel's (vdso and the like) or a device's */
	bool volatile_file; /* shared memory without a file on disk behind it */
};

/* Holds a range whose contents were saved earlier instead of being read from the process. */
struct memory_part {
	uint64_t start, end;
	uint8_t *bytes;
	bool left_out; /* not mapped in the frozen copy */
};

struct attach_maps;
/* Describes memory that is read from elsewhere than a process, such as a core dump. */
struct memory_image {
	const struct attach_maps *maps;
	/* Reads all `bytes` bytes, or returns false. */
	bool (*get)(void *arg, uint64_t address, void *to, size_t bytes);
	/* Narrows [*start, *end) to its first part with contents; all others are zero, or of no
	 * interest. Returns false if there is none. */
	bool (*part)(void *arg, uint64_t *start, uint64_t *end);
	void *arg;
};

/* Holds the files from which memory is read. */
struct memory_source {
	pid_t tid; /* any live thread of the process */
	int mem, pagemap;
};

struct memory {
	struct memory_source from;
	const struct memory_image *image; /* read instead; NULL = none */
	/* the process itself, if a frozen copy is read; else mem is -1 */
	struct memory_source live;
	int files; /* open folder /proc/PID/map_files; -1 = none */
	MS_ARRAY(struct memory_map) maps;
	uint8_t *buffer; /* of `room` bytes */
	size_t room;
	bool own; /* the pages being read belong to no file */
	struct scan_region *regions;
	const struct memory_part *apart; /* sorted by address, borrowed */
	size_t apart_count;
	const uint32_t *word; /* once *word is `value` or more, reading stops; NULL = never */
	uint32_t value;
	bool gave_up; /* reading stopped because *word reached `value` */
	/* Approximate number of bytes to read (0 = not known), and time when reading began:
	 * reading stops as soon as the rest cannot be read before the deadline. */
	uint64_t total, begin_ns;
	bool zeros;            /* private pages that are not present are known to be zero */
	bool old_kernel;       /* the kernel lacks the ioctl PAGEMAP_SCAN */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC */
	const uint64_t *until; /* atomic: a deadline that other threads may shorten; NULL = none */
	uint64_t bytes;        /* bytes read so far */
	uint64_t *told;        /* atomic copy of `bytes` for other threads; NULL = none */
	bool unreadable;       /* some memory could not be read */
	bool late;             /* the deadline has passed: nothing more is read */
};

/* Initializes a struct memory that is not open. */
#define MEMORY_CLOSED                                                                              \
	{                                                                                          \
		.from = {.mem = -1, .pagemap = -1}, .live = {.mem = -1, .pagemap = -1},            \
		.files = -1                                                                        \
	}

/* Opens the memory of thread `tid` and reads its list of mappings. `proc`: open folder /proc/PID of
 * its process. Returns 0, or -1 with errno set. */
int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns);
/* Opens the memory of thread `tid` without its list of mappings, for page lookups only. Returns 0,
 * or -1 with errno set. */
int memory_open_pages(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns);
/* Opens memory that is not a process's; `image` is borrowed. */
void memory_open_image(struct memory *m, const struct memory_image *image, uint64_t deadline_ns);
void memory_close(struct memory *m);
/* Makes later reads of these ranges use their saved bytes. `v` is sorted by address, without
 * overlap, and borrowed until the close. */
void memory_set_apart(struct memory *m, const struct memory_part *v, size_t n);
/* Sets the process that `m` is a copy of; `tid` is a thread of it. Returns 0, or -1 with errno
 * set. */
int memory_set_live(struct memory *m, int proc, pid_t tid);
/* Returns the mapping that holds the address, or NULL. */
const struct memory_map *memory_at(const struct memory *m, uint64_t address);

/* Names the pages to read. */
enum memory_pages {
	MEMORY_TOUCHED, /* present pages, in memory or swapped out; all others are zero */
	MEMORY_OWN,     /* pages that the process changed in a private mapping of a file */
	MEMORY_SHARED,  /* pages with contents in the file of a shared mapping; see memory_words */
	MEMORY_ALL,     /* all pages, present or not */
};
/* Passes all words of [start, end), multiples of 8, to `f` in pieces, in order of address. For
 * MEMORY_SHARED the file's pages with contents are read if they can be found and the file is on no
 * disk; else the present pages, which miss those that only other processes touched. */
void memory_words(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		  void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		  void *arg);
/* Passes the pages of a mapping that are in memory or swapped out to `f`, in order of address,
 * until `most` bytes of them were found or the deadline has passed; with an old kernel also stops
 * after 16 GiB without any. */
void memory_runs(struct memory *m, uint64_t start, uint64_t end, uint64_t most,
		 void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg);
/* Passes the pages of all mappings that are in memory or swapped out to `f`; runs of
 * neighbouring mappings may be joined. Returns false if this kernel lacks PAGEMAP_SCAN or the
 * deadline has passed. */
bool memory_all_runs(struct memory *m,
		     void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg);
/* Tells whether a read got stuck waiting for memory of the process; no more is read then. */
bool memory_waits(const struct memory *m);
/* Reads `bytes` bytes. Returns false if some could not be read. */
bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes);
