/* SPDX-License-Identifier: MIT
 * The destination of an output: a name in a folder that is held open.
 *
 * Others may be able to write into the folder, and we may be root. So an existing file is opened
 * for writing or trusted only if nobody else can have put it there. Other files are created anew,
 * through the folder's descriptor, since the owner of the folder could replace it by another.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct ms_err;

struct ms_dest {
	int folder; /* opened with O_PATH; -1 = none */
	char name[NAME_MAX + 1];
	struct stat st; /* status of the existing file; st_mode 0 = there is none */
	bool followed;  /* the path is a symbolic link, which was followed */
	bool safe;      /* only we or root can create files in the folder */
	int fd;         /* our descriptor that the path names (/dev/stdout); -1 = none */
};

/* Resolves `path`. If its last component is a symbolic link, it is followed only if nobody else can
 * have put it there. Returns 0, or -1 with `err` set: the folder does not exist, the link belongs
 * to another user, or the path is itself a folder. */
int ms_dest_find(struct ms_dest *p, const char *path, struct ms_err *err);
void ms_dest_close(struct ms_dest *p);
/* Opens a file that is not a regular file for writing. It must be ours or root's if others can
 * create files there. Waits five seconds at most for a FIFO's reader. Returns the descriptor, or -1
 * with `err` set. */
int ms_dest_open_special(const struct ms_dest *p, const char *path, struct ms_err *err);
/* Creates the file `name`, which must not exist yet, in a folder. Only its owner, who is the user
 * behind sudo if there is one, can access it. Returns the descriptor, or -1 with errno set. */
int ms_dest_create(int folder, const char *name);
/* Creates a file as ms_dest_create does, with a unique name that begins with `name` and is stored
 * in `temporary`. */
int ms_dest_temporary(int folder, const char *name, char temporary[NAME_MAX + 1]);
/* Tells whether `name` is the file with these device and inode numbers. */
bool ms_dest_is(int folder, const char *name, dev_t dev, ino_t ino);
/* Tells whether the file `name` is a trace. */
bool ms_dest_is_trace(int folder, const char *name);
/* Tells whether a file is ours or belongs to the user behind sudo. */
bool ms_dest_ours(const struct stat *st);
/* Makes the user who called sudo the owner of a file. */
void ms_give_to_user(int fd);
