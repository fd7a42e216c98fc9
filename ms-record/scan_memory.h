/* SPDX-License-Identifier: MIT
 * The memory of a process that is held still: what is mapped, and what is in it.
 */
#ifndef SCAN_MEMORY_H
#define SCAN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_map {
	uint64_t start, end, inode;
	bool read, write, shared, anonymous, heap, stack;
	bool guard_below;   /* what lies right below can be neither read nor written */
	bool libc;          /* of the C library's file */
	bool special;       /* the kernel's: vdso and the like */
	bool volatile_file; /* shared memory without a file on disk behind it */
};

struct memory {
	pid_t tid; /* any of its threads that is alive */
	int mem, pagemap;
	struct {
		struct memory_map *v;
		size_t n, cap;
	} maps;
	uint8_t *buffer;
	struct scan_region *regions;
	bool old_kernel;      /* it cannot tell regions */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes;       /* read so far */
	bool unreadable;      /* some of it could not be read */
	bool late;            /* the deadline has passed: nothing more is read */
};

/* Opens the memory of thread `tid` and reads what is mapped. `proc`: its process's folder of /proc.
 * 0, or -1 with errno set. */
int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns);
void memory_close(struct memory *m);
/* The map that holds the address, or NULL. */
const struct memory_map *memory_at(const struct memory *m, uint64_t address);

/* Which pages are looked at. */
enum memory_pages {
	MEMORY_TOUCHED, /* those that are there, in memory or swapped out; the rest is zero */
	MEMORY_OWN,     /* of a file's private mapping: those that the process changed */
};
/* Gives all words of [start, end), multiples of 8, in pieces, in order of address. */
void memory_words(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		  void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		  void *arg);
/* Reads a few bytes. False when they are not all there. */
bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes);

#endif
