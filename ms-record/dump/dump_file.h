/* SPDX-License-Identifier: MIT
 * A core dump as the memory and the threads of the process that it is of.
 *
 * The file is not trusted: counts are bounded by its size, and every offset is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/ptrace/attach_maps.h"
#include "ms-record/ptrace/cpu.h"

struct ms_err;

/* Tells where the file has the contents of a mapping: its first `bytes` bytes. The rest is not in the
 * dump: memory that was never touched, or whose contents are those of a file. */
struct dump_contents {
	uint64_t offset, bytes;
	uint64_t lacks; /* bytes behind them that the file would have if it were not cut */
};

struct dump_thread {
	pid_t tid;
	struct cpu_regs regs;
	uint64_t vectors, vector_bytes; /* where `notes` has the vector registers */
};

/* Describes a mapping of a file; `path` lies in the notes. */
struct dump_mapped {
	uint64_t start, end, offset;
	const char *path;
};

struct dump_file {
	const char *path; /* borrowed */
	int fd;
	uint64_t bytes;
	int64_t written_ns; /* when the file was written, since 1970 */
	struct attach_maps maps;
	struct dump_contents *contents; /* of each mapping */
	uint8_t *notes;
	struct dump_mapped *files; /* in the order of their addresses */
	size_t file_count, file_room;
	struct dump_thread *threads; /* the one that was hit by the signal first */
	size_t thread_count, thread_room;
	pid_t pid, ppid;
	uint64_t uid;
	int signal; /* 0 = the process ran on */
	char name[17], args[81];
	uint64_t page_bytes, code, vdso, stack; /* code: the address where the program begins */
	char *exe;                              /* path of the program; "" = not known */
	uint64_t missing;                       /* bytes that the file lacks because it is cut */
};

/* Opens a core dump of a 64-bit process of this processor. `exe`: where the program's file is now;
 * NULL = where it was. Returns 0, or -1 with `err` set; call dump_close in both cases. */
int dump_open(struct dump_file *d, const char *path, const char *exe, struct ms_err *err);
void dump_close(struct dump_file *d);
/* Returns a reader of the dumped memory. Memory that was never touched is zero. */
struct attach_memory dump_memory(const struct dump_file *d);
/* Narrows [*start, *end) to its first part with contents. Returns false if there is none. */
bool dump_part(const struct dump_file *d, uint64_t *start, uint64_t *end);

/* Reads the headers of the dump's notes (dump_notes.c). */
void dump_read_notes(struct dump_file *d, size_t bytes);
