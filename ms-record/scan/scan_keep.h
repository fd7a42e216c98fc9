/* SPDX-License-Identifier: MIT
 * Finds what keeps the blocks of a leak scan reachable (internal to room scan): the words of root
 * memory become words of named roots, from which keep_find (keep.h) finds what each root keeps.
 *
 *   draining thread     modules and threads at the scan's stamp     scan_keep_copy
 *   scanning thread     while the memory can be read: pointers with their places (graph.h),
 *                       stacks and thread-local storage             scan_keep_read
 *                       after the process continues, or ended:
 *                       symbols, frames, roots, rows, records       scan_keep_find
 *   draining thread     addresses of frames -> stack nodes          scan_keep_look
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/graph/keep.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/ranges.h"
#include "ms-record/base/elfmap.h"
#include "ms-record/guest/layout.h"
#include "scan_roots.h"

struct scan;
struct session;
struct work;

/* ---- modules: scan_keep_symbols.c ---- */

/* Describes a variable; addresses as in its ELF file, or offsets in a thread's storage. */
struct kept_symbol {
	uint64_t start, end;
	const char *name;
};
struct kept_symbols {
	struct kept_symbol *v; /* sorted; they do not overlap */
	size_t n, cap;
};

struct kept_module {
	uint64_t start, end, bias, eh_frame_hdr;
	uint32_t id;        /* module id in the trace */
	uint32_t number;    /* modules were loaded in this order */
	struct elfmap file; /* mapped at the stamp; or empty */
	char name[64];      /* last part of its path */
	/* The next members are set by kept_module_read. */
	bool read, has_file;                   /* has_file: `file` can be read */
	struct elfmap debug;                   /* debug: separate file with the symbols; or empty */
	struct kept_symbols variables, locals; /* locals: thread-local variables */
	uint32_t *section_roots; /* for each section, and one for what lies in none: 1 + index of
				    its root */
	uint32_t rest;           /* 1 + index of the root of a module without a file */
	bool python;             /* it is CPython, or has it linked in */
	uint32_t python_root;    /* 1 + index of the root of all that is CPython's */
};

/* Reads the symbols and sections of a module's file, once. */
void kept_module_read(struct kept_module *m);
void kept_module_free(struct kept_module *m);
/* Returns the symbol that holds the address, or NULL. */
const struct kept_symbol *kept_symbol_at(const struct kept_symbols *s, uint64_t address);
/* Returns the index of the section that holds an address of the file, and its name; the number of
 * sections if there is none. */
unsigned kept_section_at(const struct kept_module *m, uint64_t address, const char **name);

/* ---- threads: scan_keep_stacks.c ---- */

#define KEPT_CONTROL 2304u /* bytes of glibc's struct pthread; musl's is smaller */

struct kept_frame {
	uint64_t sp; /* lowest address of the frame */
	uint64_t ip; /* 0 = not known: this frame and all its callers */
	bool exact;  /* `ip` is the address of an instruction, not a return address */
};
/* Describes a thread's storage for the variables of one module. */
struct kept_storage {
	uint64_t start, end;
	uint32_t thread, module; /* indexes; module KEEP_NONE = not known */
	uint32_t rest;           /* 1 + index of the root of what no symbol covers; 0 = none yet */
};

struct kept_thread {
	const struct scan_thread *regs;
	uint32_t index; /* thread's index in the trace + 1; 0 = not known */
	bool main;
	uint64_t start, end; /* the stack in use */
	uint64_t *words;     /* its contents; NULL = not read */
	uint64_t *storage;   /* for each module with thread-local variables, in order: address of
				     the thread's storage */
	size_t storage_count;
	uint64_t low; /* lowest of these in the mapping of the thread pointer, or that */
	bool unwound;
	MS_ARRAY(struct kept_frame) frames; /* innermost first; empty = not known */
};

/* Reads where the storage of a thread is, while its memory can be read. Returns the range from the
 * lowest storage to the end of the control block, if they lie in one mapping; else an empty one. */
struct graph_range kept_thread_find(struct kept_thread *t, const struct memory *m);
/* Saves the stack of a thread, while its memory can be read. */
void kept_thread_read(struct kept_thread *t, struct memory *m);
/* Finds the frames of a thread, once; `v`: modules sorted by address. */
void kept_thread_unwind(struct kept_thread *t, struct kept_module *v, size_t n);
void kept_thread_free(struct kept_thread *t);
/* Returns the module that holds the address, or NULL. */
struct kept_module *kept_module_at(struct kept_module *v, size_t n, uint64_t address);

/* ---- roots: scan_keep_roots.c ---- */

/* Describes a root beside what keep_find needs of it. */
struct kept_root {
	uint64_t start, end;     /* all words in [start, end) are of this root */
	uint32_t module;         /* id; 0 = none */
	const char *module_name; /* NULL = none */
	uint64_t offset;         /* address in the module's file */
	uint64_t size;
	uint32_t thread;  /* index in the trace + 1; 0 = none */
	uint32_t stack;   /* stack node of the frame */
	uint64_t ip;      /* frame: address of the code; 0 = not known */
	bool exact;       /* `ip` is the address of an instruction, not a return address */
	const char *name; /* borrowed from a module's file; NULL = none */
};

/* Describes a class of a Python program, which is a block. */
struct kept_class {
	uint64_t address; /* of the block */
	uint32_t block;
	char name[64];
};

/* Holds all that is known of a scan's roots. */
struct kept {
	struct roots_kept found;     /* from the scan */
	struct kept_module *modules; /* borrowed from struct kept_image */
	size_t module_count;
	struct kept_thread *threads;
	size_t thread_count;
	MS_ARRAY(struct kept_storage) storage; /* sorted by address */
	MS_ARRAY(struct keep_root) roots;
	MS_ARRAY(struct kept_root) about; /* of each root */
	struct {
		struct keep_word *v;
		size_t n, cap;
	} words;
	/* keep_find's node of each range, which may be a block, too; NULL = it is the graph's */
	uint32_t *node_of;
	uint32_t before_count;   /* ranges that are blocks */
	uint64_t *mapping_bytes; /* of the others */
	uint32_t *mapping_stacks;
	struct {
		struct graph_range *v;
		size_t n, cap;
	} code;                              /* modules, sorted */
	MS_ARRAY(struct kept_class) classes; /* by block */
	/* pointers in ranges, and from blocks to blocks inside them */
	MS_ARRAY(struct graph_link) links;
};

/* Returns keep_find's number of a node of the graph. */
static inline uint32_t kept_node(const struct kept *k, uint32_t count, uint32_t node)
{
	return k->node_of && node >= count ? k->node_of[node - count] : node;
}
/* Turns the words of root memory into roots with their words, and into links of ranges. */
void kept_find_roots(struct work *w, struct kept *k);

/* ---- thread-local storage: scan_keep_storage.c ---- */

/* Fills in k->storage. */
void kept_find_storage(struct kept *k);

/* ---- types: scan_keep_types.c ---- */

/* Reads the names of Python's classes that are blocks, while the memory can be read. */
void kept_read_classes(struct work *w);
/* Returns the type of each of keep_find's nodes, to be freed; NULL = none is known. `first`: each
 * node's first edge. */
uint64_t *kept_find_types(const struct work *w, size_t nodes, const uint32_t *first);
/* Returns the type that a word of struct graph_kept.type_of points to; 0 = none. */
uint64_t kept_type_at(const struct kept *k, uint64_t word);
/* Returns the symbol of a type, or the name of a class; NULL for 0. */
const char *kept_type_name(const struct kept *k, uint64_t type);

/* ---- scan_keep.c ---- */

/* Names a thread: its ids in the process's namespace and in ours, and its index in the trace + 1. */
struct kept_tid {
	uint32_t inner, outer, index;
};
/* Holds what only the draining thread knows, as of the stamp of a scan. */
struct kept_image {
	bool wanted; /* set before the scan is asked for */
	struct {
		struct kept_module *v; /* sorted by address */
		size_t n, cap;
	} modules;
	MS_ARRAY(struct kept_tid) tids;
	MS_ARRAY(struct graph_range) before; /* blocks from before the recording */
	MS_ARRAY(struct ms_range) mapped;    /* with --mmap: mappings with their stacks, sorted */
};
/* Asks the draining thread for the stack nodes of addresses. */
struct kept_nodes {
	int state; /* atomic: enum request_state */
	struct kept_node {
		uint64_t ip;
		uint32_t stack; /* 0 = in no module */
		bool exact;
	} * v;
	size_t n;
};

/* Copies the modules and threads of a session (draining thread). */
void scan_keep_copy(const struct session *s, struct kept_image *image);
void scan_keep_drop(struct kept_image *image);
/* Answers an open request for stack nodes (draining thread). */
void scan_keep_look(struct session *s);
/* Prepares w->kept for roots_look. */
void scan_keep_begin(struct work *w);
/* Reads stacks and the like while the memory of the process can be read, after roots_look. */
void scan_keep_read(struct work *w);
/* Finds what keeps the blocks and writes it as records. Call after scan_put_result, with the stacks
 * of the blocks known; changes the graph's edges. */
void scan_keep_find(struct work *w);
void scan_keep_free(struct work *w);

/* ---- scan_keep_records.c ---- */

/* Writes the records of w->keeps. */
void kept_put(struct work *w);
/* Formats what keeps most: "g_all keeps 2 MiB of 6 MiB". Returns false if that is not known. */
bool kept_say(const struct work *w, char *text, size_t room);
/* Returns why it is not known what keeps blocks; NULL if no explanation is needed. */
const char *kept_state_words(const struct work *w);
