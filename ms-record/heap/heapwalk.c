/* SPDX-License-Identifier: MIT
 * Walks glibc's heap from outside, while the process runs.
 *
 * A chunk's header holds the chunk's length, and whether the chunk before it is used. A chunk that
 * stays used keeps its header, so it is found if the walk reaches it. Where chunks are split,
 * merged and allocated meanwhile, the walk may reach a place that no longer is a header: then it
 * goes back some way and reads again. A chunk wrongly taken for used is one whose allocation or
 * free was recorded meanwhile; preexisting.c recognises those, since the hooks are in place before
 * the walk begins.
 *
 * Everything is checked: a chunk has a valid length and lies in its region, and the walk goes
 * forward, so that a damaged heap costs no more than a sound one.
 */
#include "heapwalk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "heapwalk_private.h"
#include "libcommon/base/arena.h"

#define WINDOW ((size_t)256 << 10)
#define TABLE (UINT64_C(2) << 20) /* memory that one page of page tables maps */
#define CACHED_MOST 0x420u        /* largest chunk in a thread's cache, in bytes */
#define BLOCKS_MOST ((size_t)16 << 20)
#define TRIES 24u        /* retries per region */
#define TRIES_MOST 4096u /* retries in all, each after a pause: about 3 s */
#define STEP 2048u       /* chunks between places to which the walk can go back */
#define USED 1u
#define LEAST 32u
#define FENCE 16u

static bool is_stopped(const struct walk *k)
{
	return k->from->stop && __atomic_load_n(k->from->stop, __ATOMIC_RELAXED);
}

bool walk_over(const struct walk *k)
{
	return is_stopped(k) || clock_mono() > k->from->deadline_ns;
}

/* Returns the reason why part of the heap is missing: `why`, unless the walk was stopped or ran
 * out of time. */
static const char *reason(const struct walk *k, const char *why)
{
	return is_stopped(k)  ? "the recording ended before the whole heap was walked"
	       : walk_over(k) ? "walking the heap took too long"
			      : why;
}

void walk_missing(struct walk *k, const char *why)
{
	if (k->out->state == MS_BEFORE_WHOLE)
		snprintf(k->out->why, sizeof k->out->why, "%s", reason(k, why));
	k->out->state = MS_BEFORE_PART;
}

bool walk_in_heap(const struct walk *k, uint64_t at)
{
	for (size_t i = 0; i < k->regions.n; i++)
		if (at - k->regions.v[i].start < k->regions.v[i].reach - k->regions.v[i].start)
			return true;
	return false;
}

/* ---- reading ---- */

bool walk_written(struct walk *k, uint64_t at)
{
	enum { SWAPPED = 62 }; /* bit 62: swapped; bit 63: present */
	struct pages *p = &k->pages;
	uint64_t page = at / PAGE;
	if (p->fd >= 0 && page - p->first >= p->n) {
		ssize_t got = pread(p->fd, p->v, sizeof p->v, (off_t)(page * sizeof *p->v));
		p->first = page;
		p->n = got > 0 ? (size_t)got / sizeof *p->v : 0;
		p->looks++;
	}
	return p->fd < 0 || page - p->first >= p->n || p->v[page - p->first] >> SWAPPED;
}

void walk_forget(const struct walk *k)
{
	k->near->round++;
}

bool walk_word(const struct walk *k, uint64_t at, void *to, size_t bytes)
{
	uint64_t page = at & ~(PAGE - 1), i = at / PAGE % NEAR_PAGES;
	struct near_pages *n = k->near;
	if (at - page + bytes > PAGE)
		return walk_get(k, at, to, bytes);
	if (n->of[i].at != page || n->of[i].round != n->round) {
		n->of[i].at = 0;
		if (!page || !walk_get(k, page, n->v[i], PAGE))
			return false;
		n->of[i].at = page;
		n->of[i].round = n->round;
	}
	memcpy(to, n->v[i] + (at - page), bytes);
	return true;
}

struct window {
	uint64_t at;
	size_t bytes;
	uint8_t *data;
};

/* Reads the words at an address of a region, up to the header of the top chunk at its end, or up to
 * the fence, behind which nothing may be mapped. Does not read across an address where the process
 * may have no page table yet: the process would be charged for that table as long as it lives. */
static bool words_at(const struct walk *k, struct window *w, uint64_t at, const struct region *r,
		     uint64_t out[4])
{
	enum { BYTES = 32 };
	if (at < w->at || at + BYTES > w->at + w->bytes) {
		uint64_t want = r->end + (r->fenced ? 0 : 16) - at, near = TABLE - at % TABLE;
		near = near < BYTES ? BYTES : near > WINDOW ? WINDOW : near;
		w->at = at;
		w->bytes = (size_t)(want > near ? near : want);
		if (w->bytes < BYTES) {
			memset(w->data, 0, BYTES);
			w->bytes = BYTES;
			if (walk_get(k, at, w->data, (size_t)want))
				goto out;
		} else if (walk_get(k, at, w->data, w->bytes)) {
			goto out;
		}
		w->bytes = 0;
		return false;
	}
out:
	memcpy(out, w->data + (at - w->at), BYTES);
	return true;
}

/* ---- chunks ---- */

struct place {
	uint64_t at;
	struct found last; /* the previous chunk; at = 0: none */
	size_t found;
};

static void take(struct walk *k, const struct place *p, bool used)
{
	if (p->last.at && used)
		*MS_PUSH(&k->found) = p->last;
}

/* Tells whether an address is past what the walk covers. The top chunk was at the region's end when
 * the walk began; it may have moved down and up again since, so that a chunk lies across the end;
 * chunks there are newer than the walk. */
static bool is_past(const struct walk *k, const struct region *r, uint64_t at, uint64_t bytes)
{
	uint64_t top;
	if (r->fenced || !walk_get(k, r->arena + 8 * ARENA_TOP, &top, sizeof top))
		return false;
	if (top - r->start >= r->reach - r->start || at >= top)
		return true;
	return bytes >= LEAST && !(bytes & 15) && at + bytes > r->end && at + bytes <= top;
}

enum step { ON, END, ASTRAY };

static enum step step(struct walk *k, struct window *w, const struct region *r, struct place *p)
{
	uint64_t x[4];
	if (p->at > r->end || !words_at(k, w, p->at, r, x))
		return ASTRAY;
	uint64_t bytes = x[1] & ~UINT64_C(7);
	bool fence = r->fenced && (bytes == FENCE || !bytes);
	bool end = p->at == r->end || fence;
	if (!end && (bytes < LEAST || bytes & 15 || bytes > r->end - p->at)) {
		if (!is_past(k, r, p->at, bytes))
			return ASTRAY;
		end = true;
	}
	take(k, p, x[1] & USED);
	p->last = (struct found){p->at, bytes, x[3]};
	p->at += bytes;
	return end ? END : ON;
}

static void back(struct walk *k, struct place *p, const struct place *to)
{
	*p = *to;
	k->found.n = p->found;
}

static void walk_region(struct walk *k, struct window *w, const struct region *r)
{
	struct place first = {.at = r->start, .found = k->found.n};
	struct place p = first, here = first, before = first;
	unsigned tries = 0;
	w->bytes = 0;
	for (size_t n = 1;; n++) {
		enum step s = step(k, w, r, &p);
		if (s == END)
			return;
		if (s == ASTRAY) {
			if (k->from->maps || ++tries > TRIES || ++k->tries > TRIES_MOST ||
			    walk_over(k)) {
				walk_missing(k, k->from->maps ? "part of the heap is damaged"
							      : "part of the heap is damaged, or "
								"keeps changing");
				return;
			}
			struct timespec nap = {0, 50000L * tries};
			nanosleep(&nap, NULL);
			back(k, &p, tries % 8 == 7 ? &first : tries % 2 ? &here : &before);
			w->bytes = 0;
		}
		if (n % STEP)
			continue;
		p.found = k->found.n;
		before = here;
		here = p;
		if (k->found.n > BLOCKS_MOST || walk_over(k)) {
			walk_missing(k, "the heap has too many blocks to walk");
			return;
		}
	}
}

/* ---- all ---- */

static void none(struct heapwalk *w, const char *why)
{
	w->state = MS_BEFORE_UNKNOWN;
	snprintf(w->why, sizeof w->why, "%s", why);
}

/* Sorts the chunks found into used and cached ones, once the caches are known. */
static void sort_out(struct walk *k)
{
	for (size_t i = 0; i < k->found.n; i++) {
		const struct found *f = &k->found.v[i];
		bool cached = (f->bytes <= CACHED_MOST && walk_among(&k->keys, f->word)) ||
			      walk_among(&k->fast, f->at);
		if (!walk_among(&k->own, f->at))
			*MS_PUSH(cached ? &k->out->cached : &k->out->used) =
				(struct heapwalk_block){f->at + 16, f->bytes - 8};
	}
}

/* Walks everything, the chunks first: a chunk freed meanwhile has then been seen as used. */
static void walk_all(struct walk *k)
{
	struct window w = {.data = ms_xrealloc(NULL, WINDOW, 1)};
	for (size_t i = 0; i < k->regions.n && !walk_over(k); i++)
		walk_region(k, &w, &k->regions.v[i]);
	walk_caches(k);
	walk_mapped(k);
	sort_out(k);
	if (walk_over(k))
		walk_missing(k, "walking the heap took too long");
	k->out->arenas = k->arenas.n;
	free(w.data);
}

void heapwalk(struct heapwalk *w, const struct heapwalk_from *from)
{
	struct walk *k = ms_xcalloc(1, sizeof *k);
	*w = (struct heapwalk){.state = MS_BEFORE_WHOLE};
	k->out = w;
	k->from = from;
	k->near = ms_xcalloc(1, sizeof *k->near);
	k->pages.fd = openat(from->proc, "pagemap", O_RDONLY | O_CLOEXEC);
	if (from->maps)
		k->maps = *from->maps;
	if (!from->maps && attach_maps_read(&k->maps, from->proc, NULL))
		none(w, "/proc/PID/maps cannot be read");
	else if (!walk_find(k))
		none(w, reason(k, "no glibc heap was found"));
	else
		walk_all(k);
	if (!from->maps)
		attach_maps_free(&k->maps);
	descriptor_close(k->pages.fd);
	MS_FREE(k->arenas.v, k->regions.v, k->found.v, k->fast.v, k->own.v, k->keys.v, k->near, k);
}

void heapwalk_free(struct heapwalk *w)
{
	MS_FREE(w->used.v, w->cached.v);
	*w = (struct heapwalk){0};
}
