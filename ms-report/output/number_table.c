/* SPDX-License-Identifier: MIT
 * Numbers objects in order of appearance: strings, messages, paths of a tree. Also compresses a
 * gzip stream.
 */
#include "number_table.h"

#include "libcommon/base/arena.h"

#include <string.h>

/* ---- bytes ---- */

static uint32_t hash_bytes(const unsigned char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + n;
	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * UINT64_C(0x100000001b3);
	return ms_hash(h, 0);
}

const char *bytes_of(const struct table_of_bytes *t, uint32_t number, size_t *n)
{
	size_t begin = number ? t->end[number - 1] : 0;
	*n = t->end[number] - begin;
	return t->text.v + begin;
}

void bytes_copy(const struct table_of_bytes *t, uint32_t number, void *to)
{
	size_t n;
	const char *s = bytes_of(t, number, &n);
	memcpy(to, s, n);
}

uint32_t bytes_number(struct table_of_bytes *t, const void *s, size_t n, bool *is_new)
{
	uint32_t hash = hash_bytes(s, n), number;
	size_t have;
	for (size_t at = hash; (number = ms_lookup_next(&t->by_bytes, hash, &at));) {
		const char *old = bytes_of(t, number - 1, &have);
		if (have == n && (n == 0 || memcmp(old, s, n) == 0))
			break;
	}
	if (is_new)
		*is_new = !number;
	if (number)
		return number - 1;
	out_put(&t->text, s, n);
	*MS_APPEND(t->end, t->n, t->cap) = t->text.n;
	ms_lookup_add(&t->by_bytes, hash, (uint32_t)t->n);
	return (uint32_t)t->n - 1;
}

uint32_t string_number(struct table_of_bytes *t, const char *s, bool *is_new)
{
	return bytes_number(t, s, strlen(s), is_new);
}

void bytes_free(struct table_of_bytes *t)
{
	out_free(&t->text);
	MS_FREE(t->end, t->by_bytes.slots);
	*t = (struct table_of_bytes){0};
}

/* ---- tree ---- */

uint32_t key_child(struct key_tree *t, uint32_t parent, uint32_t key, bool *is_new)
{
	uint32_t hash = ms_hash(key, parent), node;
	if (!t->n)
		*MS_PUSH(t) = (struct key_node){0, 0};
	for (size_t at = hash; (node = ms_lookup_next(&t->by_key, hash, &at));)
		if (t->v[node].parent == parent && t->v[node].key == key)
			break;
	if (is_new)
		*is_new = !node;
	if (node)
		return node;
	*MS_PUSH(t) = (struct key_node){parent, key};
	ms_lookup_add(&t->by_key, hash, (uint32_t)t->n - 1);
	return (uint32_t)t->n - 1;
}

void key_free(struct key_tree *t)
{
	MS_FREE(t->v, t->by_key.slots);
	*t = (struct key_tree){0};
}

/* ---- gzip ---- */

/* A window of 2^15 bytes; adding 16 requests a gzip header. */
#define GZIP_WINDOW (15 + 16)
#define GZIP_CHUNK 65536
#define PART_MAX ((size_t)1 << 30) /* chunk size, as zlib counts in 32 bits */

void gzip_open(struct gzip *g, struct out *to, bool plain)
{
	*g = (struct gzip){.to = to, .plain = plain};
	/* can fail only for lack of memory, which ends the program as everywhere else */
	if (!plain && deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				   Z_DEFAULT_STRATEGY) != Z_OK)
		ms_xrealloc(NULL, SIZE_MAX, 1);
}

static void deflate_all(struct gzip *g, int flush)
{
	char chunk[GZIP_CHUNK];
	do {
		g->z.next_out = (unsigned char *)chunk;
		g->z.avail_out = sizeof chunk;
		deflate(&g->z, flush);
		out_put(g->to, chunk, sizeof chunk - g->z.avail_out);
	} while (g->z.avail_out == 0);
}

void gzip_take(struct gzip *g, struct out *text)
{
	if (g->plain)
		out_put(g->to, text->v, text->n);
	for (size_t at = 0, part; !g->plain && at < text->n; at += part) {
		part = text->n - at < PART_MAX ? text->n - at : PART_MAX;
		g->z.next_in = (unsigned char *)text->v + at;
		g->z.avail_in = (unsigned)part;
		deflate_all(g, Z_NO_FLUSH);
	}
	text->n = 0;
}

void gzip_close(struct gzip *g)
{
	if (g->plain)
		return;
	deflate_all(g, Z_FINISH);
	deflateEnd(&g->z);
}
