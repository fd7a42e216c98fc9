/* SPDX-License-Identifier: MIT
 * Room proc: what Linux says of a process.
 *   In:  the folder of /proc, or one that looks like it.
 *   Out: figures, limits, names and regions as structs; proc_text.h has the texts alone, for
 *        fuzzing.
 *   Used by: ms-record (samples, maps), ms-snap --regions, ms-top, api.
 *
 * A process as /proc shows it: figures by descriptors that stay open, and its regions.
 *
 * The folder's descriptor is the identity: it never shows another process, also when the number is
 * given anew. Where there is a pidfd too, the end of the process can be waited for.
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
	int pidfd; /* -1 = none: another root, or an old kernel */
	int statm, stat, rollup;
	uint64_t page_bytes, tick_ns;
	uint64_t start_ticks; /* field 22 of stat: with the number it names the process for ever */
	char name[64];
};

/* Opens process `pid` below `root` (NULL = /proc). 0, or -1 with `err` set (and errno): none of
 * that number. ms_proc_close in both cases. */
int ms_proc_open(struct ms_proc *p, const char *root, pid_t pid, struct ms_err *err);
/* Opens a process as ms_proc_open does, from a folder that is open already (borrowed; -1 = every
 * read fails). */
void ms_proc_open_at(struct ms_proc *p, int folder);
void ms_proc_close(struct ms_proc *p);

/* Tells whether it is still there, and no zombie. */
bool ms_proc_alive(const struct ms_proc *p);

/* Each reads one file again. False with errno set when it cannot be read, or says nothing. */
bool ms_proc_read_statm(const struct ms_proc *p, struct ms_proc_statm *out);
bool ms_proc_read_stat(const struct ms_proc *p, struct ms_proc_stat *out);
/* The most bytes that were resident at a time, of the program that it runs now; 0 = not known. */
uint64_t ms_proc_peak_rss(const struct ms_proc *p);
/* Costs about 12 ms for each GB that is resident. */
bool ms_proc_read_rollup(struct ms_proc *p, struct ms_proc_memory *out);
/* stat of the process whose folder this is, without keeping anything open. */
bool ms_proc_stat_at(int folder, struct ms_proc_stat *out);
/* Any small text of `folder` ("status", "comm") into `text`, NUL-ended. False with errno set. */
bool ms_proc_text_at(int folder, const char *name, char *text, size_t room);

/* ---- regions ---- */

struct ms_region {
	struct ms_proc_map map; /* its path is as long-lived as the array */
	enum ms_region_kind kind;
	struct ms_proc_memory memory; /* 0 without smaps */
};
/* Zero to begin with; memory is used again by the next reading. */
struct ms_regions {
	struct ms_region *v;
	size_t n, cap;
	char *text;
	size_t room;
};

/* Reads maps, or smaps. 0, or -1 with errno set: EACCES, ESRCH (gone), EFBIG, .. A kernel thread or
 * a zombie has none: 0 with n = 0. */
int ms_regions_read(const struct ms_proc *p, bool smaps, struct ms_regions *out);
/* From the text of either file, which is changed and kept pointing into. */
void ms_regions_parse(struct ms_regions *out, char *text);
/* Sums: all of it, and address space in bytes; either may be NULL. */
void ms_regions_sum(const struct ms_regions *r, struct ms_proc_memory *all, uint64_t *vsize_bytes);
/* Resident bytes of brk and private anonymous memory. */
uint64_t ms_regions_heap(const struct ms_regions *r);
void ms_regions_free(struct ms_regions *r);

/* ---- all ---- */

/* Numbers of all processes below `root` (NULL = /proc), in order. malloc'ed array of *n; NULL with
 * `err` set. */
pid_t *ms_proc_list(const char *root, size_t *n, struct ms_err *err);
