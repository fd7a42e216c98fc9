/* SPDX-License-Identifier: MIT
 * Lists of a process's mappings, for its guest.
 *
 * A list is written where the guest does not look (struct mg_range), then it is told. Reading maps
 * takes a microsecond a mapping, during which the process cannot change them, so that it is not
 * done for more than a twentieth of the time, but at once when it was not done for a while.
 */
#include "ranges.h"

#include <fcntl.h>
#include <string.h>

#include "hotspot.h"
#include "libcommon/proc/proc.h"
#include "pool.h"
#include "session.h"

#define REST 20u /* times as long as it took */
#define AHEAD_NS UINT64_C(50000000)
#define ASKED_MOST 64u /* a virtual machine that begins, where its code will lie */

static uint64_t flags_of(const struct ms_proc_map *m)
{
	bool file = m->inode && strncmp(m->path, "/memfd:", 7) != 0;
	return (m->perms[2] == 'x' ? MG_RANGE_CODE : 0) | (file ? MG_RANGE_FILE : 0);
}

static bool is_framed(const struct session *s, const struct ms_proc_map *m)
{
	return m->start >= s->ranges.framed_low && m->end <= s->ranges.framed_high && !m->inode;
}

/* Into the list, which has room for `max`: neighbours without a file as one. Returns how many. */
static uint32_t fill(const struct session *s, struct mg_range *list, const struct ms_regions *r)
{
	uint32_t max = s->ranges.max;
	struct mg_range last = {0};
	uint32_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct ms_proc_map *m = &r->v[i].map;
		bool framed = is_framed(s, m); /* code may come there at any time */
		uint64_t flags = framed ? MG_RANGE_CODE | MG_RANGE_FRAMED : flags_of(m);
		if (!framed && (m->perms[0] != 'r' || (m->perms[1] != 'w' && m->perms[2] != 'x')))
			continue;
		bool joins = n && !m->inode && last.end == (m->start | flags);
		if (!joins && n == max)
			break;
		last = (struct mg_range){joins ? last.start : m->start, m->end | flags};
		n += !joins;
		__atomic_store_n(&list[n - 1].start, last.start, __ATOMIC_RELAXED);
		__atomic_store_n(&list[n - 1].end, last.end, __ATOMIC_RELAXED);
	}
	return n;
}

/* Java's code, where it keeps frame pointers. */
static void look_for_framed(struct session *s, const struct ms_regions *r)
{
	for (size_t i = 0; i < r->n && s->ranges.framed_asked < ASKED_MOST; i++) {
		const char *name = strrchr(r->v[i].map.path, '/');
		if (!name || strcmp(name, "/libjvm.so"))
			continue;
		bool known = hotspot_frames(s, &s->ranges.framed_low, &s->ranges.framed_high);
		s->ranges.framed_asked = known ? ASKED_MOST : s->ranges.framed_asked + 1;
		return;
	}
}

static void publish(struct session *s, const struct ms_regions *r)
{
	if (!r->n || !s->pool)
		return;
	uint32_t round = __atomic_load_n(&s->mem->ranges_round, __ATOMIC_RELAXED) + 1;
	struct mg_range *list = s->ranges.list + (round & 1) * s->ranges.max;
	uint64_t at = (uint64_t)((uint8_t *)list - s->memory);
	uint64_t bytes = (r->n < s->ranges.max ? r->n : s->ranges.max) * sizeof *list;
	if (fallocate(s->pool->memfd, 0, (off_t)at, (off_t)bytes))
		return;
	look_for_framed(s, r);
	uint32_t n = fill(s, list, r);
	__atomic_store_n(&s->mem->ranges_count[round & 1], n, __ATOMIC_RELAXED);
	__atomic_store_n(&s->mem->ranges_round, round, __ATOMIC_RELEASE);
}

bool ranges_due(const struct session *s)
{
	bool wanted = __atomic_load_n(&s->mem->ranges_wanted, __ATOMIC_SEQ_CST);
	bool ready = __atomic_load_n(&s->mem->guest_ready, __ATOMIC_ACQUIRE);
	return (wanted || (!s->ranges.read && ready)) && s->process.folder >= 0 &&
	       session_now(s) + AHEAD_NS >= s->ranges.free_at;
}

void ranges_look(struct session *s)
{
	if (!ranges_due(s))
		return;
	const struct ms_proc p = {.folder = s->process.folder};
	struct ms_regions r = {0};
	uint64_t now = session_now(s);
	__atomic_store_n(&s->mem->ranges_wanted, 0,
			 __ATOMIC_SEQ_CST); /* asked again from here on */
	bool can = !ms_regions_read(&p, false, &r);
	uint64_t took = session_now(s) - now;
	if (can)
		publish(s, &r);
	ms_regions_free(&r);
	s->ranges.read = true;
	s->modules.maps_old = true; /* what the guest met is of interest there, too */
	if (s->ranges.free_at < now)
		s->ranges.free_at = now;
	s->ranges.free_at += REST * took;
}
