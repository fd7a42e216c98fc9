/* SPDX-License-Identifier: MIT
 * From an address in a module to functions, files and lines. libdw and libelf stay behind this
 * header.
 */
#ifndef MS_SYMBOLS_H
#define MS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;

struct ms_symbols_options {
	const char *sysroot; /* prefix for module paths, or NULL */
	const char *const
		*debug_dirs; /* searched before /usr/lib/debug; NULL-terminated, or NULL */
	bool no_demangle;
};

/* One logical frame; a physical one is a chain of these, innermost inlined first. Strings live as
 * long as the symbolizer. */
struct ms_location {
	const char *function; /* demangled, NULL = unknown */
	const char *file;     /* as the debug information says, made absolute or relative to its
				 compilation folder; NULL = unknown */
	uint32_t line;        /* 0 = unknown */
	uint32_t column;
	bool inlined; /* true for all but the last of a chain */
};

struct ms_symbols;

struct ms_symbols *ms_symbols_new(const struct ms_symbols_options *opt);
/* Another one with the same options, which shares nothing with it: one for each thread. */
struct ms_symbols *ms_symbols_again(const struct ms_symbols *s);
void ms_symbols_free(struct ms_symbols *s);

/* A module by path and build-id (raw bytes; 0 length = unknown, then the file is taken as it is).
 * Gives a handle for ms_symbols_find, from 0; the same handle for the same pair. `kind` is the
 * trace's MS_MODULE_KIND. */
int ms_symbols_module(struct ms_symbols *s, const char *path, const void *build_id,
		      size_t build_id_size, int kind);
/* enum ms_symbols_state of format/trace.h, and where the symbols came from ("" = nowhere). Opens
 * the files if needed. */
int ms_symbols_module_state(struct ms_symbols *s, int module, const char **file);
/* Looks up `address` as the ELF file has it (bias taken off, and one taken off a return address by
 * the caller). Fills up to `max` locations and returns how many (at least 1: an unknown one has
 * function NULL). Cheapest in ascending order. */
size_t ms_symbols_find(struct ms_symbols *s, int module, uint64_t address, struct ms_location *out,
		       size_t max);

/* Demangled C++ or Rust name in malloc'ed memory, or NULL when it is not a mangled one. */
char *ms_demangle(const char *name);

/* Appends a symbols block for every frame of the ended trace `path`, then a new end block equal to
 * the last. Replaces nothing; a trace that has symbols already is left alone. `s` finds them: one
 * for many traces opens each module once; NULL: one of its own. 0, or -1 with `err` set and the
 * trace as it was. */
int ms_symbols_embed(const char *path, struct ms_symbols *s, struct ms_err *err);

#endif
