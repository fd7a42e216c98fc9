/* SPDX-License-Identifier: MIT
 * DWARF of one module through libdwarf: lines, functions and inline chains. Part of the symbol
 * module.
 *
 *   ms_dwarf     one per debug file: the libdwarf handles and the address ranges of every unit,
 * read once; ms_unit      one compilation unit, read when an address falls into it: its line table
 * and the tree of its functions, both flattened into sorted arrays. The least recently used ones
 * are dropped when they grow over a budget; names        looked up for the nodes that a result
 * names, never for the others.
 *
 * libdwarf gets its sections from our own mapping (symbols_elf.h): nothing is copied, and offsets
 * were checked before.
 */
#ifndef MS_SYMBOLS_DWARF_H
#define MS_SYMBOLS_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "arena.h"
#include "symbols_elf.h"

struct ms_location;

/* What libdwarf sees as one object file. */
struct ms_dwarf_object {
	char kind; /* libdwarf looks at the first byte for readers of its own: 0 = none of them */
	struct ms_elf *elf;
	Dwarf_Obj_Access_Interface access;
	Dwarf_Debug dbg; /* NULL = not open */
};

struct ms_range {
	uint64_t low, high;
};

struct ms_ranges {
	struct ms_range *v;
	size_t n, cap;
};

/* Attributes of a DIE that this module cares about, read in one go. */
struct ms_die {
	bool has_low, has_high, high_is_offset, has_ranges;
	uint64_t low, high, ranges;
	Dwarf_Half ranges_form;
	uint32_t call_file, call_line, call_column;
	uint64_t addr_base, rnglists_base; /* of a unit DIE */
	uint64_t lines;                    /* the same: offset of its line table */
	bool has_lines;
	uint32_t language;
};

/* What relative addresses of a unit are relative to. */
struct ms_unit_base {
	struct ms_elf *elf;
	unsigned version;
	uint64_t low, addr_base, rnglists_base;
};

struct ms_row {
	uint32_t offset; /* from the start of its sequence */
	uint32_t line;
	uint32_t file : 20, column : 12; /* 0 = too large for that, or unknown */
};

/* Rows [first, first + n) of a unit: their addresses ascend and hold up to `high`. Sequences may
 * overlap where the linker folded equal functions into one. */
struct ms_sequence {
	uint64_t low, high;
	uint64_t reach; /* highest `high` of this and all earlier ones */
	size_t first, n;
};

struct ms_unit_node {
	uint64_t die;    /* offset in .debug_info */
	uint64_t entry;  /* first address */
	uint32_t parent; /* MS_NO_NODE = none */
	uint32_t call_file, call_line, call_column;
	bool inlined, named;
	const char *name;
};
#define MS_NO_NODE UINT32_MAX

/* From `address` to the next segment the innermost function is `node`. */
struct ms_segment {
	uint64_t address;
	uint32_t node;
};

struct ms_source {
	const char *folder, *name; /* in the file */
	const char *path;          /* joined, in the symbolizer's arena; NULL = not yet asked for */
};

struct ms_unit {
	struct ms_arena arena;
	uint64_t die;
	uint32_t language;
	char *folder; /* DW_AT_comp_dir */
	struct ms_row *rows;
	struct ms_sequence *sequences;
	struct ms_unit_node *nodes;
	struct ms_segment *segments;
	struct ms_source *sources;
	size_t sequence_count, node_count, segment_count, source_count;
	uint32_t first_source; /* number of sources[0] */
	size_t bytes;
	uint64_t used; /* moment of last use */
};

/* One range of a node, with its depth: where ranges overlap, the deepest is the innermost call. */
struct ms_cover {
	uint64_t low, high;
	uint32_t node, depth;
};

/* The functions of a unit. */
struct ms_tree {
	struct {
		struct ms_unit_node *v;
		size_t n, cap;
	} nodes;
	struct {
		struct ms_cover *v;
		size_t n, cap;
	} covers;
};

struct ms_span {
	uint64_t low, high;
	uint64_t reach; /* highest `high` of this and all earlier spans */
	uint32_t unit;
};

struct ms_unit_ref {
	uint64_t die;
	struct ms_unit *unit; /* NULL = not read, or dropped */
};

struct ms_dwarf {
	struct ms_dwarf_object main, alt;
	struct ms_elf *symbols;   /* for names that DWARF leaves out; may be NULL */
	struct ms_arena *strings; /* of the symbolizer */
	bool demangle;
	struct ms_unit_ref *units;
	struct ms_span *spans;
	size_t unit_count, span_count;
	size_t cached_bytes;
	unsigned opened_units; /* since libdwarf was opened */
	uint64_t clock;
	uint64_t scope_steps; /* work spent on qualifying names */
};

/* `elf` has .debug_info; `alt` is its supplementary file (dwz) or NULL; `symbols` has the symbol
 * table. All are borrowed. Names live in `strings`. NULL when libdwarf refuses it. */
struct ms_dwarf *ms_dwarf_new(struct ms_elf *elf, struct ms_elf *alt, struct ms_elf *symbols,
			      struct ms_arena *strings, bool demangle);
void ms_dwarf_free(struct ms_dwarf *d);
/* As ms_symbols_find, but 0 when nothing is known about the address. */
size_t ms_dwarf_find(struct ms_dwarf *d, uint64_t address, struct ms_location *out, size_t max);

/* ---- between the files of the module ---- */

/* True when `rc` is DW_DLV_OK; gives an error back to libdwarf. */
bool ms_dwarf_ok(Dwarf_Debug dbg, int rc, Dwarf_Error *e);
/* The attributes of `die`. */
void ms_die_read(Dwarf_Debug dbg, Dwarf_Die die, struct ms_die *out);
/* A string attribute, or NULL. Lives as long as `dbg`. */
const char *ms_die_text(Dwarf_Debug dbg, Dwarf_Die die, Dwarf_Half attribute);
/* Appends the address ranges of `die`, without empty ones and ones at 0 (code that the linker
 * removed). */
void ms_die_ranges(const struct ms_unit_base *base, const struct ms_die *die,
		   struct ms_ranges *out);
/* Calls `each` for every set of .debug_aranges with the offset of its unit's header. */
void ms_arange_sets(struct ms_elf *elf,
		    void (*each)(void *arg, uint64_t unit, const struct ms_ranges *r), void *arg);
struct ms_unit_base ms_unit_base(struct ms_elf *elf, Dwarf_Die die, const struct ms_die *facts);
/* An address by its number in .debug_addr; 0 = there is none. */
uint64_t ms_indexed_address(const struct ms_unit_base *base, uint64_t index);
/* Adds the functions of the unit with that header and entry. */
void ms_tree_read(const struct ms_unit_base *base, uint64_t header, uint64_t die, uint32_t language,
		  struct ms_tree *out);
/* Reads the line table at `offset` into the unit: its sources, rows and sequences. */
void ms_lines_read(struct ms_unit *u, struct ms_elf *elf, uint64_t offset);
/* Reads a unit; never NULL, but possibly empty. */
struct ms_unit *ms_unit_read(struct ms_dwarf *d, uint64_t die);
void ms_unit_free(struct ms_unit *u);
const char *ms_unit_source(struct ms_dwarf *d, struct ms_unit *u, uint32_t number);
/* Name of a node's function, or NULL. */
const char *ms_node_name(struct ms_dwarf *d, const struct ms_unit *u, const struct ms_unit_node *n);

#endif
