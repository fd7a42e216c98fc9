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
	bool no_cache;          /* neither use nor write the cache (symbols_cache.h) */
	uint64_t debuginfod_ns; /* time in all for debuginfod servers; 0 = do not ask them */
};

struct ms_symbols;

struct ms_symbols *ms_symbols_new(const struct ms_symbols_options *opt);
/* Creates another symbolizer with the same options that shares nothing with the first, for use in
 * another thread. */
struct ms_symbols *ms_symbols_again(const struct ms_symbols *s);
void ms_symbols_free(struct ms_symbols *s);

/* Returns the reason why servers were not asked about some missing files; NULL = they were asked,
 * or no server is to be asked. */
const char *ms_symbols_trouble(const struct ms_symbols *s);

/* Holds the facts about a module from a trace; 0 = not known. */
struct ms_symbols_module {
	const char *path;
	const void *build_id; /* raw bytes; NULL = there is no build-id to verify the file by */
	size_t build_id_size;
	int kind; /* MS_MODULE_KIND */
	/* Size and modification time of the file when it was mapped. If there is no build-id, a
	 * file with another size or time is a different file. */
	uint64_t file_bytes, file_mtime_ns;
	bool deleted; /* deleted or replaced while it was mapped */
	/* Descriptor of the mapped file. 0 = none: the file is searched for by path. -1 = the file
	 * could not be kept open, and without a build-id no other file is accepted. */
	int held;
	/* Facts about code made at run time: the pid and user of its process, the initial working
	 * folder (NULL = not known), when the process ran (ns since 1970), and when its recording
	 * began (CLOCK_MONOTONIC). */
	uint64_t pid, uid, from_ns, to_ns, since_ns;
	const char *cwd;
};

/* MS_MODULE_KIND of code made at run time; also assumed for frames without a module. */
#define MS_SYMBOLS_MADE 2
/* MS_MODULE_KIND of the recorder's own code in the process. */
#define MS_SYMBOLS_RECORDER 3
/* Time after the last event, in ns, in which a program may write its list of code made at run
 * time. */
#define MS_SYMBOLS_LATE_NS UINT64_C(10000000000)

/* Returns a handle for ms_symbols_find, from 0; equal modules have equal handles. */
int ms_symbols_module_of(struct ms_symbols *s, const struct ms_symbols_module *m);
/* Returns the enum ms_symbols_state (format/trace.h) of a module, and the file of its symbols ("" =
 * none). Opens the files if needed. Lookups may reveal damaged or missing parts, so call it after
 * the last ms_symbols_find. */
int ms_symbols_module_state(struct ms_symbols *s, int module, const char **file);
/* Looks up `address`, relative to the ELF file (without the load bias; for a return address, the
 * caller subtracts one). Fills up to `max` locations and returns their number, at least 1: for an
 * unknown address, a location whose function is NULL. Lookups in ascending order are fastest. */
size_t ms_symbols_find(struct ms_symbols *s, int module, uint64_t address, struct ms_location *out,
		       size_t max);

/* Finds the declaration of the variable that begins at `address` in the ELF file, or at that offset
 * in thread-local storage. The first question about a module reads all of its debug information.
 * Returns false if it is not known. */
bool ms_symbols_variable(struct ms_symbols *s, int module, uint64_t address, bool in_thread,
			 struct ms_variable *out);

/* Returns the symbol called by the call instruction whose last byte is at `address` (as for
 * ms_symbols_find); NULL = not known, for instance without the file. Valid until s is freed. */
const char *ms_symbols_called(struct ms_symbols *s, int module, uint64_t address);

/* Demangle a C++, Rust or D name into malloc'ed memory; NULL = it is not mangled. Ada's names
 * ("pack__work") look like any others, so the caller must know that a name is Ada's. */
char *ms_demangle(const char *name);
char *ms_demangle_ada(const char *name);

/* Holds open files of a trace's modules: descriptors by id, 0 = none. */
struct ms_held_files {
	int *v;
	size_t n;
};

/* Appends a symbols block for every frame of the finished trace `path`, then a copy of its last end
 * block. Changes nothing in a trace that has symbols. `s` is the symbolizer, which for several
 * traces should be the same, so that each module is opened once; NULL = a new one. `held`: NULL =
 * none. Returns 0, or -1 with `err` set and the trace unchanged. */
int ms_symbols_embed(const char *path, struct ms_symbols *s, const struct ms_held_files *held,
		     struct ms_err *err);
