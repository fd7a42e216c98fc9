/* SPDX-License-Identifier: MIT
 * FILE.d/index: a line for every image of the run, in the order in which they ended (ms-record(1),
 * FILES).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct image;

struct index {
	int fd;        /* -1 = it is not open */
	char *waiting; /* lines of images that ended before there was a folder */
	size_t waiting_bytes;
};

/* How an index begins, by which a folder is known for that of a recording. */
#define INDEX_HEAD "#image\t"

/* Begins the index in that folder. Each line is written at once and whole, so that a recorder that
 * is killed leaves those so far. Without an index nothing else is harmed. */
void index_open(struct index *x, int folder);
/* Adds an image; before index_open the line waits. */
void index_add(struct index *x, const struct image *m);
void index_close(struct index *x);
