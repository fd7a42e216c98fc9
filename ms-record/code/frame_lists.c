/* SPDX-License-Identifier: MIT
 * Lists of functions of modules without .eh_frame_hdr.
 */
#include "frame_lists.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "ms-record/base/process.h"
#include "ms-record/ptrace/attach_elf.h"

static struct mg_frames_entry *entries_of(const struct frame_lists *l, const struct mg_frames *f)
{
	return (struct mg_frames_entry *)(l->memory + f->offset);
}

/* Returns the number of an existing list with the same content, or 0. Lists repeat because a
 * library may be loaded repeatedly. */
static uint32_t find_listed(const struct frame_lists *l, const struct mg_frames *f,
			    const struct frames_table *t)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct mg_frames *g = &l->v[i];
		if (g->start == f->start && g->low == f->low && g->high == f->high &&
		    g->count == f->count &&
		    !memcmp(entries_of(l, g), t->entries.v, g->count * sizeof *t->entries.v))
			return i + 1;
	}
	return 0;
}

static uint32_t list(struct frame_lists *l, uint64_t start, const struct frames_table *t)
{
	uint64_t bytes = t->entries.n * sizeof *t->entries.v;
	struct mg_frames f = {.start = start,
			      .low = t->low,
			      .high = t->high,
			      .offset = l->low + l->used,
			      .count = (uint32_t)t->entries.n};
	uint32_t n = l->n, known = find_listed(l, &f, t);
	if (known || !f.count || n == MG_LISTS_MAX || bytes > l->bytes - l->used ||
	    fallocate(l->memfd, 0, (off_t)f.offset, (off_t)bytes))
		return known;
	memcpy(entries_of(l, &f), t->entries.v, bytes);
	l->v[n] = f;
	memcpy(l->memory + l->lists + n * sizeof f, &f, sizeof f);
	l->used += bytes;
	l->n = n + 1;
	__atomic_store_n(&l->mem->frames_count, n + 1, __ATOMIC_RELEASE);
	return n + 1;
}

uint32_t frame_lists_add(struct frame_lists *l, const struct process *process,
			 const struct attach_map *map)
{
	const struct attach_memory mem = attach_memory_of_process(process);
	struct frames_table t;
	if (!frames_find(&mem, process->folder, map, &t))
		return 0;
	uint32_t listed = list(l, map->start, &t);
	free(t.entries.v);
	return listed;
}

/* Checks only that each list lies within the shared memory: even if the recorded program overwrote
 * a list's content, reading it is safe. */
void frame_lists_take(struct frame_lists *l)
{
	uint32_t n = __atomic_load_n(&l->mem->frames_count, __ATOMIC_ACQUIRE);
	l->used = l->bytes; /* keeps the existing lists and adds no more */
	for (uint32_t i = 0; i < n && i < MG_LISTS_MAX; i++) {
		struct mg_frames f;
		memcpy(&f, l->memory + l->lists + i * sizeof f, sizeof f);
		if (f.offset < l->low || f.offset - l->low > l->bytes || f.offset % 8 ||
		    f.count > (l->bytes - (f.offset - l->low)) / sizeof(struct mg_frames_entry))
			return;
		l->v[l->n++] = f;
	}
}

const struct mg_frames *frame_lists_find(const struct frame_lists *l, uint64_t start)
{
	for (uint32_t i = l->n; i-- > 0;)
		if (l->v[i].start == start)
			return &l->v[i];
	return NULL;
}

bool frame_lists_read(const struct frame_lists *l, uint64_t offset, uint64_t *word)
{
	if (offset < l->low || offset - l->low + sizeof *word > l->used)
		return false;
	memcpy(word, l->memory + offset, sizeof *word);
	return true;
}
