/* SPDX-License-Identifier: MIT
 * Numbers for things in the order in which they appear: strings, messages, paths of a tree; and a
 * gzip stream to write them to.
 */
#include "export_table.h"

#include "libcommon/base/arena.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h)
{
	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

/* ---- bytes ---- */

static uint64_t hash_bytes(const unsigned char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + n;
	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * UINT64_C(0x100000001b3);
	return mix(h);
}

const char *bytes_of(const struct table_of_bytes *t, uint32_t number, size_t *n)
{
	size_t begin = number ? t->end[number - 1] : 0;
	*n = t->end[number] - begin;
	return t->text.v + begin;
}

/* The slot that has those bytes, or a free one. */
static size_t slot_of(const struct table_of_bytes *t, const void *s, size_t n)
{
	size_t i = hash_bytes(s, n) & (t->slot_count - 1), have;
	for (; t->slots[i]; i = (i + 1) & (t->slot_count - 1)) {
		const char *old = bytes_of(t, t->slots[i] - 1, &have);
		if (have == n && (n == 0 || memcmp(old, s, n) == 0))
			break;
	}
	return i;
}

static void grow_bytes(struct table_of_bytes *t)
{
	free(t->slots);
	t->slot_count = t->slot_count ? t->slot_count * 2 : 1024;
	t->slots = ms_xcalloc(t->slot_count, sizeof *t->slots);
	for (uint32_t i = 0; i < t->n; i++) {
		size_t n;
		const char *s = bytes_of(t, i, &n);
		t->slots[slot_of(t, s, n)] = i + 1;
	}
}

uint32_t bytes_number(struct table_of_bytes *t, const void *s, size_t n, bool *is_new)
{
	if (t->n * 2 >= t->slot_count)
		grow_bytes(t);
	size_t i = slot_of(t, s, n);
	bool fresh = t->slots[i] == 0;
	if (is_new)
		*is_new = fresh;
	if (!fresh)
		return t->slots[i] - 1;
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 256;
		t->end = ms_xrealloc(t->end, t->cap, sizeof *t->end);
	}
	t->text.fd = -1;
	out_put(&t->text, s, n);
	t->end[t->n++] = t->text.n;
	t->slots[i] = (uint32_t)t->n;
	return (uint32_t)t->n - 1;
}

uint32_t string_number(struct table_of_bytes *t, const char *s, bool *is_new)
{
	return bytes_number(t, s, strlen(s), is_new);
}

void bytes_free(struct table_of_bytes *t)
{
	out_free(&t->text);
	free(t->end);
	free(t->slots);
	*t = (struct table_of_bytes){0};
}

/* ---- tree ---- */

static size_t child_slot(const struct key_tree *t, uint32_t parent, uint32_t key)
{
	uint64_t h = ((uint64_t)parent << 32 | key) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = mix(h) & (t->slot_count - 1);
	for (; t->slots[i]; i = (i + 1) & (t->slot_count - 1))
		if (t->v[t->slots[i]].parent == parent && t->v[t->slots[i]].key == key)
			break;
	return i;
}

static void grow_tree(struct key_tree *t)
{
	free(t->slots);
	t->slot_count = t->slot_count ? t->slot_count * 2 : 1024;
	t->slots = ms_xcalloc(t->slot_count, sizeof *t->slots);
	for (uint32_t i = 1; i < t->n; i++)
		t->slots[child_slot(t, t->v[i].parent, t->v[i].key)] = i;
}

uint32_t key_child(struct key_tree *t, uint32_t parent, uint32_t key, bool *is_new)
{
	if (!t->n)
		*MS_PUSH(t) = (struct key_node){0, 0};
	if (t->n * 2 >= t->slot_count)
		grow_tree(t);
	size_t i = child_slot(t, parent, key);
	if (is_new)
		*is_new = t->slots[i] == 0;
	if (!t->slots[i]) {
		t->slots[i] = (uint32_t)t->n;
		*MS_PUSH(t) = (struct key_node){parent, key};
	}
	return t->slots[i];
}

void key_free(struct key_tree *t)
{
	free(t->v);
	free(t->slots);
	*t = (struct key_tree){0};
}

/* ---- gzip ---- */

/* A window of 2^15 bytes; 16 more asks for the header of gzip. */
#define GZIP_WINDOW (15 + 16)
#define GZIP_CHUNK 65536

void gzip_open(struct gzip *g, struct out *to, bool plain)
{
	*g = (struct gzip){.to = to, .plain = plain};
	/* the only failure is no memory, which ends the program as everywhere */
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

void gzip_put(struct gzip *g, const void *s, size_t n)
{
	const unsigned char *at = s;
	if (g->plain)
		out_put(g->to, s, n);
	while (!g->plain && n) {
		size_t part = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
		g->z.next_in = (unsigned char *)(uintptr_t)at;
		g->z.avail_in = (unsigned)part;
		deflate_all(g, Z_NO_FLUSH);
		at += part;
		n -= part;
	}
}

void gzip_take(struct gzip *g, struct out *text)
{
	gzip_put(g, text->v, text->n);
	text->n = 0;
}

void gzip_close(struct gzip *g)
{
	if (g->plain)
		return;
	deflate_all(g, Z_FINISH);
	deflateEnd(&g->z);
}
