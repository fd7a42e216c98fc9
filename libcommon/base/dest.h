/* SPDX-License-Identifier: MIT
 * Where an output goes: a name in a folder that is held open.
 *
 * Others may be able to write into the folder, and we may be root. So nothing that has the name
 * already is opened for writing or believed, but for what nobody else can have put there: files are
 * made anew, and what is done to them is done by the folder's descriptor, since whoever owns the
 * folder can put another in its place.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct ms_err;

struct ms_dest {
	int folder; /* O_PATH; -1 = none */
	char name[NAME_MAX + 1];
	struct stat st; /* of what has the name; st_mode 0 = nothing */
	bool followed;  /* the path is a symbolic link, which leads there */
	bool safe;      /* nobody but us and root puts things into the folder */
	int fd;         /* the path names this descriptor of ours (/dev/stdout); -1 = it does not */
};

/* Finds where `path` leads. A symbolic link as its last part is followed if nobody else can have
 * put it there. 0, or -1 with `err` set: no such folder, a foreign link, or a folder has the
 * name. */
int ms_dest_find(struct ms_dest *p, const char *path, struct ms_err *err);
void ms_dest_close(struct ms_dest *p);
/* Opens for writing what is no regular file. It must be ours or root's where others can have put it
 * there. A FIFO that nobody reads is waited for, five seconds at most. The descriptor, or -1 with
 * `err` set. */
int ms_dest_open_special(const struct ms_dest *p, const char *path, struct ms_err *err);
/* Makes the file `name` in a folder, which must not be there yet, for its owner alone: the user
 * behind sudo if there is one. The descriptor, or -1 with errno set. */
int ms_dest_create(int folder, const char *name);
/* Makes a file as ms_dest_create does, under a new name that begins with `name` and is put into
 * `temporary`. */
int ms_dest_temporary(int folder, const char *name, char temporary[NAME_MAX + 1]);
/* Tells whether the file of these numbers has that name. */
bool ms_dest_is(int folder, const char *name, dev_t dev, ino_t ino);
/* Tells whether a trace has that name. */
bool ms_dest_is_trace(int folder, const char *name);
/* Is it ours, or of the user behind sudo? */
bool ms_dest_ours(const struct stat *st);
/* Whoever called sudo shall own what is made for him. */
void ms_give_to_user(int fd);
