/* SPDX-License-Identifier: MIT
 * Room proc: figures of a process from /proc.
 *   In:  the folder of /proc, or one that looks like it.
 *   Out: figures, limits, names and regions as structs; proc_text.h has the texts alone, for
 *        fuzzing.
 *   Used by: ms-record (samples, maps), ms-snap --regions, ms-top, api.
 *
 * A process as /proc shows it: figures by descriptors that stay open, and its regions.
 *
 * The folder's descriptor identifies the process: it never refers to another one, even if the pid
 * is reused. With a pidfd, callers can also wait for the end of the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc_text.h"

struct ms_err;

struct ms_proc {
	pid_t pid;
	int folder; /* /proc/PID */
	bool own_folder;
	int pidfd; /* -1 = none: not below /proc, or the kernel is too old */
	int statm, stat, rollup;
	uint64_t page_bytes, tick_ns;
	uint64_t start_ticks; /* field 22 of stat; identifies a process, together with the pid */
	char name[64];
};

/* Opens process `pid` below `root` (NULL = /proc). Returns 0, or -1 with `err` (and errno) set: no
 * such process. Call ms_proc_close in both cases. */
int ms_proc_open(struct ms_proc *p, const char *root, pid_t pid, struct ms_err *err);
/* Opens a process as ms_proc_open does, from a folder that is open already (borrowed; -1 = every
 * read fails). */
void ms_proc_open_at(struct ms_proc *p, int folder);
/* Opens a process from an open folder, only for ms_proc_read_statm and ms_proc_peak_rss. */
void ms_proc_open_memory_at(struct ms_proc *p, int folder);
void ms_proc_close(struct ms_proc *p);

/* Tells whether the process still exists and is no zombie. */
bool ms_proc_alive(const struct ms_proc *p);

/* Read one file of the process again. Returns false with errno set if the file cannot be read or
 * has no figures. */
bool ms_proc_read_statm(const struct ms_proc *p, struct ms_proc_statm *out);
bool ms_proc_read_stat(const struct ms_proc *p, struct ms_proc_stat *out);
/* Returns the peak RSS since the process's last exec, in bytes; 0 = not known. */
uint64_t ms_proc_peak_rss(const struct ms_proc *p);
/* Reads smaps_rollup. Takes about 12 ms per GB of resident memory. */
bool ms_proc_read_rollup(struct ms_proc *p, struct ms_proc_memory *out);
/* Reads stat in the open /proc folder of a process, and keeps no descriptor. */
bool ms_proc_stat_at(int folder, struct ms_proc_stat *out);
/* Reads a small file of `folder` ("status", "comm") into `text`, terminated by a NUL. Returns false
 * with errno set on failure. */
bool ms_proc_text_at(int folder, const char *name, char *text, size_t room);

/* ---- regions ---- */

struct ms_region {
	struct ms_proc_map map; /* map.path lives as long as the array */
	enum ms_region_kind kind;
	struct ms_proc_memory memory; /* all 0 without smaps */
};
/* Holds the regions of a process. Zero at first; each reading reuses the memory. */
struct ms_regions {
	struct ms_region *v;
	size_t n, cap;
	char *text;
	size_t room;
};

/* Reads maps, or smaps. Returns 0, or -1 with errno set: EACCES, ESRCH (gone), EFBIG, ... For a
 * kernel thread or a zombie, which has no regions, returns 0 with n = 0. */
int ms_regions_read(const struct ms_proc *p, bool smaps, struct ms_regions *out);
/* Parses the text of maps or smaps. Modifies `text` and keeps pointers into it. */
void ms_regions_parse(struct ms_regions *out, char *text);
/* Sums up all regions: their memory into *all, their address space in bytes into *vsize_bytes;
 * either may be NULL. */
void ms_regions_sum(const struct ms_regions *r, struct ms_proc_memory *all, uint64_t *vsize_bytes);
/* Returns the resident bytes of brk and private anonymous memory. */
uint64_t ms_regions_heap(const struct ms_regions *r);
void ms_regions_free(struct ms_regions *r);

/* ---- all ---- */

/* Returns the pids of all processes below `root` (NULL = /proc), ascending, in a malloc'ed array of
 * *n; NULL with `err` set. */
pid_t *ms_proc_list(const char *root, size_t *n, struct ms_err *err);
