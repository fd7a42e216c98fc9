/* SPDX-License-Identifier: MIT
 * Numbers for things in the order in which they appear: strings, messages, paths of a tree; and a
 * gzip stream to write them to.
 */
#pragma once

#include "out.h"

#include "libcommon/base/lookup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* Each different run of bytes has a number: 0, 1, 2, ... A zeroed one is empty. */
struct table_of_bytes {
	struct out text; /* all of them, one after the other */
	size_t *end;     /* of each in `text` */
	size_t n, cap;
	struct ms_lookup by_bytes;
};
/* The number of those bytes. *is_new (may be NULL): they were not in it yet. */
uint32_t bytes_number(struct table_of_bytes *t, const void *s, size_t n, bool *is_new);
uint32_t string_number(struct table_of_bytes *t, const char *s, bool *is_new);
/* Bytes of a number; borrowed until the next new one. */
const char *bytes_of(const struct table_of_bytes *t, uint32_t number, size_t *n);
/* Copies them to a struct. */
void bytes_copy(const struct table_of_bytes *t, uint32_t number, void *to);
void bytes_free(struct table_of_bytes *t);

/* A tree whose nodes are named by keys. Node 0 is above all; a parent comes before its children. A
 * zeroed one is empty. */
struct key_node {
	uint32_t parent, key;
};
struct key_tree {
	struct key_node *v;
	size_t n, cap;
	struct ms_lookup by_key;
};
/* The child of `parent` for that key, new or old. */
uint32_t key_child(struct key_tree *t, uint32_t parent, uint32_t key, bool *is_new);
void key_free(struct key_tree *t);

/* A gzip file without a name and without a time: the same bytes for the same text. */
struct gzip {
	z_stream z;
	struct out *to;
	bool plain; /* nothing is compressed */
};
void gzip_open(struct gzip *g, struct out *to, bool plain);
/* Compresses what is in `text`, which is empty then. */
void gzip_take(struct gzip *g, struct out *text);
void gzip_close(struct gzip *g);
