/* SPDX-License-Identifier: MIT
 * All processes of the system, as /proc shows them from one look to the next.
 *
 * Every look reads /proc/PID/stat of each; what is dear (smaps_rollup, which walks page tables, and
 * io) is read for the rows that are shown, in turn, within a 200th of the time, and of each only so
 * often that it takes a 200th of the time. Memory is taken when there are more processes than ever
 * before, else none.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "history.h"
#include "limits.h"
#include "maps.h"
#include "source.h"

struct ms_err;

#define SYSTEM_UNKNOWN SOURCE_UNKNOWN

struct system_process {
	uint64_t id; /* of its life: pid and start time */
	pid_t pid, parent;
	uid_t uid;
	char state; /* R S D Z T I */
	bool kernel, ended, seen;
	bool group;                            /* it stands for `pid` processes, */
	bool open;                             /* which are rows too: */
	struct system_process *members, *next; /* in order, by the last rows_make */
	bool recorded; /* a recorder shares memory with it; read with what is dear */
	int stat;      /* descriptor of its stat; -1 = not kept */
	uint32_t threads;
	uint32_t matched_by; /* serial of the filter that `matches` is about; 0 = none */
	bool matches;
	uint32_t place; /* in the rows of a tree */
	uint64_t start_ticks;
	uint64_t ended_ns;
	uint64_t rss, vsz;                        /* bytes */
	uint64_t largest;                         /* RSS that was seen */
	struct source_figures figures;            /* dear; heap: anonymous */
	uint64_t cpu_ticks, faults, major_faults; /* so far */
	uint64_t read_bytes, written_bytes;       /* so far; SYSTEM_UNKNOWN = not permitted */
	double cpu, fault_rate, major_rate, read_rate, write_rate; /* a second; cpu: of a core */
	uint64_t dear_ns, next_dear_ns; /* when smaps_rollup was read, and may be again */
	struct history history;         /* of the RSS, since it was first seen */
	struct ms_trend trend;          /* of the history as it was at trend_ns */
	uint64_t trend_ns;
	char name[64];
	char user[24];
	char command[256];   /* arguments with blanks between; or [name] of a kernel thread */
	bool more_arguments; /* than are in it */
	char cgroup[128];    /* the last part of its path */
};

struct system_memory { /* bytes, SYSTEM_UNKNOWN = the kernel does not say */
	uint64_t total, available, free, cached, swap_total, swap_free;
	double some, full; /* PSI: per cent of the last 10 s in which some, or all, waited; < 0 */
	double load[3];
	uint64_t up_s;
};

struct system {
	struct system_process **v; /* in order of pid; the pointers stay as long as the process */
	size_t n, cap;
	struct system_process **unused;
	size_t unused_n, unused_cap;
	struct system_memory memory;
	char host[65];
	size_t kernel, unreadable, ended; /* rows of these kinds */
	uint64_t now_ns, last_ns;         /* of the last two looks; 0 = there was none */
	uint64_t first_ns;                /* of the first one */
	uint64_t pinned;                  /* id of a row that stays when its process has ended */
	size_t turn, read;                /* who is next for what is dear; rows that were read */
	size_t kept, keep;                /* descriptors of stat that are open, and may be */
	DIR *list;                        /* /proc; stays open, so that a look takes no memory */
	int root;                         /* its descriptor */
	long page_bytes, ticks;
	struct recordings recordings; /* that go on, of all recorders */
};

/* `root`: "/proc", or a copy of it. 0, or -1 with `err` set. */
int system_open(struct system *s, const char *root, struct ms_err *err);
/* Looks again. 0, or -1 with `err` set: /proc itself is gone. */
int system_look(struct system *s, struct ms_err *err);
/* Reads what is dear for some of these rows, in turn, within a 200th of the time between looks;
 * with `all`, for each of them. */
void system_details(struct system *s, struct system_process *const *rows, size_t n, bool all);
void system_close(struct system *s);
/* The arguments of a process of which `command` has only the first, with blanks between them, until
 * the next call. NULL: `command` has them all, or they are gone. */
const char *system_arguments(const struct system *s, const struct system_process *p);
/* How many processes have a smaller pid: the place of that one. */
size_t system_place(const struct system *s, pid_t pid);
/* Opens the folder of a process. -1: it is gone. */
int system_folder(const struct system *s, pid_t pid);

/* How long the row of an ended process stays, if it was seen so often. */
#define SYSTEM_ENDED_SEEN 5u
#define SYSTEM_ENDED_NS UINT64_C(10000000000)
/* "growing", "maybe", "steady", ...: what the history says, one word. */
const char *system_verdict(struct system *s, struct system_process *p);

/* ---- chosen.c ---- */

struct chosen {
	uint64_t id;     /* of the process; 0 = none */
	uint64_t shared; /* bytes of shared memory that are resident; SOURCE_UNKNOWN */
	int oom_score;   /* -1 = not known */
	struct limits limits;
	char allocator[64]; /* "" = not known */
	char record[160];   /* "allowed (root)", or why not; "" = not known */
	bool may_record;
};

/* Reads it anew. `made`: the root is a copy of some /proc, of which nothing can be recorded. */
void chosen_look(struct chosen *c, const struct system *s, const struct system_process *p,
		 bool made);
