/* SPDX-License-Identifier: MIT
 * FILE.d/index: a line for every image of the run, in the order in which they ended (ms-record(1),
 * FILES).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct image;

struct index {
	int fd;        /* -1 = not open */
	char *waiting; /* lines of program images that ended before FILE.d existed */
	size_t waiting_bytes;
};

/* First bytes of an index, which identify FILE.d as the folder of a recording. */
#define INDEX_HEAD "#image\t"

/* Creates the index in the folder with descriptor `folder`. Each line is written immediately and by
 * one call, so that a killed recorder leaves only complete lines. A failure affects nothing but the
 * index. */
void index_open(struct index *x, int folder);
/* Adds an program image's line to the index; before index_open, keeps it in memory. */
void index_add(struct index *x, const struct image *m);
void index_close(struct index *x);
