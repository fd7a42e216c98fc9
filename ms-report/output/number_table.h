/* SPDX-License-Identifier: MIT
 * Numbers objects in order of appearance: strings, messages, paths of a tree. Also compresses a
 * gzip stream.
 */
#pragma once

#include "out.h"

#include "libcommon/base/lookup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* Assigns numbers 0, 1, 2, ... to different byte strings. A zeroed table is empty. */
struct table_of_bytes {
	struct out text; /* all byte strings, concatenated */
	size_t *end;     /* end of each byte string in `text` */
	size_t n, cap;
	struct ms_lookup by_bytes;
};
/* Returns the number of a byte string, which is added if needed. *is_new (may be NULL) tells
 * whether it was added. */
uint32_t bytes_number(struct table_of_bytes *t, const void *s, size_t n, bool *is_new);
uint32_t string_number(struct table_of_bytes *t, const char *s, bool *is_new);
/* Returns the bytes of a number; borrowed until the next byte string is added. */
const char *bytes_of(const struct table_of_bytes *t, uint32_t number, size_t *n);
/* Copies the bytes of a number to a struct. */
void bytes_copy(const struct table_of_bytes *t, uint32_t number, void *to);
void bytes_free(struct table_of_bytes *t);

/* Describes a node of a tree whose edges have keys. Node 0 is the root; parents precede their
 * children. A zeroed tree is empty. */
struct key_node {
	uint32_t parent, key;
};
struct key_tree {
	struct key_node *v;
	size_t n, cap;
	struct ms_lookup by_key;
};
/* Returns the child of `parent` with that key, which is added if needed. */
uint32_t key_child(struct key_tree *t, uint32_t parent, uint32_t key, bool *is_new);
void key_free(struct key_tree *t);

/* Writes a gzip file without a name or time, so that equal texts give equal files. */
struct gzip {
	z_stream z;
	struct out *to;
	bool plain; /* writes the text uncompressed */
};
void gzip_open(struct gzip *g, struct out *to, bool plain);
/* Compresses the contents of `text` and empties it. */
void gzip_take(struct gzip *g, struct out *text);
void gzip_close(struct gzip *g);
