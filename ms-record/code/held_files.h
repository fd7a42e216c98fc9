/* SPDX-License-Identifier: MIT
 * Files of modules, held open from the first sight to the end of the run: symbols come from the
 * very files that ran, whatever has become of their paths.
 *
 * A file is held once, whichever sessions have it. When descriptors become few, those are closed
 * first whose paths still lead to them. The functions may be called by any thread, held_file_keep
 * with `may_close` only by the draining thread, which alone reads by descriptors of others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stat;

struct held_file {
	int fd; /* -1 = closed for want of descriptors */
	uint64_t dev, inode, bytes, mtime_ns, ctime_ns, links;
	char *path; /* as it was opened first */
};

/* Takes over `fd`, whose file is `path`. What is held of that file: it stays until the run is over.
 * NULL = it is no regular file, or there is no room; then `fd` is closed. */
struct held_file *held_file_keep(int fd, const char *path, bool may_close);
/* The file of that path and number, if it is held and has not been written since; else NULL. */
struct held_file *held_file_find(const char *path, uint64_t inode);
/* May it have been written since, by somebody who put its time back? It changed where it is. */
bool held_file_touched(const struct held_file *f);
/* Is that still what was held, or has it been overwritten? */
bool held_file_same(const struct held_file *f, const struct stat *st);
