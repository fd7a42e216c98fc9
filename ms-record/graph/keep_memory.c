/* SPDX-License-Identifier: MIT
 * Allocates what keep_find needs, within its limit: arrays, and maps from pairs of numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "ms-record/base/clock.h"
#include "keep_work.h"

#define FIRST_SLOTS 16u

/* Stands before each piece of memory; a list of them, so that all can be freed. */
struct keep_memory {
	struct keep_memory *next, *before;
	uint64_t bytes;
	uint64_t unused; /* keeps the memory behind it aligned to 16 bytes */
};

bool keep_over(struct keep *k)
{
	const struct keep_input *in = k->in;
	bool late = in->deadline_ns && clock_mono() > in->deadline_ns;
	late |= in->word && __atomic_load_n(in->word, __ATOMIC_ACQUIRE) >= in->value;
	if (k->state == KEEP_DONE && late)
		k->state = KEEP_TIME;
	return k->state != KEEP_DONE;
}

void *keep_take(struct keep *k, uint64_t count, size_t size)
{
	uint64_t left = k->in->memory_max - k->used;
	bool fits = k->in->memory_max >= k->used + sizeof(struct keep_memory) &&
		    count <= (left - sizeof(struct keep_memory)) / size;
	uint64_t bytes = sizeof(struct keep_memory) + count * size;
	struct keep_memory *m = fits ? calloc(1, bytes) : NULL;
	if (!m) {
		k->state = k->state == KEEP_DONE ? KEEP_MEMORY : k->state;
		return NULL;
	}
	*m = (struct keep_memory){.next = k->memory, .bytes = bytes};
	if (m->next)
		m->next->before = m;
	k->memory = m;
	k->used += bytes;
	k->most = k->used > k->most ? k->used : k->most;
	return m + 1;
}

void keep_drop(struct keep *k, void *p)
{
	if (!p)
		return;
	struct keep_memory *m = (struct keep_memory *)p - 1;
	if (m->next)
		m->next->before = m->before;
	if (m->before)
		m->before->next = m->next;
	else
		k->memory = m->next;
	k->used -= m->bytes;
	free(m);
}

void keep_drop_all(struct keep *k)
{
	for (struct keep_memory *m = k->memory, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	k->memory = NULL;
	k->used = 0;
}

void *keep_grow(struct keep *k, void *v, uint32_t *room, uint32_t need, size_t size)
{
	if (need <= *room)
		return v;
	uint32_t more = need > UINT32_MAX / 2 ? UINT32_MAX : need * 2;
	more = more < 4 ? 4 : more; /* few at first, so that small tests see it grow, too */
	void *grown = keep_take(k, more, size);
	if (!grown)
		return v;
	if (v)
		memcpy(grown, v, *room * size);
	keep_drop(k, v);
	*room = more;
	return grown;
}

/* ---- maps ---- */

static uint32_t hash(uint64_t a, uint32_t b)
{
	uint64_t h = (a + b) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)b << 32;
	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(h >> 32);
}

static struct keep_slot *find(const struct keep_map *m, uint64_t a, uint32_t b)
{
	uint32_t i = hash(a, b) & (m->size - 1);
	while (m->v[i].value && (m->v[i].a != a || m->v[i].b != b))
		i = (i + 1) & (m->size - 1);
	return &m->v[i];
}

/* Doubles the map. The caller has the one value of `count` that is not set yet. */
static bool widen(struct keep *k, struct keep_map *m)
{
	struct keep_map wide = {.size = m->size ? m->size * 2 : FIRST_SLOTS};
	wide.v = wide.size > m->size ? keep_take(k, wide.size, sizeof *wide.v) : NULL;
	if (!wide.v)
		return false;
	for (uint32_t i = 0; i < m->size; i++)
		if (m->v[i].value) {
			*find(&wide, m->v[i].a, m->v[i].b) = m->v[i];
			wide.count++;
		}
	keep_drop(k, m->v);
	*m = wide;
	return true;
}

uint32_t *keep_map_at(struct keep *k, struct keep_map *m, uint64_t a, uint32_t b)
{
	k->none = 0;
	if (!m->size && !widen(k, m))
		return &k->none;
	struct keep_slot *s = find(m, a, b);
	if (s->value)
		return &s->value;
	if (m->count >= m->size / 2) {
		if (!widen(k, m))
			return &k->none;
		s = find(m, a, b);
	}
	m->count++;
	s->a = a;
	s->b = b;
	return &s->value;
}

void keep_map_clear(struct keep *k, struct keep_map *m)
{
	keep_drop(k, m->v);
	*m = (struct keep_map){0};
}
