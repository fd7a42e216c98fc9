/* SPDX-License-Identifier: MIT
 * Names of what keeps blocks alive.
 */
#include "kept.h"

#include "names.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

enum { NAMED = 3 }; /* keepers that a label names */

static bool is(const struct keeper *k, const char *kind)
{
	return strcmp(k->kind, kind) == 0;
}

static const char *clean(struct model *m, const char *s, const struct style *st)
{
	return s ? name_clean(&m->arena, s, st->ascii) : NULL;
}

/* Returns a C++ or Rust name, shortened unless full names are requested. */
static const char *shortened(struct model *m, const char *s, const struct style *st)
{
	return s ? clean(m, st->full_names ? s : ms_name_short(&m->arena, s), st) : NULL;
}

/* Returns " of thread 'x'" or the like; "" if the thread is not known. */
static const char *of_thread(struct model *m, const struct keeper *k, const char *format,
			     const struct style *st)
{
	return k->thread ? SAY("%s'%s'", format, clean(m, k->thread, st)) : "";
}

const char *keeper_short(struct model *m, const struct keeper *k, const struct style *st)
{
	bool frame = is(k, "frame"), local = is(k, "thread_local"), variable = is(k, "variable");
	/* a variable may be of a function, whose "()" tell so: "Bus::instance()::bus" */
	bool brief = frame || ((local || variable) && k->name && strchr(k->name, '<'));
	const char *name = brief ? shortened(m, k->name, st) : clean(m, k->name, st);
	if (variable)
		return SAY("global %s", name ?: "(unknown)");
	if (is(k, "shared"))
		return SAY("shared by %s", clean(m, k->name, st));
	if (frame || local) {
		const char *what = frame && !name ? "stack" : frame ? "frame " : "thread_local ";
		return SAY("%s%s%s%s", of_thread(m, k, "thread ", st), k->thread ? ", " : "", what,
			   name
				   ?: local ? "(unknown)"
					    : "");
	}
	if (is(k, "registers") || is(k, "control"))
		return SAY("%s%s", is(k, "control") ? "control block" : "registers",
			   of_thread(m, k, " of thread ", st));
	if (is(k, "mapping") && !name)
		return k->size == UNKNOWN ? "mapping" : SAY("mapping of %s", say_size(m, k->size));
	if (is(k, "other") && !name)
		return "memory that is not recorded";
	return name ?: *k->kind ? clean(m, name ?: k->kind, st) : "(unknown)";
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
			       .name = row->set ? keeper_set_name(&m->arena, row->set) : NULL,
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
	if (strcmp(label, "end") == 0)
		return "as of the end";
	if (strncmp(label, "mark:", 5) == 0)
		label = SAY("mark %s", label + 5);
	else
		label = strcmp(label, "request") == 0 ? "a scan" : SAY("scan %s", label);
	return k->scan_count > 1 || s->time_ns == UNKNOWN
		       ? SAY("as of %s", label)
		       : SAY("as of %s at %s", label, say_time(m, s->time_ns));
}

const char *kept_unknown(const struct kept *k)
{
	static const char *const words[][2] = {
		{"memory", "more memory was needed than ms-record --retention=memory allows"},
		{"time", "the scan would have taken too long"},
		{"unreadable", "some of the program's memory could not be read"},
		{"threads", "the program's threads could not be stopped"},
		{"lost", "events were lost"},
		{"sampled", "only a sample of the blocks was recorded"},
		{"killed", "the program was killed, or ended without exit()"},
		{"ended", "the program ended before the scan was done"},
		{"stopped", "recording had already stopped"},
		{"files", "the recorder ran out of file descriptors"},
		{"damaged", "the scan's data in the trace is incomplete"},
	};
	const char *state = k->scans[0].state;
	if (kept_done(k))
		return NULL;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(state, words[i][0]) == 0)
			return words[i][1];
	return "the scan failed";
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
	const char *by = is(&name, "shared") ? clean(m, name.name, st) : keeper_short(m, &name, st);
	return n == 1 ? SAY("kept by %s", by) : SAY("kept by %s, and %zu more", by, n - 1);
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
