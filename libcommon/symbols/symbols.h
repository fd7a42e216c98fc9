/* SPDX-License-Identifier: MIT
 * Room symbols: names for addresses.
 *   In:  modules of a trace with their build-ids; ELF files, DWARF, perf maps, files of debug
 *        symbols.
 *   Out: functions, files and lines, inlined ones too; which frames are the user's own
 *        (runtime.h).
 *   Used by: snapshot, suppress, ms-snap, and ms-record for functions that --hook names.
 *
 * From an address in a module to functions, files and lines. libdw and libelf stay behind this
 * header.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols_location.h"

struct ms_err;

struct ms_symbols_options {
	const char *sysroot; /* prefix for module paths, or NULL */
	const char *const
		*debug_dirs; /* searched before /usr/lib/debug; NULL-terminated, or NULL */
	bool no_demangle;
	bool no_cache; /* neither read nor write what was looked up before (symbols_cache.h) */
	uint64_t debuginfod_ns; /* ask debuginfod servers, for so long in all; 0 = never */
};

struct ms_symbols;

struct ms_symbols *ms_symbols_new(const struct ms_symbols_options *opt);
/* Another one with the same options, which shares nothing with it: one for each thread. */
struct ms_symbols *ms_symbols_again(const struct ms_symbols *s);
void ms_symbols_free(struct ms_symbols *s);

/* Returns why servers were not asked for all that was missing, or NULL: they were, or were not to
 * be. */
const char *ms_symbols_trouble(const struct ms_symbols *s);

/* Holds the facts about a module that a trace has; 0 = not known. */
struct ms_symbols_module {
	const char *path;
	const void *build_id; /* raw bytes; none: the file is taken as it is */
	size_t build_id_size;
	int kind; /* MS_MODULE_KIND */
	/* The file's size and time when it was mapped: where there is no build-id, a file of
	 * another size or time is another one. */
	uint64_t file_bytes, file_mtime_ns;
	bool deleted; /* deleted or replaced while it was mapped */
	/* The open file that was mapped; 0 = none: it is sought by its path; -1 = that, too, but
	 * without a build-id nothing is it. */
	int held;
	/* Facts about code made at run time: by which process, whose, and where it began to work
	 * (NULL = not known), when that ran (ns since 1970), and since when it was recorded
	 * (CLOCK_MONOTONIC). */
	uint64_t pid, uid, from_ns, to_ns, since_ns;
	const char *cwd;
};

/* Is the MS_MODULE_KIND of code that was made at run time, and that which a frame of no module is
 * taken for. */
#define MS_SYMBOLS_MADE 2
/* Is the MS_MODULE_KIND of the recorder's own code in the process. */
#define MS_SYMBOLS_RECORDER 3
/* Is the time after the last event in which a program may write its list of code made at run
 * time. */
#define MS_SYMBOLS_LATE_NS UINT64_C(10000000000)

/* Gives a handle for ms_symbols_find, from 0; the same one for the same module. */
int ms_symbols_module_of(struct ms_symbols *s, const struct ms_symbols_module *m);
/* enum ms_symbols_state of format/trace.h, and where the symbols came from ("" = nowhere). Opens
 * the files if needed. That something is damaged or missing may show only when it is looked for:
 * ask after the last ms_symbols_find. */
int ms_symbols_module_state(struct ms_symbols *s, int module, const char **file);
/* Looks up `address` as the ELF file has it (bias taken off, and one taken off a return address by
 * the caller). Fills up to `max` locations and returns how many (at least 1: an unknown one has
 * function NULL). Cheapest in ascending order. */
size_t ms_symbols_find(struct ms_symbols *s, int module, uint64_t address, struct ms_location *out,
		       size_t max);

/* The name, as the file has it, of what the call instruction calls that `address` (as above) is the
 * last byte of; NULL = not known, as where the file is gone. Valid until s is freed. */
const char *ms_symbols_called(struct ms_symbols *s, int module, uint64_t address);

/* Demangled C++, Rust or D name in malloc'ed memory, or NULL when it is not a mangled one. Ada's
 * look like anybody's, and are to be known for what they are: "pack__work". */
char *ms_demangle(const char *name);
char *ms_demangle_ada(const char *name);

/* Open files of a trace's modules: descriptors by id, 0 = none. */
struct ms_held_files {
	int *v;
	size_t n;
};

/* Appends a symbols block for every frame of the ended trace `path`, then a new end block equal to
 * the last. Replaces nothing; a trace that has symbols already is left alone. `s` finds them: one
 * for many traces opens each module once; NULL: one of its own. `held`: NULL = none. 0, or -1 with
 * `err` set and the trace as it was. */
int ms_symbols_embed(const char *path, struct ms_symbols *s, const struct ms_held_files *held,
		     struct ms_err *err);
