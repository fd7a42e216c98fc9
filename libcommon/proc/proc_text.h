/* SPDX-License-Identifier: MIT
 * Parses the texts of /proc/PID: stat, statm, status, smaps, smaps_rollup, maps. No I/O here.
 *
 * A process chooses its own name and those of its files, so these texts are not trusted: invalid
 * text results in false, or in figures of 0. All texts are NUL-ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds the figures of statm, in bytes. */
struct ms_proc_statm {
	uint64_t vsz, rss;
	uint64_t shared; /* part of rss: files and shared memory; the rest is anonymous */
};
/* Parses statm. False also for a zombie or a kernel thread, which have no memory. */
bool ms_proc_parse_statm(const char *text, uint64_t page_bytes, struct ms_proc_statm *out);

/* Fields of stat by their numbers in proc(5); 1 to 3 are not numbers. */
enum ms_proc_stat_field {
	MS_STAT_PPID = 4,
	MS_STAT_FLAGS = 9,
	MS_STAT_MINFLT = 10,
	MS_STAT_MAJFLT = 12,
	MS_STAT_UTIME = 14, /* clock ticks */
	MS_STAT_STIME = 15,
	MS_STAT_THREADS = 20,
	MS_STAT_START = 22, /* clock ticks since boot */
	MS_STAT_VSZ = 23,   /* bytes */
	MS_STAT_RSS = 24,   /* pages */
	MS_STAT_EXIT = 52,  /* exit status as from waitpid, of a zombie; 0 without permission */
	MS_STAT_FIELDS = 53
};
struct ms_proc_stat {
	char name[64];
	char state;
	unsigned fields; /* number of the last field present, plus 1 */
	uint64_t field[MS_STAT_FIELDS];
};
bool ms_proc_parse_stat(const char *text, struct ms_proc_stat *out);

/* Returns the number after `label` ("\nSeccomp:") in status; `none` if there is no such label. */
uint64_t ms_proc_status_number(const char *text, const char *label, uint64_t none);
/* Returns the signal mask after `label` ("\nSigBlk:") in status, which is in base 16; 0 if there is
 * no such label. */
uint64_t ms_proc_status_mask(const char *text, const char *label);
/* Returns the number of a process or thread in its own, innermost PID namespace (the last number of
 * NSpid); 0 if status has no NSpid, as before Linux 4.1. */
uint32_t ms_proc_status_inner(const char *text);

/* Holds the bytes that smaps reports for a mapping, or smaps_rollup for all mappings. */
struct ms_proc_memory {
	uint64_t rss, pss, shared_clean, shared_dirty, private_clean, private_dirty, anonymous,
		swap;
};
void ms_proc_memory_add(struct ms_proc_memory *sum, const struct ms_proc_memory *m);
/* Parses "Rss:   123 kB" and similar lines into `m`; ignores other lines. */
void ms_proc_parse_memory_line(const char *line, struct ms_proc_memory *m);
/* Parses a whole smaps_rollup. Returns false if it has no Rss. */
bool ms_proc_parse_rollup(const char *text, struct ms_proc_memory *out);

/* Holds a line of maps, or the first line of a mapping in smaps. */
struct ms_proc_map {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	char perms[5];    /* "rw-p" */
	const char *path; /* points into the line, up to its end; "" = none */
};
bool ms_proc_parse_map(const char *line, struct ms_proc_map *out);
/* Replaces each \012 in `path` by a newline, in place. The kernel writes newlines like this, so a
 * path with these four characters cannot be distinguished. False: there are none. */
bool ms_proc_unescape(char *path);

/* Classifies mappings by purpose. */
enum ms_region_kind {
	MS_REGION_HEAP,       /* brk */
	MS_REGION_STACK,      /* stack of the first thread; other threads' stacks are anonymous
				 memory */
	MS_REGION_CODE,       /* executable pages of a file other than a library */
	MS_REGION_SHARED_LIB, /* all pages of a file named *.so or *.so.* */
	MS_REGION_MAPPED_FILE,
	MS_REGION_ANONYMOUS,
	MS_REGION_VDSO,
	MS_REGION_VVAR,
	MS_REGION_VSYSCALL,
	MS_REGION_UNKNOWN,
	MS_REGION_KINDS
};
enum ms_region_kind ms_region_kind_of(const struct ms_proc_map *map);
/* Returns the word that snapshots and JSON use: "heap", "shared_lib", ... */
const char *ms_region_word(enum ms_region_kind kind);
/* Tells whether a mapping counts as heap: brk, or private anonymous memory. */
bool ms_region_is_heap(enum ms_region_kind kind, const char perms[5]);
