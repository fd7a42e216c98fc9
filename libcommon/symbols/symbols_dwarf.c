/* SPDX-License-Identifier: MIT
 * One module's DWARF: opens libdw on our own mapping, indexes the units by address, and looks
 * addresses up in a bounded cache of units.
 */
#include "symbols_dwarf.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* CACHE_BYTES: limit of parsed units per module. UNITS_MAX, ROWS_MAX: numbers of units and line
 * table rows after which libdw is closed and reopened, since it keeps all that it has read. */
enum { CACHE_BYTES = 64 << 20, UNITS_MAX = 512, ROWS_MAX = 1 << 20 };

/* ---- libdw ---- */

static void close_dwarf(struct ms_dwarf *d)
{
	ms_splits_close(d->splits);
	dwarf_end(d->main.dw);
	dwarf_end(d->supplement.dw);
	d->main.dw = d->supplement.dw = NULL;
}

static void close_all(struct ms_dwarf *d)
{
	close_dwarf(d);
	elf_end(d->main.elf);
	elf_end(d->supplement.elf);
	ms_splits_free(d->splits);
}

/* Tells whether we use that debug section. Unused, for instance, are sections with locations of
 * variables. */
static bool is_read(const char *name)
{
	static const char *const others[] = {"loc", "mac", "frame", "pub", "gnu_pub", "names"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return true;
}

/* Decompresses the sections in use. libdw would decompress all, more slowly, and does not support
 * zstd. */
static void unpack(struct ms_dwarf *d, struct ms_dwarf_file *f)
{
	enum { PREFIX = sizeof ".debug_" - 1 };
	for (unsigned i = 0; i < f->file->section_count; i++) {
		struct ms_elf_section *s = &f->file->sections[i];
		if (!(s->flags & SHF_COMPRESSED) || strncmp(s->name, ".debug_", PREFIX) != 0)
			continue;
		const uint8_t *data = is_read(s->name + PREFIX) ? ms_elf_data(s) : NULL;
		d->damaged |= s->damaged;
		ms_section_replace(f->elf, i, (struct ms_bytes){data, data ? s->size : 0});
	}
}

/* Opens a file in libdw. libelf marks a section as decompressed by changing its header in the
 * mapping, so the mapping is private, and the section stays decompressed until libelf is closed. */
static void open_one(struct ms_dwarf *d, struct ms_dwarf_file *f)
{
	struct ms_elf *e = f->file;
	if (e && !f->elf) {
		f->elf = elf_memory((char *)(uintptr_t)e->map, e->size);
		unpack(d, f);
	}
	f->dw = f->elf ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
}

static bool open_dwarf(struct ms_dwarf *d)
{
	elf_version(EV_CURRENT);
	d->opened_units = 0;
	d->opened_rows = 0;
	open_one(d, &d->main);
	if (d->main.dw)
		open_one(d, &d->supplement);
	if (d->supplement.dw)
		dwarf_setalt(d->main.dw, d->supplement.dw);
	return d->main.dw != NULL;
}

/* ---- which unit covers which addresses ---- */

struct index {
	struct ms_ranges ranges;
	/* Units without address ranges in their entry (strict DWARF 2): offset of the entry,
	 * ascending. */
	MS_ARRAY(uint64_t) bare;
};

static void add_unit(struct ms_dwarf *d, uint64_t die, const struct ms_ranges *r)
{
	for (size_t i = 0; i < r->n; i++)
		*MS_PUSH(&d->spans) = (struct ms_span){
			.low = r->v[i].low, .high = r->v[i].high, .unit = (uint32_t)d->units.n};
	if (r->n)
		*MS_PUSH(&d->units) = (struct ms_unit_ref){.die = die};
}

/* Adds the units without address ranges in their entry, from .debug_aranges, which has one set per
 * unit. */
static void add_bare_units(struct ms_dwarf *d, struct index *x)
{
	Dwarf_Aranges *all;
	size_t n;
	if (!x->bare.n || dwarf_getaranges(d->main.dw, &all, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Addr low;
		Dwarf_Word length;
		Dwarf_Off unit;
		if (dwarf_getarangeinfo(dwarf_onearange(all, i), &low, &length, &unit) != 0)
			continue;
		struct ms_range r = {low, low + length};
		if (low && length &&
		    bsearch(&unit, x->bare.v, x->bare.n, sizeof *x->bare.v, ms_by_first_number))
			add_unit(d, unit, &(struct ms_ranges){.v = &r, .n = 1});
	}
}

static void index_unit(struct ms_dwarf *d, struct index *x, Dwarf_Die *die)
{
	uint64_t offset = dwarf_dieoffset(die);
	x->ranges.n = 0;
	d->damaged |= !ms_die_ranges(die, &x->ranges);
	add_unit(d, offset, &x->ranges);
	if (!x->ranges.n)
		*MS_PUSH(&x->bare) = offset;
}

static int by_low(const void *a, const void *b)
{
	const struct ms_span *x = a, *y = b;
	return MS_ORDER(x->low, y->low) ?: MS_ORDER(x->depth, y->depth) ?: MS_ORDER(x->node, y->node);
}

void ms_spans_sort(struct ms_spans *s)
{
	MS_SORT(s->v, s->n, by_low);
	for (size_t i = 0; i < s->n; i++) {
		size_t k = i;
		while (k && s->v[k - 1].high <= s->v[i].low)
			k = s->v[k - 1].before;
		s->v[i].before = k;
	}
}

static void index_units(struct ms_dwarf *d)
{
	struct index x = {0};
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	uint8_t type, address_size = 0;
	int rc;
	while ((rc = dwarf_get_units(d->main.dw, unit, &next, NULL, &type, &die, NULL)) == 0) {
		unit = next;
		if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
		    dwarf_cu_die(unit, &die, NULL, NULL, &address_size, NULL, NULL, NULL) &&
		    address_size == 8)
			index_unit(d, &x, &die);
	}
	d->damaged |= rc < 0;
	add_bare_units(d, &x);
	ms_spans_sort(&d->spans);
	MS_FREE(x.ranges.v, x.bare.v);
}

struct ms_dwarf *ms_dwarf_new(const struct ms_dwarf_files *files,
			      const struct ms_symbols_options *opt, struct ms_arena *strings)
{
	struct ms_dwarf *d = ms_xrealloc(NULL, 1, sizeof *d);
	*d = (struct ms_dwarf){
		.main.file = files->elf,
		.supplement.file = files->alt,
		.splits = ms_splits_new(opt->sysroot, opt->debug_dirs, files->elf, files->path),
		.symbols = files->symbols,
		.strings = strings,
		.demangle = !opt->no_demangle};
	d->partial = !files->alt && ms_elf_section(files->elf, ".gnu_debugaltlink");
	if (!open_dwarf(d)) {
		close_all(d);
		free(d);
		return NULL;
	}
	index_units(d);
	return d;
}

void ms_dwarf_free(struct ms_dwarf *d)
{
	if (!d)
		return;
	ms_arena_free(&d->unit_memory);
	close_all(d);
	MS_FREE(d->units.v, d->spans.v, d->variables.v, d);
}

/* ---- the cache of units ---- */

static void drop_units(struct ms_dwarf *d)
{
	for (size_t i = 0; i < d->units.n; i++)
		d->units.v[i].unit = NULL;
	ms_arena_free(&d->unit_memory);
	d->unit_bytes = 0;
}

static struct ms_unit *unit_of(struct ms_dwarf *d, uint32_t index)
{
	struct ms_unit_ref *r = &d->units.v[index];
	if (r->unit)
		return r->unit;
	if (d->unit_bytes > CACHE_BYTES)
		drop_units(d);
	if (d->opened_units++ >= UNITS_MAX || d->opened_rows >= ROWS_MAX) {
		close_dwarf(d);
		open_dwarf(d);
	}
	r->unit = ms_unit_read(d, index);
	d->unit_bytes += r->unit->bytes;
	d->opened_rows += r->unit->row_count;
	return r->unit;
}

/* ---- answers ---- */

static const struct ms_row *row_at(const struct ms_unit *u, uint64_t address)
{
	const struct ms_spans *all = &u->sequences;
	for (size_t i = MS_COUNT_UP_TO(all->v, all->n, low, address); i; i = all->v[i - 1].before) {
		const struct ms_span *s = &all->v[i - 1];
		const struct ms_row *rows = &u->rows[s->first_row];
		if (address < s->high)
			return &rows[MS_COUNT_UP_TO(rows, s->rows, offset, address - s->low) - 1];
	}
	return NULL;
}

/* Returns the node of the innermost function or inlined call that covers the address. */
static uint32_t node_at(const struct ms_unit *u, uint64_t address)
{
	enum { MOST = 1 << 16 }; /* nesting that only damaged or hostile files reach */
	const struct ms_span *best = NULL;
	const struct ms_spans *all = &u->calls;
	size_t i = MS_COUNT_UP_TO(all->v, all->n, low, address);
	for (unsigned looks = 0; i && looks < MOST; i = all->v[i - 1].before, looks++) {
		const struct ms_span *s = &all->v[i - 1];
		if (address < s->high && (!best || s->depth > best->depth))
			best = s;
	}
	return best ? best->node : MS_NO_NODE;
}

static const char *name_of(struct ms_dwarf *d, struct ms_unit *u, struct ms_unit_node *n)
{
	if (!n->named) {
		n->name = ms_node_name(d, u, n);
		n->named = true;
	}
	return n->name;
}

static void set_place(struct ms_dwarf *d, struct ms_unit *u, struct ms_location *l, uint32_t file,
		      uint32_t line, uint32_t column)
{
	l->file = ms_unit_source(d, u, file);
	l->line = l->file ? line : 0;
	l->column = l->line ? column : 0;
}

/* Fills `out` with the chain of calls from `node` outwards; `row` (or NULL) gives the line in the
 * innermost function. Returns its length. */
static size_t unroll(struct ms_dwarf *d, struct ms_unit *u, uint32_t node, const struct ms_row *row,
		     struct ms_location *out, size_t max)
{
	struct ms_location place = {0};
	size_t n = 0;
	if (row)
		set_place(d, u, &place, row->file, row->line, row->column);
	while (node != MS_NO_NODE) {
		struct ms_unit_node *f = &u->nodes[node];
		/* If the array is full, the last element is overwritten, so that the outermost,
		 * physical function is kept. */
		struct ms_location *l = &out[n < max ? n++ : max - 1];
		*l = place;
		l->function = name_of(d, u, f);
		l->inlined = f->inlined && f->parent != MS_NO_NODE;
		if (!l->inlined)
			return n;
		place = (struct ms_location){0};
		set_place(d, u, &place, f->call_file, f->call_line, f->call_column);
		node = f->parent;
	}
	if (!n && place.file)
		out[n++] = place;
	return n;
}

static size_t find_in(struct ms_dwarf *d, uint32_t index, uint64_t address, struct ms_location *out,
		      size_t max)
{
	struct ms_unit *u = unit_of(d, index);
	return unroll(d, u, node_at(u, address), row_at(u, address), out, max);
}

size_t ms_dwarf_find(struct ms_dwarf *d, uint64_t address, struct ms_location *out, size_t max)
{
	/* Ranges of units may overlap because of compiler bugs: the nearest unit that yields a
	 * result is used. */
	size_t n = 0;
	for (size_t i = MS_COUNT_UP_TO(d->spans.v, d->spans.n, low, address); !n && i;
	     i = d->spans.v[i - 1].before)
		if (address < d->spans.v[i - 1].high)
			n = find_in(d, d->spans.v[i - 1].unit, address, out, max);
	return n;
}
