/* SPDX-License-Identifier: MIT
 * DWARF of one module through libdw: lines, functions and inline chains. Part of the symbol module.
 *
 *   ms_dwarf  one per debug file: libdw's handles, and the address ranges of every unit, read once
 *   ms_unit   one compilation unit, read when an address falls into it: its line table and the tree
 *             of its functions, both flattened into sorted arrays; all are dropped when they grow
 *             over a budget
 *   names     looked up only for nodes in a result
 *
 * libdw reads from our own mapping (symbols_elf.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "libcommon/base/arena.h"
#include "symbols_elf.h"
#include "symbols_split.h"

struct ms_location;
struct ms_symbols_options;
struct ms_variable;

struct ms_row {
	uint32_t offset; /* address minus the start of its sequence of rows */
	uint32_t line;
	uint32_t file : 20, column : 12; /* 0 = too large for the field, or unknown */
};

/* Describes addresses [low, high) of a unit, of a sequence of ascending rows, or of a function or
 * an inlined call. Spans of one kind may overlap: units because of compiler bugs, sequences if the
 * linker merged equal functions, calls with the functions that they are inlined into. */
struct ms_span {
	uint64_t low, high;
	size_t before; /* index + 1 of the last earlier span that ends after `low`; 0 = none */
	union {
		uint32_t unit, first_row, node;
	};
	union {
		uint32_t rows;  /* number of rows */
		uint32_t depth; /* nesting of inlined calls; the highest is innermost */
	};
};

/* Holds spans in order of `low`, then depth and node, after ms_spans_sort. */
struct ms_spans {
	struct ms_span *v;
	size_t n, cap;
};

struct ms_unit_node {
	uint64_t die;    /* offset of its entry in .debug_info of the unit's file */
	uint64_t entry;  /* lowest address of the function or call */
	uint32_t parent; /* index of the parent node, MS_NO_NODE = none */
	uint32_t call_file, call_line, call_column;
	bool inlined, named;
	const char *name;
};
#define MS_NO_NODE UINT32_MAX

struct ms_source {
	const char *name; /* path as the compiler wrote it; NULL = none */
	const char *path; /* normalized, in the symbolizer's arena; NULL = not computed yet */
};

struct ms_unit {
	struct ms_arena *memory; /* arena of all units */
	uint32_t index;          /* index in ms_dwarf.units */
	uint32_t language;
	const char *folder; /* compilation folder, or NULL */
	struct ms_row *rows;
	struct ms_unit_node *nodes;
	struct ms_source *sources;
	size_t row_count, source_count;
	struct ms_spans sequences, calls;
	size_t bytes;
};

/* Holds the functions of a unit. */
struct ms_tree {
	bool damaged; /* some functions could not be read */
	MS_ARRAY(struct ms_unit_node) nodes;
	struct ms_spans calls;
};

struct ms_unit_ref {
	uint64_t die;         /* offset of the unit's entry in the main file */
	struct ms_unit *unit; /* NULL = not read, or dropped */
	bool lacks_split;     /* the unit's split part was not found */
};

/* Locates the entry of a static variable. */
struct ms_variable_ref {
	uint64_t address;
	uint64_t die;   /* offset in .debug_info */
	bool in_thread; /* in thread-local storage: `address` is an offset in it */
};

struct ms_dwarf_file {
	struct ms_elf *file; /* may be NULL */
	Elf *elf;
	Dwarf *dw; /* NULL = not open */
};

struct ms_dwarf {
	struct ms_dwarf_file main, supplement;
	struct ms_splits *splits;
	bool damaged;             /* some debug information could not be read */
	bool partial;             /* some debug information is in a file that was not found */
	struct ms_elf *symbols;   /* symbol table that completes names in DWARF; may be NULL */
	struct ms_arena *strings; /* arena of the symbolizer */
	bool demangle;
	MS_ARRAY(struct ms_unit_ref) units;
	struct ms_spans spans;
	struct ms_arena unit_memory;
	size_t unit_bytes;
	size_t opened_units, opened_rows; /* numbers of units and line table rows read since libdw
					     was opened */
	MS_ARRAY(struct ms_variable_ref) variables; /* sorted, if variables_known */
	bool variables_known;
	uint64_t scope_steps; /* steps spent on finding the scopes of names */
};

/* Holds the files that a module's DWARF is read from; all are borrowed. */
struct ms_dwarf_files {
	struct ms_elf *elf;     /* the file with .debug_info */
	struct ms_elf *alt;     /* supplementary file (dwz) of `elf`, or NULL */
	struct ms_elf *symbols; /* the file with the symbol table; may be NULL */
	const char *path;       /* path of the module */
};

/* Opens the DWARF of a module. Names live in `strings`. Returns NULL if libdw refuses it. */
struct ms_dwarf *ms_dwarf_new(const struct ms_dwarf_files *files,
			      const struct ms_symbols_options *opt, struct ms_arena *strings);
void ms_dwarf_free(struct ms_dwarf *d);
/* Finds the locations of an address as ms_symbols_find does, but returns 0 if nothing is known
 * about it. */
size_t ms_dwarf_find(struct ms_dwarf *d, uint64_t address, struct ms_location *out, size_t max);

/* Finds the declaration of the variable that begins at an address, or at an offset in thread-local
 * storage. Returns false if there is none. */
bool ms_dwarf_variable(struct ms_dwarf *d, uint64_t address, bool in_thread,
		       struct ms_variable *out);
/* Returns the members of a variable as in struct ms_variable. */
const char *ms_dwarf_members(struct ms_dwarf *d, Dwarf_Die *variable);

/* ---- between the files of the module ---- */

/* Sorts spans and sets `before`. A walk along `before`, from the last span that begins at or before
 * an address, visits all spans that cover the address. */
void ms_spans_sort(struct ms_spans *s);
/* Appends the address ranges of an entry, except empty ranges and those of code that the linker
 * removed. Returns false if they cannot be read. */
bool ms_die_ranges(Dwarf_Die *die, struct ms_ranges *out);
/* Gets the entry of a unit by its index. With split DWARF it is the entry in the unit's own file,
 * and *split is that file; else *split is NULL. */
bool ms_unit_die(struct ms_dwarf *d, uint32_t index, Dwarf_Die *out, const struct ms_split **split);
/* Adds the functions below a unit's entry. */
void ms_tree_read(Dwarf_Die *unit, uint32_t language, const struct ms_split *split,
		  struct ms_tree *out);
/* Reads the line table of a unit: its sources, rows and sequences. `outer` is the unit's entry in
 * the main file, `unit` the one in its own file if DWARF is split. Returns false if the table
 * cannot be read. */
bool ms_lines_read(struct ms_unit *u, Dwarf_Die *outer, Dwarf_Die *unit);
/* Reads a unit. Never returns NULL; a unit that cannot be read is empty. */
struct ms_unit *ms_unit_read(struct ms_dwarf *d, uint32_t index);
/* Returns a copy of `bytes` bytes that lives as long as the unit. */
void *ms_unit_keep(struct ms_unit *u, const void *v, size_t bytes);
/* Returns a copy of spans that lives as long as the unit; `s` is sorted and freed. */
struct ms_spans ms_unit_keep_spans(struct ms_unit *u, struct ms_spans *s);
/* Returns the path of a source file without "." and "x/..": `name` as in a line table, which libdw
 * may have joined to the compilation folder (or NULL) already. */
const char *ms_source_path(struct ms_arena *a, const char *folder, const char *name);
const char *ms_unit_source(struct ms_dwarf *d, struct ms_unit *u, uint32_t number);
/* Returns the name of a node's function, or NULL. */
const char *ms_node_name(struct ms_dwarf *d, const struct ms_unit *u, const struct ms_unit_node *n);
