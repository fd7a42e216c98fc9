/* SPDX-License-Identifier: MIT
 * Records of a retention block (see trace.h): what keeps the live blocks of a scan reachable.
 *
 * A row is a root (a variable, a frame of a thread, ...), a set of roots that only together keep
 * something, the blocks of one call stack that a row above them keeps alive, or the rest below a
 * row. A row's retained bytes are its own and those of all rows below it: they would be free if it
 * went away. Those of the rows without parent add up to all that is kept. Only roots that rows,
 * sets and paths refer to need to be written.
 *
 *   head               scan 2, done
 *   root 1, root 2     g_sessions, g_names
 *   set 1              root 1, root 2
 *   row 1              root 1
 *   row 2, parent 1      blocks of stack 17
 *   row 3              set 1
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

#define MS_RETENTION_ROWS_MAX 65536u /* maximum number of rows, of roots and of sets of a scan */
#define MS_RETENTION_MEMBERS_MAX 64u /* maximum number of roots of a set */
#define MS_RETENTION_STEPS_MAX 16u   /* maximum number of steps of a path */
#define MS_RETENTION_NO_OFFSET UINT32_MAX

/* Describes the retention of a scan as a whole. */
struct ms_retention_head {
	uint64_t scan, state; /* MS_SCAN_* */
	uint64_t live_bytes, kept_bytes, unreachable_bytes;
	uint64_t blocks, edges; /* live blocks, and pointers between them */
	uint64_t took_ns;
	uint64_t rows; /* number of rows that follow */
};
/* Describes a root. Members that do not apply to its kind are 0. */
struct ms_retention_root {
	uint64_t scan, root; /* root: from 1 */
	uint64_t kind;       /* MS_KEEPER_* */
	uint64_t module;     /* id; 0 = none */
	uint64_t offset;     /* address in the module's ELF file */
	uint64_t size;       /* bytes */
	uint64_t thread;     /* thread index + 1; 0 = none */
	uint64_t stack;    /* frame: a stack node with its address; mapping: stack of the call that
			   made it; 0 = not known */
	uint64_t observes; /* root that owns what this one reaches as well; 0 = none */
	const char *name;  /* symbol (mangled) or section; not NUL-terminated when read */
	size_t name_size;  /* 0 = no name */
	const char *type;  /* declared type; like name */
	size_t type_size;
};
struct ms_retention_set {
	uint64_t scan, set;    /* set: from 1 */
	bool others;           /* there are more roots than these */
	const uint64_t *roots; /* at most MS_RETENTION_MEMBERS_MAX; borrowed */
	size_t root_count;
};
/* Describes a step of a path: `count` blocks of one stack, each of which points to the next. */
struct ms_retention_step {
	uint64_t stack, count;
	bool mapping; /* mappings, not blocks */
};
struct ms_retention_row {
	uint64_t scan, row; /* row: from 1 */
	uint64_t parent;    /* an earlier row; 0 = none */
	uint64_t root, set; /* what a row without parent stands for; both 0 = it is the rest */
	uint64_t stack;     /* stack node of the blocks; 0 = none */
	uint64_t flags;     /* MS_KEPT_* */
	uint64_t bytes, blocks, retained_bytes, retained_blocks;
	uint64_t mapped_bytes; /* size of the row's own mappings, which is not in `bytes` */
	uint64_t offset; /* of the pointer in the blocks of the parent; MS_RETENTION_NO_OFFSET =
			    differs, or not known */
	/* Directly below a variable: the least offset of the variable's pointers that lead to the
	 * row's own blocks, by any path, and the greatest, plus 1; until 0 = not known. */
	uint64_t from, until;
	uint64_t depth;     /* most blocks of the row in one chain; 0 or 1 = there are no chains */
	const char *type;   /* type of the blocks; not NUL-terminated when read */
	size_t type_size;   /* 0 = not known */
	uint64_t path_root; /* root at which `path` begins; 0 = no path */
	const struct ms_retention_step *path; /* at most MS_RETENTION_STEPS_MAX; borrowed */
	size_t path_count;
	uint64_t path_blocks; /* number of the row's blocks that the path leads to; 0 = not known */
	bool path_cut;        /* further steps at the end are left out */
};
enum ms_retention_kind {
	MS_RETENTION_IS_HEAD,
	MS_RETENTION_IS_ROOT,
	MS_RETENTION_IS_SET,
	MS_RETENTION_IS_ROW
};
struct ms_retention_record {
	enum ms_retention_kind kind;
	union {
		struct ms_retention_head head;
		struct ms_retention_root root;
		struct ms_retention_set set;
		struct ms_retention_row row;
	};
};

/* Holds the lists of a record that is read. */
struct ms_retention_lists {
	uint64_t roots[MS_RETENTION_MEMBERS_MAX];
	struct ms_retention_step path[MS_RETENTION_STEPS_MAX];
};

/* Maximum bytes of a record without its name and type. */
#define MS_RETENTION_RECORD_BYTES 1024u

/* Write a record. Return false if it did not fit. */
bool ms_retention_put_head(struct ms_record_writer *w, const struct ms_retention_head *h);
bool ms_retention_put_root(struct ms_record_writer *w, const struct ms_retention_root *r);
bool ms_retention_put_set(struct ms_record_writer *w, const struct ms_retention_set *s);
bool ms_retention_put_row(struct ms_record_writer *w, const struct ms_retention_row *r);
/* Parses a record; its texts point into its bytes, and its lists into `lists`. Returns false if it
 * is of no kind, has no scan number, or has longer lists than there may be. */
bool ms_retention_get(struct ms_record rec, struct ms_retention_record *out,
		      struct ms_retention_lists *lists);
/* Returns the word that snapshots use for MS_KEEPER_*: "variable", ...; NULL = unknown. */
const char *ms_keeper_word(uint64_t kind);
