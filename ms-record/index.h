/* SPDX-License-Identifier: MIT
 * FILE.d/index: a line for every image of the run, in the order in which they ended (ms-record(1),
 * FILES).
 */
#ifndef INDEX_H
#define INDEX_H

#include <stdbool.h>
#include <stddef.h>

struct image;

struct index {
	bool open;
	int fd;
	char *waiting; /* lines of images that ended before there was a folder */
	size_t waiting_bytes;
};

/* Begins the index in the folder `folder`. Each line is written at once and whole, so that a
 * recorder that is killed leaves those so far. Returns the descriptor (for its owner to be set),
 * or -1: there is no index then, which harms nothing else. */
int index_open(struct index *x, const char *folder);
/* Adds an image; before index_open the line waits. */
void index_add(struct index *x, const struct image *m);
void index_close(struct index *x);

#endif
