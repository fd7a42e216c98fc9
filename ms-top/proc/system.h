/* SPDX-License-Identifier: MIT
 * All processes of the system, reread from /proc at each update.
 *
 * Every update reads /proc/PID/stat of each process. Costly files (smaps_rollup, which walks page
 * tables, and io) are read for the visible rows, in turn, within a 200th of the time, and for each
 * process at most a 200th of the time. Memory is allocated only if there are more processes than
 * ever before.
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
	uint64_t id; /* identifies the process: hash of pid and start time */
	pid_t pid, parent;
	uid_t uid;
	char state; /* R S D Z T I */
	bool kernel, ended, seen;
	bool group;                            /* the row is a group of `pid` processes */
	bool open;                             /* the group's members are rows, too */
	struct system_process *members, *next; /* list of members, as of the last rows_make */
	bool recorded; /* a recorder shares memory with the process; read with the costly files */
	int stat;      /* open descriptor of the process's stat; -1 = none */
	uint32_t threads;
	uint32_t matched_by; /* serial of the filter for which `matches` is valid; 0 = none */
	bool matches;
	uint32_t place; /* index in the rows of a tree */
	uint64_t start_ticks;
	uint64_t ended_ns;
	uint64_t rss, vsz;                        /* bytes */
	uint64_t largest;                         /* largest RSS seen */
	struct source_figures figures;            /* from the costly files; `heap` is the anonymous
						     memory */
	uint64_t cpu_ticks, faults, major_faults; /* totals so far */
	uint64_t read_bytes, written_bytes;       /* totals so far; SYSTEM_UNKNOWN = not
						     permitted */
	double cpu, fault_rate, major_rate, read_rate, write_rate; /* per second; cpu: in cores */
	uint64_t dear_ns, next_dear_ns; /* time smaps_rollup was read, and time it may be read
					   again */
	struct history history;         /* RSS since the process was first seen */
	struct ms_trend trend;          /* trend of the history at trend_ns */
	uint64_t trend_ns;
	char name[64];
	char user[24];
	char command[256];   /* arguments, separated by blanks; [name] for a kernel thread */
	bool more_arguments; /* there are more arguments */
	char cgroup[128];    /* last component of the cgroup's path */
};

struct system_memory { /* bytes; SYSTEM_UNKNOWN = not provided by the kernel */
	uint64_t total, available, free, cached, swap_total, swap_free;
	double some, full; /* PSI: per cent of the last 10 s in which some, or all, waited; < 0 =
			      not known */
	double load[3];
	uint64_t up_s;
};

struct system {
	struct system_process **v; /* sorted by pid; a row's address is stable */
	size_t n, cap;
	struct system_process **unused;
	size_t unused_n, unused_cap;
	struct system_memory memory;
	char host[65];
	size_t kernel, unreadable, ended; /* rows of kernel threads, unreadable, ended processes */
	uint64_t now_ns, last_ns;         /* times of the last two updates; 0 = none */
	uint64_t first_ns;                /* time of the first update */
	uint64_t pinned;                  /* id of a row that is kept after its process has ended */
	size_t turn, read;                /* turn: index of the row whose costly files are read
					     next; read: number of rows whose costly files were
					     read */
	size_t kept, keep;                /* number of stat descriptors open, and permitted */
	DIR *list;                        /* /proc; stays open, so that updates allocate no
					     memory */
	int root;                         /* descriptor of `list` */
	long page_bytes, ticks;
	struct recordings recordings; /* recordings of all active recorders */
};

/* Opens `root`: "/proc", or a copy of it. Returns 0, or -1 with `err` set. */
int system_open(struct system *s, const char *root, struct ms_err *err);
/* Updates all processes. Returns 0, or -1 with `err` set: /proc itself is gone. */
int system_look(struct system *s, struct ms_err *err);
/* Reads the costly files of the next few of `n` rows, within a 200th of the time between updates,
 * so that the files of all rows are read in turn; with `all`, reads those of every row. */
void system_details(struct system *s, struct system_process *const *rows, size_t n, bool all);
void system_close(struct system *s);
/* Returns all arguments, separated by blanks, of a process for which `command` is too short; valid
 * until the next call. Returns NULL if `command` has them all, or the process is gone. */
const char *system_arguments(const struct system *s, const struct system_process *p);
/* Returns the number of processes with a smaller pid, which is the index of that pid's row. */
size_t system_place(const struct system *s, pid_t pid);
/* Opens the folder of a process. Returns -1 if it is gone. */
int system_folder(const struct system *s, pid_t pid);

/* Limits how long the row of an ended process stays: SYSTEM_ENDED_NS. The row is removed at once if
 * the process was seen in fewer than SYSTEM_ENDED_SEEN updates. */
#define SYSTEM_ENDED_SEEN 5u
#define SYSTEM_ENDED_NS UINT64_C(10000000000)
/* Returns the verdict on the history in one word: "growing", "maybe", "steady", ... */
const char *system_verdict(struct system *s, struct system_process *p);

/* ---- chosen.c ---- */

struct chosen {
	uint64_t id;     /* id of the process; 0 = none */
	uint64_t shared; /* resident shared memory in bytes, or SOURCE_UNKNOWN */
	int oom_score;   /* -1 = not known */
	struct limits limits;
	char allocator[64]; /* "" = not known */
	char record[160];   /* why it may, or may not; "" = not known */
	bool may_record;
};

/* Rereads the figures. `made`: the root is a copy of some /proc, whose processes cannot be
 * recorded. */
void chosen_look(struct chosen *c, const struct system *s, const struct system_process *p,
		 bool made);
