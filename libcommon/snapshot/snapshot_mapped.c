/* SPDX-License-Identifier: MIT
 * The columns of what was recorded beside the heap, and the rows of free_site.
 */
#include "libcommon/replay/replay_mapped.h"
#include "libcommon/base/order.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"
#include "format/trace.h"

static const struct ms_beside *beside(const struct ms_recording *t)
{
	static const struct ms_beside none;
	return t->replay.beside ? t->replay.beside : &none;
}

static bool sampled(const struct ms_recording *t)
{
	return ms_has(&t->info, MS_INFO_SAMPLE_BYTES) && t->info.number[MS_INFO_SAMPLE_BYTES] != 0;
}

static bool mapped_known(const struct ms_recording *t)
{
	return beside(t)->mapped;
}

/* Usable sizes of some blocks say nothing of all. */
static bool usable_known(const struct ms_recording *t)
{
	return beside(t)->usable && !sampled(t);
}

static void list_options(char text[64], const struct ms_recording *t)
{
	static const char *const names[] = {"mmap",      "usable-size", "free-stacks",
					    "keep=live", "poll",        "keep=last"};
	uint64_t given = ms_has(&t->info, MS_INFO_OPTIONS) ? t->info.number[MS_INFO_OPTIONS] : 0;
	char *end = text;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!(given >> i & 1))
			continue;
		if (end != text)
			*end++ = ',';
		for (const char *c = names[i]; *c; c++)
			*end++ = *c;
	}
	*end = '\0';
}

void ms_put_beside_process(struct ms_insert *in, const struct ms_recording *t)
{
	const struct ms_beside *b = beside(t);
	const struct ms_replay *r = &t->replay;
	bool mapped = mapped_known(t), usable = usable_known(t);
	char options[64];
	list_options(options, t);
	ms_put(in, ms_text("options", *options ? options : NULL),
	       ms_int_if("maps", mapped, b->maps), ms_int_if("unmaps", mapped, b->unmaps),
	       ms_int_if("mapped_bytes", mapped, b->taken_bytes),
	       ms_int_if("mapped_peak_bytes", mapped, b->most_bytes),
	       ms_int_if("mapped_peak_time_ns", mapped, b->most_tick * t->head->tick_ns),
	       ms_int_if("mapped_end_bytes", mapped, b->mapped_bytes),
	       ms_int_if("peak_usable_bytes", usable, r->peak_bytes + b->peak_slack_bytes),
	       ms_int_if("unfreed_usable_bytes", usable, r->live_bytes + b->slack_bytes));
}

void ms_put_beside_site(struct ms_insert *in, const struct ms_recording *t, uint32_t site)
{
	const struct ms_beside *b = beside(t);
	const struct ms_beside_site *s = ms_beside_site(b, site);
	ms_put(in, ms_int_if("maps", mapped_known(t), s->maps),
	       ms_int_if("mapped_bytes", mapped_known(t), s->mapped_bytes));
}

struct now {
	uint64_t slack, mapped;
};

static void put_now(struct ms_insert *in, const struct ms_recording *t, uint64_t live_bytes,
		    struct now n)
{
	ms_put(in, ms_int_if("usable_bytes", usable_known(t), live_bytes + n.slack),
	       ms_int_if("mapped_bytes", mapped_known(t), n.mapped));
}

static const struct ms_beside_moment *moment_of(const struct ms_beside *b, size_t number)
{
	static const struct ms_beside_moment none;
	return number < b->moments.n ? &b->moments.v[number] : &none;
}

void ms_put_beside_now(struct ms_insert *in, const struct ms_recording *t,
		       const struct ms_kept_point *point, uint64_t live_bytes)
{
	const struct ms_beside *b = beside(t);
	struct now n = {0};
	if (point->kind == MS_KEPT_PEAK)
		n = (struct now){b->peak_slack_bytes, b->peak_mapped_bytes};
	else if (point->kind == MS_KEPT_END)
		n = (struct now){b->slack_bytes, b->mapped_bytes};
	else if (point->kind == MS_KEPT_MOMENT)
		n = (struct now){moment_of(b, point->moment)->slack_bytes,
				 moment_of(b, point->moment)->mapped_bytes};
	put_now(in, t, live_bytes, n);
}

static struct now site_in(const struct ms_beside_moment *m, uint32_t site)
{
	size_t i = MS_COUNT_UP_TO(m->figures, m->count, site, site);
	const struct ms_beside_figure *f = i ? &m->figures[i - 1] : NULL;
	return f && f->site == site ? (struct now){f->slack_bytes, f->mapped_bytes}
				    : (struct now){0};
}

static struct now site_at(const struct ms_recording *t, const struct ms_kept_point *point,
			  uint32_t site)
{
	const struct ms_beside *b = beside(t);
	const struct ms_beside_site *s = ms_beside_site(b, site);
	struct now n = {0};
	uint64_t blocks;
	if (point->kind == MS_KEPT_PEAK) {
		ms_replay_at_peak(&t->replay, &s->slack, &n.slack, &blocks);
		ms_replay_at_peak(&t->replay, &s->mapped, &n.mapped, &blocks);
	} else if (point->kind == MS_KEPT_END) {
		n = (struct now){s->slack.bytes, s->mapped.bytes};
	} else if (point->kind == MS_KEPT_MOMENT) {
		n = site_in(moment_of(b, point->moment), site);
	}
	return n;
}

bool ms_site_is_mapped(const struct ms_recording *t, const struct ms_kept_point *point,
		       uint32_t site)
{
	return mapped_known(t) && site_at(t, point, site).mapped;
}

void ms_put_beside_stat(struct ms_insert *in, const struct ms_recording *t,
			const struct ms_kept_point *point, uint32_t site, uint64_t live_bytes)
{
	put_now(in, t, live_bytes, site_at(t, point, site));
}

/* ---- free_site ---- */

int ms_fill_frees(struct ms_filling *f, const struct ms_kept_process *p, const int64_t *row_of_site,
		  const struct ms_stack_rows *stacks)
{
	const struct ms_beside *b = beside(p->rec);
	struct ms_insert in = ms_insert(f->db, "free_site", f->err);
	if (sampled(p->rec)) /* some blocks' frees say nothing of all */
		return 0;
	for (size_t i = 0; i < b->frees.n; i++) {
		const struct ms_beside_free *v = &b->frees.v[i];
		bool known = v->stack && v->stack < p->rec->nodes.n;
		ms_put_row(&in, ms_int("process", p->id), ms_int("site", row_of_site[v->site]),
			   ms_int_if("stack", known, known ? stacks->row_of_node[v->stack] : 0),
			   ms_int("frees", v->frees), ms_int("freed_bytes", v->bytes));
	}
	return ms_insert_close(&in);
}
