/* SPDX-License-Identifier: MIT
 * What was once looked up in a module's files, kept in the user's cache folder: one file a module.
 * Part of the symbol module.
 *
 * A file holds the places of all addresses that were ever asked of the module, and the identity of
 * every file that was opened or sought for them: a debug file that has come since, or one that was
 * changed, makes all of it void. What is damaged, or not our own, is not believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "libcommon/base/arena.h"
#include "symbols_location.h"

/* Innermost first, as of ms_symbols_find. */
struct ms_cached_chain {
	uint64_t address;
	size_t n;
	const struct ms_location *v;
};

/* A file that was looked for; all 0 and "": it was not there. */
struct ms_cached_file {
	const char *path, *real; /* real: where links lead */
	struct ms_cached_identity {
		uint64_t dev, ino, size, mtime_ns, ctime_ns;
	} is;
};

/* Holds what is known of one module. Strings and chains are borrowed, from the arena of whoever
 * reads. */
struct ms_cached {
	const char *name; /* of its file in the folder */
	const char *key;  /* what was asked for: module and options */
	int state;        /* as ms_symbols_module_state says */
	const char *source;
	MS_ARRAY(struct ms_cached_chain) chains;
	size_t sorted; /* so many of them, by address; the others are new */
	MS_ARRAY(struct ms_cached_file) files;
	bool unsure; /* something may be otherwise the next time: it is not to be written */
};

/* Returns the folder, made if needed; -1: there is none that is safe. */
int ms_cache_folder(void);
/* Reads what is known of c->key, if all of it still holds; else leaves `c` as it is. */
void ms_cached_read(struct ms_cached *c, int folder, struct ms_arena *a);
/* Reads the bytes of such a file as ms_cached_read does, whatever the files that it depends on.
 * False: damaged, or of another key. */
bool ms_cached_parse(struct ms_cached *c, const void *data, size_t n, struct ms_arena *a);
/* NULL = not known. */
const struct ms_cached_chain *ms_cached_find(const struct ms_cached *c, uint64_t address);
/* Notes a chain, which is copied but for its strings. */
void ms_cached_add(struct ms_cached *c, uint64_t address, const struct ms_location *v, size_t n,
		   struct ms_arena *a);
/* Notes a file that was opened, or (NULL) was not there; `sure` as in struct ms_elf_watch. */
void ms_cached_saw(struct ms_cached *c, const char *path, const struct stat *st, bool sure,
		   struct ms_arena *a);
/* Writes it, together with what others have written meanwhile. False = things are as they were. */
bool ms_cached_write(struct ms_cached *c, int folder, struct ms_arena *a);
void ms_cached_free(struct ms_cached *c);
/* Removes what was not used for longest until the folder holds at most `most` bytes, and what an
 * interrupted writer left. */
void ms_cache_trim(int folder, uint64_t most);
