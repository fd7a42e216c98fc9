/* SPDX-License-Identifier: MIT
 * Caches the results of lookups in a module's files, in the user's cache folder: one file per
 * module. Part of the symbol module.
 *
 * A file holds the places of all addresses ever looked up in the module, and the identity of every
 * file that was opened or searched for. If a debug file has appeared or changed since, all of it is
 * invalid. Files that are damaged or not our own are ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "libcommon/base/arena.h"
#include "symbols_location.h"

/* Holds the places (logical frames) of an address, innermost first, in the form of
 * ms_symbols_find. */
struct ms_cached_chain {
	uint64_t address;
	size_t n;
	const struct ms_location *v;
};

/* Identifies a file that was searched for; all 0 and "" = it did not exist. */
struct ms_cached_file {
	const char *path, *real; /* real: with symbolic links resolved */
	struct ms_cached_identity {
		uint64_t dev, ino, size, mtime_ns, ctime_ns;
	} is;
};

/* Holds the cached results for one module. Strings and chains are borrowed from the reader's
 * arena. */
struct ms_cached {
	const char *name; /* name of the module's file in the cache folder */
	const char *key;  /* identifies module and options */
	int state;        /* state of the module, as ms_symbols_module_state returns it */
	const char *source;
	MS_ARRAY(struct ms_cached_chain) chains;
	size_t sorted; /* number of chains read from the file, sorted by address; chains after them
			  are new */
	MS_ARRAY(struct ms_cached_file) files;
	bool unsure; /* the result may differ next time, so it must not be written */
};

/* Opens the cache folder, created if needed. Returns -1 if there is no safe one. */
int ms_cache_folder(void);
/* Reads the results for c->key if they are still valid; else leaves `c` unchanged. */
void ms_cached_read(struct ms_cached *c, int folder, struct ms_arena *a);
/* Parses the bytes of a cache file as ms_cached_read does, without checking the files it depends
 * on. False = damaged, or of another key. */
bool ms_cached_parse(struct ms_cached *c, const void *data, size_t n, struct ms_arena *a);
/* Returns the chain of an address; NULL = not known. */
const struct ms_cached_chain *ms_cached_find(const struct ms_cached *c, uint64_t address);
/* Adds a copy of a chain, whose strings are borrowed. */
void ms_cached_add(struct ms_cached *c, uint64_t address, const struct ms_location *v, size_t n,
		   struct ms_arena *a);
/* Records a file that was opened, or, if `st` is NULL, did not exist; `sure` as in struct
 * ms_elf_watch. */
void ms_cached_saw(struct ms_cached *c, const char *path, const struct stat *st, bool sure,
		   struct ms_arena *a);
/* Writes the results, merged with results that other processes have written in the meantime.
 * Returns false if nothing has changed. */
bool ms_cached_write(struct ms_cached *c, int folder, struct ms_arena *a);
void ms_cached_free(struct ms_cached *c);
/* Removes the least recently used files until the folder holds at most `most` bytes, and temporary
 * files of interrupted writers. */
void ms_cache_trim(int folder, uint64_t most);
