/* SPDX-License-Identifier: MIT
 * Lists of a process's mappings, for its guest.
 *
 * A list is written where the guest does not read (struct mg_range) and then published. Reading
 * maps takes about a microsecond per mapping, during which the process cannot change its mappings.
 * So at most a twentieth of the time is spent on it, but a read after a long pause is done at once.
 */
#include "ranges.h"

#include <fcntl.h>
#include <string.h>

#include "hotspot.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/process.h"

/* Sets the pause after a read of maps, as a multiple of the time that the read took: reading
 * takes at most a 20th of the time. */
#define REST 20u
#define AHEAD_NS UINT64_C(50000000)
#define ASKED_MOST 64u /* maximum searches; a starting VM has not chosen its range yet */

static uint64_t flags_of(const struct ms_proc_map *m)
{
	bool file = m->inode && strncmp(m->path, "/memfd:", 7) != 0;
	return (m->perms[2] == 'x' ? MG_RANGE_CODE : 0) | (file ? MG_RANGE_FILE : 0);
}

static bool is_framed(const struct ranges *all, const struct ms_proc_map *m)
{
	return m->start >= all->framed_low && m->end <= all->framed_high && !m->inode;
}

/* Writes up to `max` ranges to the list, merging adjacent ranges that map no file. Returns their
 * number. */
static uint32_t fill(const struct ranges *all, struct mg_range *list, const struct ms_regions *r)
{
	uint32_t max = all->max;
	struct mg_range last = {0};
	uint32_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct ms_proc_map *m = &r->v[i].map;
		bool framed = is_framed(all, m); /* a virtual machine may put code there at any
						    time */
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

/* Finds the range of Java code that keeps frame pointers. */
static void look_for_framed(struct ranges *all, const struct ms_regions *r)
{
	for (size_t i = 0; i < r->n && all->framed_asked < ASKED_MOST; i++) {
		const char *name = strrchr(r->v[i].map.path, '/');
		if (!name || strcmp(name, "/libjvm.so"))
			continue;
		bool known = hotspot_frames(all->process, &all->framed_low, &all->framed_high);
		all->framed_asked = known ? ASKED_MOST : all->framed_asked + 1;
		return;
	}
}

static void publish(struct ranges *all, const struct ms_regions *r)
{
	if (!r->n || !all->list)
		return;
	uint32_t round = __atomic_load_n(&all->mem->ranges_round, __ATOMIC_RELAXED) + 1;
	struct mg_range *list = all->list + (round & 1) * all->max;
	uint64_t at = all->at + (uint64_t)((uint8_t *)list - (uint8_t *)all->list);
	uint64_t bytes = (r->n < all->max ? r->n : all->max) * sizeof *list;
	if (fallocate(all->memfd, 0, (off_t)at, (off_t)bytes))
		return;
	look_for_framed(all, r);
	/* A thread that reads what is stored below in the list of the round before last must see
	 * that the last round has begun. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	uint32_t n = fill(all, list, r);
	__atomic_store_n(&all->mem->ranges_count[round & 1], n, __ATOMIC_RELAXED);
	__atomic_store_n(&all->mem->ranges_round, round, __ATOMIC_RELEASE);
}

bool ranges_due(const struct ranges *all)
{
	bool wanted = __atomic_load_n(&all->mem->ranges_wanted, __ATOMIC_SEQ_CST);
	bool ready = __atomic_load_n(&all->mem->guest_ready, __ATOMIC_ACQUIRE);
	return (wanted || (!all->read && ready)) && all->process->folder >= 0 &&
	       clock_now(all->clock) + AHEAD_NS >= all->free_at;
}

bool ranges_look(struct ranges *all)
{
	if (!ranges_due(all))
		return false;
	const struct ms_proc p = {.folder = all->process->folder};
	struct ms_regions r = {0};
	uint64_t now = clock_now(all->clock);
	__atomic_store_n(&all->mem->ranges_wanted, 0,
			 __ATOMIC_SEQ_CST); /* set before reading, so that later requests are not
					       lost */
	bool can = !ms_regions_read(&p, false, &r);
	uint64_t took = clock_now(all->clock) - now;
	if (can)
		publish(all, &r);
	ms_regions_free(&r);
	all->read = true;
	if (all->free_at < now)
		all->free_at = now;
	all->free_at += REST * took;
	return true;
}
