/* SPDX-License-Identifier: MIT
 * The memory of a process that is held still: what is mapped, and what is in it.
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
	bool guard_below;   /* what lies right below can be neither read nor written */
	bool libc;          /* of the C library's file */
	bool special;       /* the kernel's, vdso and the like, or a device's */
	bool volatile_file; /* shared memory without a file on disk behind it */
};

/* A part that is not to be read from the process. */
struct memory_part {
	uint64_t start, end;
	uint8_t *bytes;
	bool left_out; /* it is not even mapped there */
};

/* Says where memory is read from. */
struct memory_source {
	pid_t tid; /* of the process, any of its threads that is alive */
	int mem, pagemap;
};

struct memory {
	struct memory_source from;
	struct memory_source live; /* of a frozen copy: the process itself; else mem is -1 */
	int files;                 /* its map_files; -1 */
	MS_ARRAY(struct memory_map) maps;
	uint8_t *buffer;
	struct scan_region *regions;
	const struct memory_part *apart; /* by address, borrowed */
	size_t apart_count;
	const uint32_t *word; /* when it is `value` or more nothing more is read; NULL = never */
	uint32_t value;
	bool gave_up; /* because of that */
	/* About how much there is to read, and since when it is read: it ends as soon as that
	 * cannot be done in time. 0 = not known. */
	uint64_t total, begin_ns;
	bool zeros;            /* private pages that are not there are zero, for sure */
	bool old_kernel;       /* it cannot tell regions */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC */
	const uint64_t *until; /* atomic: a deadline that others may draw nearer; NULL = none */
	uint64_t bytes;        /* read so far, */
	uint64_t *told;        /* which others read here, atomic; NULL = nobody does */
	bool unreadable;       /* some of it could not be read */
	bool late;             /* the deadline has passed: nothing more is read */
};

/* Initializes a memory that is not open. */
#define MEMORY_CLOSED                                                                              \
	{                                                                                          \
		.from = {.mem = -1, .pagemap = -1}, .live = {.mem = -1, .pagemap = -1},            \
		.files = -1                                                                        \
	}

/* Opens the memory of thread `tid` and reads what is mapped. `proc`: its process's folder of /proc.
 * 0, or -1 with errno set. */
int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns);
/* Opens the memory of thread `tid` to read pages, without the list of what is mapped. */
int memory_open_pages(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns);
void memory_close(struct memory *m);
/* Has these parts, by address and without overlap, read from here instead of the process. Borrowed
 * until the close. */
void memory_set_apart(struct memory *m, const struct memory_part *v, size_t n);
/* `m` is a copy of the process of which `tid` is a thread. 0, or -1 with errno set. */
int memory_set_live(struct memory *m, int proc, pid_t tid);
/* The map that holds the address, or NULL. */
const struct memory_map *memory_at(const struct memory *m, uint64_t address);

/* Which pages are looked at. */
enum memory_pages {
	MEMORY_TOUCHED, /* those that are there, in memory or swapped out; the rest is zero */
	MEMORY_OWN,     /* of a file's private mapping: those that the process changed */
	MEMORY_SHARED,  /* of one shared mapping: those of the file that have contents, where we may
			 * see that and it is on no disk; else those that are there, which others
			 * may have touched that are not */
	MEMORY_ALL,     /* whether they are there or not */
};
/* Gives all words of [start, end), multiples of 8, in pieces, in order of address. */
void memory_words(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		  void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		  void *arg);
/* Gives the pages of a mapping that are in memory or swapped out, in order of address, until `most`
 * bytes of them were found or the deadline has passed; an old kernel is not asked what is behind 16
 * GiB of nothing. */
void memory_runs(struct memory *m, uint64_t start, uint64_t end, uint64_t most,
		 void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg);
/* Gives the pages of all mappings at once; runs of neighbouring mappings may be joined. False: this
 * kernel cannot tell spans, or not in time. */
bool memory_all_runs(struct memory *m,
		     void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg);
/* Tells whether a read had to wait for memory of the process; no more is read then. */
bool memory_waits(const struct memory *m);
/* Reads a few bytes. False when they are not all there. */
bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes);
