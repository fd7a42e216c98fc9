/* SPDX-License-Identifier: MIT
 * Finds the split part of a unit, in a .dwo file or a .dwp package, and opens it.
 */
#include "symbols_split.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/path.h"
#include "libcommon/base/arena.h"

/* Largest number of split parts open at a time. */
enum { OPEN_MAX = 64 };

struct ms_splits {
	const char *sysroot, *const *debug_dirs;
	struct ms_elf *elf;
	const char *binary;
	struct ms_split open[OPEN_MAX];
	size_t open_count;
	struct ms_package *package; /* NULL = none */
	bool package_sought;
};

struct ms_splits *ms_splits_new(const char *sysroot, const char *const *debug_dirs,
				struct ms_elf *elf, const char *binary)
{
	struct ms_splits *s = ms_xcalloc(1, sizeof *s);
	s->sysroot = sysroot;
	s->debug_dirs = debug_dirs;
	s->elf = elf;
	s->binary = binary;
	return s;
}

static void close_split(struct ms_split *x)
{
	ms_image_close(&x->image);
	ms_elf_close(x->object);
}

void ms_splits_close(struct ms_splits *s)
{
	while (s->open_count)
		close_split(&s->open[--s->open_count]);
}

void ms_splits_free(struct ms_splits *s)
{
	ms_splits_close(s);
	ms_package_close(s->package);
	free(s);
}

/* ---- the skeleton ---- */

const char *ms_die_text(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	const char *s = dwarf_attr(die, attribute, &a) ? dwarf_formstring(&a) : NULL;
	return s && *s ? s : NULL;
}

uint64_t ms_die_number(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	return dwarf_attr(die, attribute, &a) && dwarf_formudata(&a, &v) == 0 ? v : 0;
}

static struct ms_bytes from(struct ms_bytes b, uint64_t at)
{
	return at < b.size ? (struct ms_bytes){b.data + at, b.size - at} : (struct ms_bytes){0};
}

/* Returns the part of the address table that begins with the unit's addresses. */
static struct ms_bytes addresses(struct ms_elf *e, Dwarf_Die *skeleton)
{
	bool old = !dwarf_hasattr(skeleton, DW_AT_addr_base);
	return from(ms_elf_bytes(e, ".debug_addr"),
		    ms_die_number(skeleton, old ? DW_AT_GNU_addr_base : DW_AT_addr_base));
}

/* ---- opening ---- */

/* Finds the unit whose number is x->id in the opened ELF image. */
static bool find_unit(struct ms_split *x)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	while (dwarf_get_units(x->image.dw, unit, &next, NULL, NULL, &die, NULL) == 0) {
		uint64_t id = 0;
		uint8_t type;
		unit = next;
		if (dwarf_cu_info(unit, &x->version, &type, &x->die, NULL, &id, NULL, NULL) == 0 &&
		    type == DW_UT_split_compile && id == x->id)
			return true;
	}
	return false;
}

/* Opens the parts of the unit. `object` is the .dwo file that contains them, of which it takes
 * ownership; NULL = a package. */
static struct ms_split *open_parts(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id,
				   struct ms_bytes of[MS_PART_COUNT], struct ms_elf *object)
{
	struct ms_split *x = &s->open[s->open_count];
	*x = (struct ms_split){.id = id, .object = object};
	of[MS_PART_ADDRESSES] = addresses(s->elf, skeleton);
	of[MS_PART_RANGES] = from(ms_elf_bytes(s->elf, ".debug_ranges"),
				  ms_die_number(skeleton, DW_AT_GNU_ranges_base));
	if (!of[MS_PART_INFO].size || !ms_image_open(&x->image, of, s->elf->machine) ||
	    !find_unit(x)) {
		close_split(x);
		return NULL;
	}
	if (dwarf_lowpc(skeleton, &x->base) != 0)
		x->base = 0;
	x->lists = of[x->version < 5 ? MS_PART_RANGES : MS_PART_LISTS];
	s->open_count++;
	return x;
}

/* ---- .dwo files ---- */

static struct ms_split *open_object(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id,
				    struct ms_elf *e)
{
	struct ms_bytes of[MS_PART_COUNT];
	if (!e)
		return NULL;
	ms_parts_read(e, of);
	return open_parts(s, skeleton, id, of, e);
}

/* Finds the object file where the compiler wrote it, beside the program, and in the folders of
 * --symbols=debug-dir. */
static struct ms_split *find_object(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id)
{
	const char *name = ms_die_text(skeleton, DW_AT_dwo_name),
		   *folder = ms_die_text(skeleton, DW_AT_comp_dir);
	struct ms_arena a = {0};
	MS_ARRAY(const char *) at = {0};
	struct ms_split *x = NULL;
	if (!name)
		name = ms_die_text(skeleton, DW_AT_GNU_dwo_name);
	if (!name)
		return NULL;
	const char *base = ms_base_name(name), *path = name;
	int dir = (int)(ms_base_name(s->binary) - s->binary);
	if (*name != '/')
		path = ms_arena_printf(&a, "%s/%s", folder ? folder : "", name);
	if (*path == '/')
		*MS_PUSH(&at) = ms_arena_printf(&a, "%s%s", s->sysroot ? s->sysroot : "", path);
	if (*name != '/')
		*MS_PUSH(&at) = ms_arena_printf(&a, "%.*s%s", dir, s->binary, name);
	*MS_PUSH(&at) = ms_arena_printf(&a, "%.*s%s", dir, s->binary, base);
	for (const char *const *d = s->debug_dirs; d && *d; d++) {
		*MS_PUSH(&at) = ms_arena_printf(&a, "%s/%s", *d, path);
		*MS_PUSH(&at) = ms_arena_printf(&a, "%s/%s", *d, base);
	}
	for (size_t i = 0; !x && i < at.n; i++)
		x = open_object(s, skeleton, id, ms_elf_open(at.v[i]));
	free(at.v);
	ms_arena_free(&a);
	return x;
}

/* ---- packages ---- */

/* Finds PROGRAM.dwp beside the program or its debug file, or in a folder of --symbols=debug-dir. */
static void find_package(struct ms_splits *s)
{
	struct ms_arena a = {0};
	MS_ARRAY(const char *) at = {0};
	*MS_PUSH(&at) = ms_arena_printf(&a, "%s.dwp", s->binary);
	*MS_PUSH(&at) = ms_arena_printf(&a, "%s.dwp", s->elf->path);
	for (const char *const *d = s->debug_dirs; d && *d; d++) {
		*MS_PUSH(&at) = ms_arena_printf(&a, "%s/%s.dwp", *d, s->binary);
		*MS_PUSH(&at) = ms_arena_printf(&a, "%s/%s.dwp", *d, ms_base_name(s->binary));
	}
	for (size_t i = 0; !s->package && i < at.n; i++)
		s->package = ms_package_open(ms_elf_open(at.v[i]));
	s->package_sought = true;
	free(at.v);
	ms_arena_free(&a);
}

static struct ms_split *find_packed(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id)
{
	struct ms_bytes of[MS_PART_COUNT];
	if (!s->package_sought)
		find_package(s);
	if (!s->package || !ms_package_find(s->package, id, of))
		return NULL;
	return open_parts(s, skeleton, id, of, NULL);
}

const struct ms_split *ms_split_of(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id)
{
	for (size_t i = 0; i < s->open_count; i++)
		if (s->open[i].id == id)
			return &s->open[i];
	if (s->open_count == OPEN_MAX)
		ms_splits_close(s);
	struct ms_split *x = find_packed(s, skeleton, id);
	return x ? x : find_object(s, skeleton, id);
}

/* ---- ranges ---- */

/* Adds a range unless the linker removed its code, which leaves a start address of 0 or of all ones
 * (or one less). */
void ms_ranges_add_code(struct ms_ranges *out, uint64_t low, uint64_t high)
{
	enum { MAX_RANGES = 1 << 20 }; /* only damaged or hostile files have more */
	if (low && low < high && high < UINT64_MAX - 1 && out->n < MAX_RANGES)
		*MS_PUSH(out) = (struct ms_range){low, high};
}

/* Reads ranges of DWARF version 4: pairs, ended by a pair of zeros. */
static bool read_pairs(struct ms_bytes list, uint64_t base, struct ms_ranges *out)
{
	for (uint64_t v[2]; list.size >= sizeof v; list = from(list, sizeof v)) {
		memcpy(v, list.data, sizeof v);
		if (!v[0] && !v[1])
			return true;
		if (v[0] == UINT64_MAX)
			base = v[1];
		else
			ms_ranges_add_code(out, base + v[0], base + v[1]);
	}
	return false;
}

bool ms_split_die_ranges(const struct ms_split *s, Dwarf_Die *die, struct ms_ranges *out)
{
	enum { HEADER = 12 }; /* size of the header of .debug_rnglists */
	Dwarf_Attribute a;
	Dwarf_Word at;
	Dwarf_Addr base = s->base, low, high;
	if (!dwarf_attr(die, DW_AT_ranges, &a) || dwarf_formudata(&a, &at) != 0)
		return false;
	if (s->version < 5)
		return read_pairs(from(s->lists, at), base, out);
	if (dwarf_whatform(&a) == DW_FORM_rnglistx) {
		uint32_t offset;
		struct ms_bytes table = from(s->lists, HEADER);
		if (table.size < sizeof offset || at > table.size / sizeof offset - 1)
			return false;
		memcpy(&offset, table.data + at * sizeof offset, sizeof offset);
		at = HEADER + (Dwarf_Word)offset;
	}
	ptrdiff_t next = (ptrdiff_t)at;
	while (next > 0 && (next = dwarf_ranges(die, next, &base, &low, &high)) > 0)
		ms_ranges_add_code(out, low, high);
	return next == 0;
}
