/* SPDX-License-Identifier: MIT
 * One module's DWARF: opens libdwarf on our own mapping, indexes the units by address and answers
 * from a bounded cache of them.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* Parsed units kept per module, in bytes; and how many units libdwarf may open before it is closed
 * and opened anew, since it keeps the abbreviations of each. */
enum { CACHE_BYTES = 64 << 20, REOPEN_AFTER = 512 };

/* ---- libdwarf's view of the file ---- */

/* The sections that libdwarf is asked about. It reads all headers of some others at once when it
 * opens a file, and frees memory twice when one of .debug_rnglists is damaged. */
static bool is_shown(const struct ms_elf_section *s)
{
	static const char *const names[] = {".debug_info", ".debug_abbrev",   ".debug_line",
					    ".debug_str",  ".debug_line_str", ".debug_str_offsets",
					    ".debug_addr"};
	for (size_t i = 0; s->raw && i < sizeof names / sizeof *names; i++)
		if (!strcmp(s->name, names[i]))
			return true;
	return false;
}

static int section_info(void *object, Dwarf_Half index, Dwarf_Obj_Access_Section *out, int *error)
{
	struct ms_elf *e = ((struct ms_dwarf_object *)object)->elf;
	(void)error;
	if (index >= e->section_count)
		return DW_DLV_NO_ENTRY;
	const struct ms_elf_section *s = &e->sections[index];
	*out = (Dwarf_Obj_Access_Section){.name = ""};
	if (is_shown(s))
		*out = (Dwarf_Obj_Access_Section){
			.name = s->name, .type = s->type, .size = s->size};
	return DW_DLV_OK;
}

static Dwarf_Endianness byte_order(void *object)
{
	(void)object;
	return DW_OBJECT_LSB;
}

static Dwarf_Small pointer_size(void *object)
{
	(void)object;
	return 8;
}

/* Of offsets in the object file: 4 here means 32-bit DWARF, which each unit may overrule. */
static Dwarf_Small length_size(void *object)
{
	(void)object;
	return 4;
}

static Dwarf_Unsigned section_count(void *object)
{
	return ((struct ms_dwarf_object *)object)->elf->section_count;
}

static int load_section(void *object, Dwarf_Half index, Dwarf_Small **data, int *error)
{
	struct ms_elf *e = ((struct ms_dwarf_object *)object)->elf;
	const uint8_t *p =
		index && index < e->section_count ? ms_elf_data(&e->sections[index]) : NULL;
	(void)error;
	*data = (Dwarf_Small *)p; /* libdwarf only reads */
	return p ? DW_DLV_OK : DW_DLV_NO_ENTRY;
}

static const Dwarf_Obj_Access_Methods methods = {
	.get_section_info = section_info,
	.get_byte_order = byte_order,
	.get_length_size = length_size,
	.get_pointer_size = pointer_size,
	.get_section_count = section_count,
	.load_section = load_section,
};

static void close_object(struct ms_dwarf_object *o)
{
	Dwarf_Error e = NULL;
	if (o->dbg)
		dwarf_object_finish(o->dbg, &e);
	o->dbg = NULL;
}

static bool open_object(struct ms_dwarf_object *o)
{
	Dwarf_Error e = NULL;
	if (!o->elf)
		return false;
	o->access = (Dwarf_Obj_Access_Interface){.object = o, .methods = &methods};
	if (dwarf_object_init_b(&o->access, NULL, NULL, DW_GROUPNUMBER_ANY, &o->dbg, &e) ==
	    DW_DLV_OK)
		return true;
	o->dbg = NULL;
	return false;
}

static bool open_both(struct ms_dwarf *d)
{
	Dwarf_Error e = NULL;
	if (!open_object(&d->main))
		return false;
	if (open_object(&d->alt))
		ms_dwarf_ok(d->main.dbg, dwarf_set_tied_dbg(d->main.dbg, d->alt.dbg, &e), &e);
	d->opened_units = 0;
	return true;
}

static void close_both(struct ms_dwarf *d)
{
	close_object(&d->main);
	close_object(&d->alt);
}

/* ---- which unit covers which addresses ---- */

struct index {
	struct {
		struct ms_unit_ref *v;
		size_t n, cap;
	} units;
	struct {
		struct ms_span *v;
		size_t n, cap;
	} spans;
	struct ms_ranges ranges;
	/* Units that do not say their ranges themselves (strict DWARF 2 cannot): by header, with
	 * the DIE. */
	struct {
		struct bare {
			uint64_t header, die;
		} * v;
		size_t n, cap;
	} bare;
};

static void add_unit(struct index *x, uint64_t die, const struct ms_ranges *r)
{
	for (size_t i = 0; i < r->n; i++)
		*MS_PUSH(&x->spans) =
			(struct ms_span){r->v[i].low, r->v[i].high, 0, (uint32_t)x->units.n};
	if (r->n)
		*MS_PUSH(&x->units) = (struct ms_unit_ref){.die = die};
}

/* A set of .debug_aranges. Units and sets come in the same order. */
static void add_bare(void *arg, uint64_t header, const struct ms_ranges *r)
{
	struct index *x = arg;
	size_t low = 0, high = x->bare.n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (x->bare.v[mid].header < header)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < x->bare.n && x->bare.v[low].header == header)
		add_unit(x, x->bare.v[low].die, r);
}

static void index_unit(struct ms_dwarf *d, struct index *x, Dwarf_Die die)
{
	Dwarf_Debug dbg = d->main.dbg;
	Dwarf_Error e = NULL;
	Dwarf_Off offset = 0;
	struct ms_die facts;
	if (!ms_dwarf_ok(dbg, dwarf_dieoffset(die, &offset, &e), &e))
		return;
	ms_die_read(dbg, die, &facts);
	struct ms_unit_base base = ms_unit_base(d->main.elf, die, &facts);
	x->ranges.n = 0;
	ms_die_ranges(&base, &facts, &x->ranges);
	add_unit(x, offset, &x->ranges);
	Dwarf_Off header = 0, size = 0;
	if (!x->ranges.n &&
	    ms_dwarf_ok(dbg, dwarf_die_CU_offset_range(die, &header, &size, &e), &e))
		*MS_PUSH(&x->bare) = (struct bare){header, offset};
}

static int by_low(const void *a, const void *b)
{
	const struct ms_span *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void index_units(struct ms_dwarf *d)
{
	Dwarf_Debug dbg = d->main.dbg;
	struct index x = {0};
	for (;;) {
		Dwarf_Error e = NULL;
		Dwarf_Unsigned length, type_offset, next;
		Dwarf_Half version, address_size, length_size_, extension, unit_type;
		Dwarf_Off abbreviations;
		Dwarf_Sig8 signature;
		Dwarf_Die die = NULL;
		if (!ms_dwarf_ok(dbg,
				 dwarf_next_cu_header_d(dbg, 1, &length, &version, &abbreviations,
							&address_size, &length_size_, &extension,
							&signature, &type_offset, &next, &unit_type,
							&e),
				 &e))
			break;
		if (!ms_dwarf_ok(dbg, dwarf_siblingof_b(dbg, NULL, 1, &die, &e), &e))
			continue;
		if (address_size == 8)
			index_unit(d, &x, die);
		dwarf_dealloc_die(die);
	}
	if (x.bare.n)
		ms_arange_sets(d->main.elf, add_bare, &x);
	if (x.spans.n)
		qsort(x.spans.v, x.spans.n, sizeof *x.spans.v, by_low);
	for (size_t i = 0; i < x.spans.n; i++) {
		struct ms_span *s = &x.spans.v[i];
		s->reach = i && x.spans.v[i - 1].reach > s->high ? x.spans.v[i - 1].reach : s->high;
	}
	free(x.ranges.v);
	free(x.bare.v);
	d->units = x.units.v;
	d->unit_count = x.units.n;
	d->spans = x.spans.v;
	d->span_count = x.spans.n;
}

struct ms_dwarf *ms_dwarf_new(struct ms_elf *elf, struct ms_elf *alt, struct ms_elf *symbols,
			      struct ms_arena *strings, bool demangle)
{
	struct ms_dwarf *d = ms_xrealloc(NULL, 1, sizeof *d);
	*d = (struct ms_dwarf){.main.elf = elf,
			       .alt.elf = alt,
			       .symbols = symbols,
			       .strings = strings,
			       .demangle = demangle};
	/* We give back what we got; libdwarf's own book-keeping for those who do not costs a third
	 * of the time. */
	dwarf_set_de_alloc_flag(0);
	if (!open_both(d)) {
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
	for (size_t i = 0; i < d->unit_count; i++)
		ms_unit_free(d->units[i].unit);
	close_both(d);
	free(d->units);
	free(d->spans);
	free(d);
}

/* ---- the cache of units ---- */

static void drop_oldest(struct ms_dwarf *d)
{
	struct ms_unit_ref *oldest = NULL;
	for (size_t i = 0; i < d->unit_count; i++) {
		struct ms_unit_ref *r = &d->units[i];
		if (r->unit && (!oldest || r->unit->used < oldest->unit->used))
			oldest = r;
	}
	if (!oldest)
		return;
	d->cached_bytes -= oldest->unit->bytes;
	ms_unit_free(oldest->unit);
	oldest->unit = NULL;
}

static struct ms_unit *unit_of(struct ms_dwarf *d, uint32_t index)
{
	struct ms_unit_ref *r = &d->units[index];
	if (!r->unit) {
		while (d->cached_bytes > CACHE_BYTES)
			drop_oldest(d);
		if (d->opened_units++ >= REOPEN_AFTER) {
			close_both(d);
			open_both(d);
		}
		r->unit = ms_unit_read(d, r->die);
		d->cached_bytes += r->unit->bytes;
	}
	r->unit->used = ++d->clock;
	return r->unit;
}

/* Index of the last element whose address is not above `address`, plus 1; 0 = none. */
#define FIND_LAST(array, count, field, address)                                                    \
	({                                                                                         \
		size_t low_ = 0, high_ = (count);                                                  \
		while (low_ < high_) {                                                             \
			size_t mid_ = low_ + (high_ - low_) / 2;                                   \
			if ((array)[mid_].field <= (address))                                      \
				low_ = mid_ + 1;                                                   \
			else                                                                       \
				high_ = mid_;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

/* ---- answers ---- */

static const struct ms_row *row_at(const struct ms_unit *u, uint64_t address)
{
	for (size_t i = FIND_LAST(u->sequences, u->sequence_count, low, address);
	     i && u->sequences[i - 1].reach > address; i--) {
		const struct ms_sequence *s = &u->sequences[i - 1];
		const struct ms_row *rows = &u->rows[s->first];
		if (address < s->high)
			return &rows[FIND_LAST(rows, s->n, offset, address - s->low) - 1];
	}
	return NULL;
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

/* The chain of `node`, whose innermost place is `row` (or NULL). */
static size_t unroll(struct ms_dwarf *d, struct ms_unit *u, uint32_t node, const struct ms_row *row,
		     struct ms_location *out, size_t max)
{
	struct ms_location place = {0};
	size_t n = 0;
	if (row)
		set_place(d, u, &place, row->file, row->line, row->column);
	while (node != MS_NO_NODE) {
		struct ms_unit_node *f = &u->nodes[node];
		/* With no room left the outermost, physical function takes the last place. */
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
	size_t i = FIND_LAST(u->segments, u->segment_count, address, address);
	return unroll(d, u, i ? u->segments[i - 1].node : MS_NO_NODE, row_at(u, address), out, max);
}

size_t ms_dwarf_find(struct ms_dwarf *d, uint64_t address, struct ms_location *out, size_t max)
{
	/* Ranges of units may overlap where a compiler was careless: the nearest one that knows
	 * something wins. */
	for (size_t i = FIND_LAST(d->spans, d->span_count, low, address);
	     i && d->spans[i - 1].reach > address; i--) {
		size_t n = address < d->spans[i - 1].high
				   ? find_in(d, d->spans[i - 1].unit, address, out, max)
				   : 0;
		if (n)
			return n;
	}
	return 0;
}
