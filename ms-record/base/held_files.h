/* SPDX-License-Identifier: MIT
 * Files of modules, held open from their first use to the end of the run, so that symbols come from
 * the very files that ran, even if their paths lead elsewhere later.
 *
 * A file is held once for all sessions. When descriptors run short, files that their paths still
 * lead to are closed first. The functions may be called from any thread, except that
 * held_file_keep with `may_close` is for the draining thread, the only one that reads through
 * descriptors that it did not open itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stat;

/* Names what is remembered of a file for later processes, a byte each. */
enum held_note { HELD_NOTE_MODULE, HELD_NOTE_PROGRAM, HELD_NOTE_OPERATORS, HELD_NOTES };
#define HELD_NOTED 0x80u /* set in a note that was made */

struct held_file {
	int fd; /* -1 = closed because descriptors were running out */
	uint64_t dev, inode, bytes, mtime_ns, ctime_ns, links;
	char *path;                /* path by which it was first opened */
	uint8_t notes[HELD_NOTES]; /* indexed by enum held_note */
};

/* Takes ownership of `fd`, an open descriptor of the file at `path`. Returns the held file, which
 * stays valid for the whole run. NULL = not a regular file, or no room; `fd` is then closed. */
struct held_file *held_file_keep(int fd, const char *path, bool may_close);
/* Returns the held file with that path and inode, if its content was not changed after it was
 * opened; else NULL. */
struct held_file *held_file_find(const char *path, uint64_t inode);
/* Returns where something can be remembered of the open file `fd`, for as long as its content stays
 * the same; NULL = it is not held. Used by the control thread only. */
uint8_t *held_file_note(int fd, enum held_note which);
/* Tells whether the file may have been overwritten and its modification time reset: its change time
 * (ctime) differs, but its path and its number of links do not. */
bool held_file_touched(const struct held_file *f);
/* Tells whether `st` is the status of the held file, with unchanged content. */
bool held_file_same(const struct held_file *f, const struct stat *st);
