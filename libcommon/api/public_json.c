/* SPDX-License-Identifier: MIT
 * libmemscope: writes samples and regions as JSON.
 */
#include "memscope-read.h"

#include "libcommon/base/json_writer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static void put(void *to, const char *s, size_t n)
{
	fwrite(s, 1, n, to);
}

/* Names of the numbers that a sample consists of, in order. */
static const char *const figures[] = {"time_ns",      "rss_bytes",     "heap_bytes",   "vsz_bytes",
				      "pss_bytes",    "private_bytes", "shared_bytes", "swap_bytes",
				      "minor_faults", "major_faults",  "user_ns",      "system_ns",
				      "threads"};
_Static_assert(sizeof figures / sizeof *figures * sizeof(uint64_t) ==
		       sizeof(struct memscope_sample),
	       "a name for each");

static void put_sample(struct ms_json *j, const void *sample, size_t n)
{
	const uint64_t *v = sample;
	(void)n;
	ms_json_open(j, NULL, '{');
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		ms_json_number(j, figures[i], v[i]);
	ms_json_close(j, '}');
}

static void put_region(struct ms_json *j, const struct memscope_region *r)
{
	ms_json_format(j,
		       "{start:%lx end:%lx kind:%s perms:%s size_bytes:%lu file_offset:%lu path:%s "
		       "rss_bytes:%lu pss_bytes:%lu"
		       " shared_clean_bytes:%lu shared_dirty_bytes:%lu private_clean_bytes:%lu "
		       "private_dirty_bytes:%lu swap_bytes:%lu}",
		       r->start, r->end, memscope_kind_name(r->kind), r->perms, r->end - r->start,
		       r->file_offset, r->path, r->rss_bytes, r->pss_bytes, r->shared_clean_bytes,
		       r->shared_dirty_bytes, r->private_clean_bytes, r->private_dirty_bytes,
		       r->swap_bytes);
}

/* Returns the JSON text that `f` writes; NULL if anything failed. */
static char *text_of(void (*f)(struct ms_json *j, const void *what, size_t n), const void *what,
		     size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (!stream)
		return NULL;
	f(&(struct ms_json){.put = put, .to = stream}, what, n);
	bool bad = ferror(stream);
	bad |= fclose(stream) != 0;
	if (!bad)
		return text;
	free(text);
	return NULL;
}

static void put_ring(struct ms_json *j, const void *ring, size_t n)
{
	ms_json_open(j, NULL, '[');
	for (size_t i = 0; i < n; i++)
		put_sample(j, memscope_ring_get(ring, i), 1);
	ms_json_close(j, ']');
}

static void put_regions(struct ms_json *j, const void *regions, size_t n)
{
	ms_json_open(j, NULL, '[');
	for (size_t i = 0; i < n; i++)
		put_region(j, (const struct memscope_region *)regions + i);
	ms_json_close(j, ']');
}

char *memscope_sample_json(const struct memscope_sample *s)
{
	return text_of(put_sample, s, 1);
}

char *memscope_ring_json(const struct memscope_ring *r)
{
	return text_of(put_ring, r, memscope_ring_count(r));
}

char *memscope_regions_json(const struct memscope_region *v, size_t n)
{
	return text_of(put_regions, v, n);
}
