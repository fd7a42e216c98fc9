/* SPDX-License-Identifier: MIT
 * Names of what keeps blocks alive.
 */
#include "kept.h"

#include "names.h"

#include "libcommon/names/types.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

/* NAMED: keepers that a label names. TYPE_COLUMNS: most columns of a type. */
enum { NAMED = 3, TYPE_COLUMNS = 32 };

static bool is(const struct keeper *k, const char *kind)
{
	return strcmp(k->kind, kind) == 0;
}

static const char *clean(struct model *m, const char *s, const struct style *st)
{
	return s ? name_clean(&m->arena, s, st->ascii) : NULL;
}

const char *keeper_short(struct model *m, const struct keeper *k, const struct style *st)
{
	return clean(m, ms_keeper_name(&m->arena, k, st->full_names), st);
}

const char *kept_type(struct model *m, const char *type, const struct style *st)
{
	struct ms_arena *a = &m->arena;
	if (!type || st->full_names)
		return type ? name_clean(a, type, st->ascii) : NULL;
	type = name_clean(a, ms_type_short(a, type), st->ascii);
	const char *end = strrchr(type, '>');
	if (!end)
		return name_cut(a, type, TYPE_COLUMNS, st->ascii);
	/* what follows a template's arguments, such as " *", is no part of a function's name */
	const char *base = ms_arena_strndup(a, type, (size_t)(end + 1 - type));
	return ms_arena_printf(a, "%s%s", name_fit(a, base, TYPE_COLUMNS, st->ascii), end + 1);
}

/* Returns where a keeper is declared, "svc.cc:53"; "" = not known. */
static const char *declared(struct model *m, const struct keeper *k, const struct style *st)
{
	struct frame f = {.file = k->file, .module = NONE};
	f.line = k->line == UNKNOWN ? 0 : (uint32_t)k->line;
	for (uint32_t i = 0; k->module && i < m->modules.n && f.module == NONE; i++)
		if (m->modules.v[i].path && strcmp(m->modules.v[i].path, k->module) == 0)
			f.module = i;
	return k->file && *k->file ? frame_place(&m->arena, m, &f, st) : "";
}

const char *keeper_label(struct model *m, const struct keeper *k, const struct style *st)
{
	const char *place = declared(m, k, st), *type = kept_type(m, k->type, st);
	if (!*place && !type)
		return keeper_short(m, k, st);
	return SAY("%s (%s%s%s)", keeper_short(m, k, st), place, *place && type ? ", " : "",
		   type ?: "");
}

struct keeper kept_name(struct model *m, const struct kept_row *row)
{
	if (row->keeper)
		return *row->keeper;
	return (struct keeper){.kind = row->set ? "shared" : "",
			       .name = row->set ? ms_keeper_set_name(&m->arena, row->set) : NULL,
			       .line = UNKNOWN,
			       .size = UNKNOWN};
}

const char *kept_observers(struct model *m, const struct kept *k, const struct kept_row *row,
			   const struct style *st)
{
	const struct keeper *x = row->keeper;
	const struct kept_scan *s = k->scans;
	if (!x || !x->observers)
		return NULL;
	while (s->process != row->process)
		s++;
	for (uint32_t i = 0; i < s->keeper_count; i++) {
		const struct keeper *y = &k->keepers[s->keepers + i];
		if (y->observes != x)
			continue;
		const char *name = keeper_short(m, y, st);
		return x->observers == 1 ? name
					 : SAY("%s and %llu more", name,
					       (unsigned long long)x->observers - 1);
	}
	return NULL;
}

const char *kept_label(struct model *m, const struct kept *k, const struct kept_row *row,
		       const struct style *st)
{
	if (row->rest)
		return "smaller ones";
	struct keeper name = kept_name(m, row);
	const char *label = keeper_label(m, &name, st),
		   *by = row->keeper && row->keeper->site
				 ? SAY(", by %s", kept_site(m, row->keeper->site, st))
				 : "",
		   *process = k->scan_count > 1
				      ? SAY(" in %s",
					    process_label(&m->arena, &m->processes.v[row->process],
							  "pid ", st->ascii))
				      : "";
	return SAY("%s%s%s", label, by, process);
}

const char *kept_site(struct model *m, int64_t site, const struct style *st)
{
	const struct site *s = model_site(m, site);
	const struct frame *f = s ? site_frame(m, s) : NULL;
	if (!f)
		return s || !m->hidden.sites ? "(no stack)" : "(no stack, or hidden)";
	const char *place = frame_place(&m->arena, m, f, st);
	return SAY("%s%s%s", frame_label(&m->arena, m, f, st), *place ? " " : "", place);
}

const char *kept_when(struct model *m, const struct kept *k, const struct style *st)
{
	const struct kept_scan *s = k->scans;
	const char *label = clean(m, s->label ?: "request", st);
	for (size_t i = 1; i < k->scan_count; i++)
		if (strcmp(k->scans[i].label ?: "request", s->label ?: "request") != 0)
			return "as of the last scan of each process";
	return ms_keeper_moment(&m->arena, label, k->scan_count > 1 ? UNKNOWN : s->time_ns);
}

const char *kept_unknown(const struct kept *k)
{
	return kept_done(k) ? NULL : ms_keeper_unknown(k->scans[0].state);
}

static bool is_site(void *arg, const struct site *s)
{
	return s == arg;
}

const char *kept_remark(struct model *m, const struct site *s, const struct style *st)
{
	const struct kept *k = kept_read(m, 0);
	struct kept_part *v;
	size_t n = k ? kept_parts(m, k, is_site, (void *)s, &v) : 0;
	if (!n)
		return NULL;
	struct keeper name = kept_name(m, &k->rows[v[0].top]);
	const char *by = is(&name, "shared") ? SAY("shared by %s", clean(m, name.name, st))
					     : SAY("kept by %s", keeper_short(m, &name, st));
	return n == 1 ? by : SAY("%s, the rest by %s", by, say_things(m, n - 1, "other keeper"));
}

const char *kept_shares(struct model *m, const struct site *s, const struct style *st)
{
	const struct kept *k = kept_read(m, 0);
	struct kept_part *v;
	struct live all = {0};
	const char *said = NULL;
	size_t n = k ? kept_parts(m, k, is_site, (void *)s, &v) : 0;
	for (size_t i = 0; i < n; i++)
		live_add(&all, v[i].live);
	for (size_t i = 0; i < n && i < NAMED; i++) {
		struct keeper name = kept_name(m, &k->rows[v[i].top]);
		said = SAY("%s%s%s %s", said ?: "", said ? ", " : "", keeper_short(m, &name, st),
			   say_share(m, v[i].live.bytes, all.bytes));
	}
	return n > NAMED ? SAY("%s, %zu more", said, n - NAMED) : said;
}
