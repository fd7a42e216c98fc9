/* SPDX-License-Identifier: MIT
 * Writes the rows of site_size and site_lifetime: a site's blocks by size and by lifetime.
 */
#include "libcommon/replay/replay_cells.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

struct sizes {
	struct ms_insert in;
	const struct ms_replay *r;
	int64_t site; /* row id */
};

uint64_t ms_size_class_low(unsigned class)
{
	return class ? UINT64_C(1) << (class - 1) : 0;
}

uint64_t ms_size_class_high(unsigned class)
{
	return class ? UINT64_MAX >> (64 - class) : 0;
}

void ms_put_level(struct ms_insert *in, const struct ms_replay *r, const struct ms_level *l)
{
	uint64_t bytes, blocks;
	ms_replay_at_peak(r, l, &bytes, &blocks);
	ms_put(in, ms_int("peak_bytes", bytes), ms_int("peak_blocks", blocks),
	       ms_int("live_bytes", l->bytes), ms_int("live_blocks", l->blocks));
}

void ms_put_class(struct ms_insert *in, const struct ms_replay *r, unsigned class,
		  const struct ms_replay_size *c)
{
	ms_put(in, ms_int("low", ms_size_class_low(class)),
	       ms_int("high", ms_size_class_high(class)), ms_int("allocations", c->allocations));
	if (!r->brief) {
		ms_put(in, ms_int("allocated_bytes", c->bytes), ms_int("temporary", c->temporary));
		ms_put_level(in, r, &c->live);
	}
	ms_end_row(in);
}

static void put_class(void *arg, unsigned class, const struct ms_replay_size *c)
{
	struct sizes *w = arg;
	ms_put(&w->in, ms_int("site", w->site));
	ms_put_class(&w->in, w->r, class, c);
}

static int fill_sizes(struct ms_fill *fill)
{
	const struct ms_replay *r = fill->r;
	struct sizes w = {.in = ms_rows(fill, "site_size"), .r = r};
	for (size_t i = 0; i < r->site_count && !w.in.none; i++) {
		w.site = fill->row_of_site[fill->order[i]];
		ms_replay_each_class(r, fill->order[i], put_class, &w);
	}
	return ms_insert_close(&w.in);
}

/* Writes one histogram of lifetimes: the classes that have blocks. The last class has no upper
 * limit. */
static void put_ages(struct ms_insert *in, int64_t site, const char *unit, const uint64_t *low,
		     const uint64_t *blocks)
{
	for (unsigned i = 0; i < MS_AGES; i++) {
		if (!blocks[i])
			continue;
		bool last = i + 1 == MS_AGES;
		ms_put_row(in, ms_int("site", site), ms_text("unit", unit), ms_int("low", low[i]),
			   ms_int_if("high", !last, last ? 0 : low[i + 1] - 1),
			   ms_int("frees", blocks[i]));
	}
}

static int fill_ages(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "site_lifetime");
	for (size_t i = 0; i < w->r->site_count && !in.none; i++) {
		uint32_t site = w->order[i];
		const struct ms_replay_ages a = ms_replay_ages_of(w->r, &w->r->sites[site]);
		put_ages(&in, w->row_of_site[site], "allocations", ms_age_allocations,
			 a.allocations);
		put_ages(&in, w->row_of_site[site], "ns", ms_age_ns, a.time);
	}
	return ms_insert_close(&in);
}

int ms_fill_classes(struct ms_fill *w)
{
	if (w->f->no_site_details)
		return 0;
	return fill_sizes(w) || fill_ages(w) ? -1 : 0;
}
