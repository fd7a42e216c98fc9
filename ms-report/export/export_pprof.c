/* SPDX-License-Identifier: MIT
 * Writes pprof profiles: the protocol buffer of github.com/google/pprof (profile.proto),
 * compressed.
 *
 * Numbers in calls are field numbers of profile.proto. Locations and functions are identified by
 * their message without the id, so that the tables of bytes find those already written.
 */
#include "export.h"

#include "ms-report/words/page.h"

#include <stdlib.h>
#include <string.h>

/* Lists the field numbers of message Profile. */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING_TABLE,
	DROP_FRAMES,
	TIME_NANOS = 9,
	DURATION_NANOS,
	PERIOD_TYPE,
	PERIOD,
	COMMENT,
	DEFAULT_SAMPLE_TYPE
};

struct pprof {
	struct export *x;
	struct gzip gzip;
	struct out text;                          /* text to be compressed */
	struct table_of_bytes strings, locations; /* strings and locations, each stored once */
	struct out message, chain;                /* encoded message; frames of a location */
	uint32_t *mapping;                        /* by module: number of its mapping, 0 = none */
	sqlite3_stmt *threads;                    /* current row of site_thread, or NULL */
};

/* ---- encoding ---- */

static void varint(struct out *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		out_char(o, (char)(v | 0x80));
	out_char(o, (char)v);
}

static void number_field(struct out *o, unsigned field, uint64_t v)
{
	if (!v)
		return; /* not written: readers assume 0 for a missing field */
	varint(o, field << 3);
	varint(o, v);
}

static void bytes_field(struct out *o, unsigned field, const char *s, size_t n)
{
	varint(o, field << 3 | 2);
	varint(o, n);
	out_put(o, s, n);
}

static void numbers_field(struct out *o, unsigned field, const uint64_t *v, size_t n)
{
	struct out packed = {0};
	for (size_t i = 0; i < n; i++)
		varint(&packed, v[i]);
	bytes_field(o, field, packed.v, packed.n);
	out_free(&packed);
}

/* Returns the index of a string, of "" for NULL. */
static uint64_t string(struct pprof *p, const char *s)
{
	return string_number(&p->strings, s ? s : "", NULL);
}

static void string_field(struct pprof *p, struct out *o, unsigned field, const char *s)
{
	number_field(o, field, string(p, s));
}

/* Writes p->message as a field of the profile. */
static void put_message(struct pprof *p, unsigned field)
{
	bytes_field(&p->text, field, p->message.v, p->message.n);
	p->message.n = 0;
	if (p->text.n > 1 << 16)
		gzip_take(&p->gzip, &p->text);
}

static void value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	string_field(p, &p->message, 1, type);
	string_field(p, &p->message, 2, unit);
	put_message(p, field);
}

/* ---- contents ---- */

/* Lists the sample types. The first four are known to every reader of heap profiles. */
static const struct {
	enum export_figure figure;
	const char *type, *unit;
} types[EXPORT_FIGURES] = {
	{EXPORT_ALLOCATIONS, "alloc_objects", "count"}, {EXPORT_ALLOCATED, "alloc_space", "bytes"},
	{EXPORT_LIVE_BLOCKS, "inuse_objects", "count"}, {EXPORT_LIVE, "inuse_space", "bytes"},
	{EXPORT_PEAK_BLOCKS, "peak_objects", "count"},  {EXPORT_PEAK, "peak_space", "bytes"},
	{EXPORT_TEMPORARY, "temp_objects", "count"},
};
#define STANDARD_TYPES 4

static bool has_type(const struct pprof *p, size_t i)
{
	return i < STANDARD_TYPES || (p->x->known[types[i].figure] && !p->x->page->four_types);
}

static bool symbolized(const struct module *o)
{
	return o->symbols && (strcmp(o->symbols, "dwarf") == 0 || strcmp(o->symbols, "elf") == 0);
}

/* Writes a mapping. If its has_functions and similar flags were not set, a reader would try to
 * symbolize the module. */
static void put_mapping(struct pprof *p, uint32_t module)
{
	const struct module *o = &p->x->m->modules.v[module];
	struct ms_arena *a = &p->x->m->arena;
	number_field(&p->message, 1, p->mapping[module]);
	number_field(&p->message, 2, o->start);
	number_field(&p->message, 3, o->end);
	number_field(&p->message, 4, o->start > o->bias ? o->start - o->bias : 0);
	string_field(p, &p->message, 5, o->path ? name_clean(a, o->path, false) : NULL);
	string_field(p, &p->message, 6, o->build_id);
	for (unsigned flag = 7; symbolized(o) && flag <= 10; flag++)
		number_field(&p->message, flag, 1);
	put_message(p, MAPPING);
}

/* Writes the modules that contain frames, the program itself first. */
static void put_mappings(struct pprof *p)
{
	struct model *m = p->x->m;
	const char *exe = m->processes.v[0].exe;
	bool *used = ms_xcalloc(m->modules.n + 1, sizeof *used);
	for (size_t i = 0; i < m->frames.n; i++)
		if (m->frames.v[i].module != NONE)
			used[m->frames.v[i].module] = true;
	uint32_t number = 0;
	for (int program = 1; program >= 0; program--)
		for (uint32_t i = 0; i < m->modules.n; i++) {
			const char *path = m->modules.v[i].path;
			if (!used[i] || program != (exe && path && strcmp(exe, path) == 0))
				continue;
			p->mapping[i] = ++number;
			put_mapping(p, i);
		}
	free(used);
}

/* Writes a function without its number; its full name is the system name. */
static void put_function(struct export *x, const struct place *q, struct out *o)
{
	string_field(x->state, o, 2,
		     x->page->style.full_names ? q->function
					       : ms_name_short(&x->m->arena, q->function));
	string_field(x->state, o, 3, q->function);
	string_field(x->state, o, 4, q->file);
}

static uint64_t function_number(struct pprof *p, uint32_t place)
{
	size_t before = p->x->texts.n, n;
	uint32_t number = export_text(p->x, place, put_function);
	if (number == before) {
		const char *text = bytes_of(&p->x->texts, number, &n);
		number_field(&p->message, 1, (uint64_t)number + 1);
		out_put(&p->message, text, n);
		put_message(p, FUNCTION);
	}
	return (uint64_t)number + 1;
}

static void add_line(struct pprof *p, uint32_t place)
{
	struct out line = {0};
	number_field(&line, 1, function_number(p, place));
	number_field(&line, 2, p->x->places[place].line);
	bytes_field(&p->chain, 4, line.v, line.n);
	out_free(&line);
}

/* Returns the number of the location x->path[at..end): a frame with its inlined functions. A frame
 * without a name is left to readers that have the module's symbols. */
static uint64_t location_number(struct pprof *p, size_t at, size_t end)
{
	const uint32_t *path = p->x->path;
	const struct place *q = &p->x->places[path[at]];
	uint32_t module = q->module;
	bool is_new;
	p->chain.n = 0;
	if (module != NONE)
		number_field(&p->chain, 2, p->mapping[module]);
	/* an address inside the call instruction, not after it */
	if (figure_some(q->address))
		number_field(&p->chain, 3, q->address - 1);
	for (; at < end; at++)
		if (p->x->places[path[at]].named || module == NONE ||
		    symbolized(&p->x->m->modules.v[module]))
			add_line(p, path[at]);
	uint64_t number =
		(uint64_t)bytes_number(&p->locations, p->chain.v, p->chain.n, &is_new) + 1;
	if (is_new) {
		number_field(&p->message, 1, number);
		out_put(&p->message, p->chain.v, p->chain.n);
		put_message(p, LOCATION);
	}
	return number;
}

static void add_label(struct pprof *p, const char *key, const char *s, uint64_t number,
		      const char *unit)
{
	struct out label = {0};
	string_field(p, &label, 1, key);
	if (s)
		string_field(p, &label, 2, s);
	else
		number_field(&label, 3, number);
	if (unit)
		string_field(p, &label, 4, unit);
	bytes_field(&p->message, 3, label.v, label.n);
	out_free(&label);
}

static void add_labels(struct pprof *p, const struct site *s, const struct thread *t)
{
	struct model *m = p->x->m;
	if (s->min_size == s->max_size && figure_some(s->min_size))
		add_label(p, "bytes", NULL, s->min_size, "bytes");
	if (s->verdict)
		add_label(p, "verdict", name_clean(&m->arena, s->verdict, false), 0, NULL);
	if (m->processes.n > 1 && m->processes.v[s->process].pid != UNKNOWN)
		add_label(p, "pid", NULL, m->processes.v[s->process].pid, NULL);
	if (t && t->name)
		add_label(p, "thread", name_clean(&m->arena, t->name, false), 0, NULL);
	if (t && t->label)
		add_label(p, "label", name_clean(&m->arena, t->label, false), 0, NULL);
	if (t && t->tid != UNKNOWN)
		add_label(p, "tid", NULL, t->tid, NULL);
}

static void put_sample(struct pprof *p, const uint64_t *locations, size_t n, const uint64_t *v,
		       const struct site *s, const struct thread *t)
{
	uint64_t values[EXPORT_FIGURES];
	size_t count = 0;
	bool any = false;
	for (size_t i = 0; i < EXPORT_FIGURES; i++)
		if (has_type(p, i)) {
			values[count++] = v[types[i].figure];
			any |= v[types[i].figure] != 0;
		}
	if (!any)
		return;
	numbers_field(&p->message, 1, locations, n);
	numbers_field(&p->message, 2, values, count);
	if (s)
		add_labels(p, s, t);
	put_message(p, SAMPLE);
}

/* ---- threads ---- */

/* Starts the query for the allocations of each site by thread, in the order of sites. It has
 * figures of the end only, without intervals. */
static void ask_threads(struct pprof *p)
{
	if (!p->x->m->est && !p->x->m->diff)
		p->threads = model_ask(
			p->x->m, "SELECT site, thread, allocations, allocated_bytes,"
				 " live_blocks, live_bytes FROM site_thread ORDER BY site, thread");
	model_next(&p->threads);
}

/* Computes one thread's part of a row and subtracts it from `left`. False = no more threads. */
static bool next_thread(struct pprof *p, const struct site *s, uint64_t *left, uint64_t *part,
			const struct thread **thread)
{
	const struct model *m = p->x->m;
	static const enum export_figure figures[] = {EXPORT_ALLOCATIONS, EXPORT_ALLOCATED,
						     EXPORT_LIVE_BLOCKS, EXPORT_LIVE};
	size_t known = strcmp(m->at_label, "end") == 0 ? 4 : 2;
	while (p->threads && sqlite3_column_int64(p->threads, 0) < s->id)
		model_next(&p->threads);
	if (!p->threads || sqlite3_column_int64(p->threads, 0) != s->id)
		return false;
	*thread = model_thread(m, sqlite3_column_int64(p->threads, 1));
	memset(part, 0, EXPORT_FIGURES * sizeof *part);
	for (size_t i = 0; i < known; i++) {
		uint64_t v = figure_or_0(figure_in(p->threads, 2 + (int)i)),
			 *rest = &left[figures[i]];
		part[figures[i]] = v < *rest ? v : *rest;
		*rest -= part[figures[i]];
	}
	model_next(&p->threads);
	return true;
}

static void put_row(struct pprof *p, const struct export_row *r)
{
	size_t n = p->x->depth, count = 0;
	uint64_t *locations = ms_xrealloc(NULL, n, sizeof *locations);
	for (size_t at = 0, end; at < n; at = end) {
		end = export_frame_end(p->x, at);
		locations[count++] = location_number(p, at, end);
	}
	struct export_row left = *r, part = {.site = r->site};
	const struct thread *t;
	while (r->site && next_thread(p, r->site, left.v, part.v, &t))
		if (export_any(&part))
			put_sample(p, locations, count, part.v, r->site, t);
	if (export_any(&left))
		put_sample(p, locations, count, left.v, r->site, NULL);
	free(locations);
}

/* ---- the whole profile ---- */

static void put_head(struct pprof *p, enum metric metric)
{
	const struct model *m = p->x->m;
	const struct process *q = &m->processes.v[0];
	enum export_figure shown = export_figure_of(metric);
	string(p, "");
	for (size_t i = 0; i < EXPORT_FIGURES; i++)
		if (has_type(p, i))
			value_type(p, SAMPLE_TYPE, types[i].type, types[i].unit);
	put_mappings(p);
	/* tells readers to omit operator new, so that stacks begin at the program's own code */
	string_field(p, &p->text, DROP_FRAMES, "operator new.*");
	/* time of the moment shown, as in Go's profiles, because profile stores sort by it */
	if (q->started_ns != UNKNOWN)
		number_field(&p->text, TIME_NANOS,
			     q->started_ns +
				     (m->at_time_ns != UNKNOWN ? m->at_time_ns : m->duration_ns));
	if (!m->diff) /* a comparison has no duration: the time between the two runs is not known */
		number_field(&p->text, DURATION_NANOS, m->duration_ns);
	value_type(p, PERIOD_TYPE, "space", "bytes");
	uint64_t every = m->quality.sampled_bytes;
	number_field(&p->text, PERIOD, every && every != UNKNOWN ? every : 1);
	const char *initial = "inuse_space";
	for (size_t i = 0; i < EXPORT_FIGURES; i++)
		if (types[i].figure == shown && has_type(p, i))
			initial = types[i].type;
	string_field(p, &p->text, DEFAULT_SAMPLE_TYPE, initial);
	uint64_t comments[WORDS_MAX + 1];
	size_t n = 0;
	comments[n++] = string(p, p->x->command);
	for (size_t i = 0; i < p->x->notes.n; i++)
		comments[n++] = string(p, p->x->notes.v[i]);
	numbers_field(&p->text, COMMENT, comments, n);
}

void export_pprof(struct export *x, struct out *o)
{
	struct pprof p = {.x = x, .text = {0}, .message = {0}, .chain = {0}};
	x->state = &p;
	if (x->m->diff)
		export_differences(x);
	p.mapping = ms_xcalloc(x->m->modules.n + 1, sizeof *p.mapping);
	gzip_open(&p.gzip, o, false);
	put_head(&p, x->asked);
	ask_threads(&p);
	for (const struct export_row *r = NULL; (r = export_next(x, r, EXPORT_FIGURES));)
		put_row(&p, r);
	sqlite3_finalize(p.threads);
	for (uint32_t i = 0; i < p.strings.n; i++) {
		size_t n;
		const char *s = bytes_of(&p.strings, i, &n);
		bytes_field(&p.text, STRING_TABLE, s, n);
	}
	gzip_take(&p.gzip, &p.text);
	gzip_close(&p.gzip);
	out_free(&p.text);
	out_free(&p.message);
	out_free(&p.chain);
	bytes_free(&p.strings);
	bytes_free(&p.locations);
	free(p.mapping);
}
