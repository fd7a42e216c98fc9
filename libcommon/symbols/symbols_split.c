/* SPDX-License-Identifier: MIT
 * Finds the split part of a unit, in a .dwo file or a .dwp package, and opens it.
 */
#include "symbols_split.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/path.h"
#include "libcommon/base/arena.h"

/* Split parts kept open, and those known to be nowhere. */
enum { OPEN_MAX = 64, MISSING_MAX = 1 << 16 };

struct ms_splits {
	const char *sysroot, *const *debug_dirs;
	struct ms_elf *elf;
	const char *binary;
	struct ms_split open[OPEN_MAX];
	size_t open_count;
	uint64_t clock;
	struct ms_package *package; /* NULL = none */
	bool package_sought;
	MS_ARRAY(uint64_t) missing;
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
	free(x->lists);
	x->lists = NULL;
}

void ms_splits_close(struct ms_splits *s)
{
	for (size_t i = 0; i < s->open_count; i++)
		close_split(&s->open[i]);
	s->open_count = 0;
}

void ms_splits_free(struct ms_splits *s)
{
	if (!s)
		return;
	ms_splits_close(s);
	ms_package_close(s->package);
	free(s->missing.v);
	free(s);
}

/* ---- the skeleton ---- */

const char *ms_die_text(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	const char *s = dwarf_attr(die, attribute, &a) ? dwarf_formstring(&a) : NULL;
	return s && *s ? s : NULL;
}

static uint64_t number(Dwarf_Die *die, unsigned attribute, unsigned old)
{
	Dwarf_Attribute a;
	Dwarf_Word v = 0;
	if (!dwarf_attr(die, attribute, &a) && !dwarf_attr(die, old, &a))
		return 0;
	return dwarf_formudata(&a, &v) == 0 ? v : 0;
}

/* All of the table from the unit's own part on. */
static struct ms_bytes addresses(struct ms_elf *e, Dwarf_Die *skeleton)
{
	struct ms_bytes b = ms_elf_bytes(e, ".debug_addr");
	uint64_t base = number(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base);
	uint32_t length;
	if (!b.data || base > b.size)
		return (struct ms_bytes){0};
	b.data += base;
	b.size -= base;
	if (base < 8)
		return b;
	memcpy(&length, b.data - 8, sizeof length); /* in version 5, of what follows it */
	if (length > 4 && length - 4 < b.size && dwarf_hasattr(skeleton, DW_AT_addr_base))
		b.size = length - 4;
	return b;
}

/* ---- opening ---- */

/* Finds the unit in the image that bears the number. */
static bool find_unit(struct ms_split *x)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	while (dwarf_get_units(x->image.dw, unit, &next, NULL, NULL, &die, NULL) == 0) {
		uint64_t id = 0;
		uint8_t type;
		unit = next;
		if (dwarf_cu_info(unit, &x->ranges.version, &type, &x->die, NULL, &id, NULL,
				  NULL) == 0 &&
		    type == DW_UT_split_compile && id == x->id)
			return true;
	}
	return false;
}

static void find_ranges(struct ms_splits *s, struct ms_split *x, Dwarf_Die *skeleton,
			struct ms_bytes lists)
{
	enum { HEADER = 12 }; /* of .debug_rnglists */
	struct ms_split_ranges *r = &x->ranges;
	Dwarf_Addr low;
	if (dwarf_lowpc(skeleton, &low) == 0)
		r->base = low;
	r->list = lists;
	r->list_base = HEADER;
	if (r->version < 5) {
		r->list = ms_elf_bytes(s->elf, ".debug_ranges");
		r->list_base = number(skeleton, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
	} else if (lists.size) {
		/* the package or file may be closed before */
		x->lists = ms_xrealloc(NULL, lists.size, 1);
		r->list.data = memcpy(x->lists, lists.data, lists.size);
	}
}

/* Takes the next place among the open ones. */
static struct ms_split *place(struct ms_splits *s)
{
	struct ms_split *x = &s->open[0];
	if (s->open_count < OPEN_MAX)
		return &s->open[s->open_count];
	for (size_t i = 1; i < s->open_count; i++)
		if (s->open[i].used < x->used)
			x = &s->open[i];
	close_split(x);
	*x = s->open[--s->open_count];
	return &s->open[s->open_count];
}

static struct ms_image_section section(const char *name, struct ms_bytes of)
{
	return (struct ms_image_section){.name = name, .data = of.data, .size = of.size};
}

static struct ms_split *open_parts(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id,
				   const struct ms_split_parts *p)
{
	struct ms_bytes addr = addresses(s->elf, skeleton);
	struct ms_bytes of[MS_PART_COUNT];
	uint8_t *own[2] = {NULL, NULL};
	memcpy(of, p->of, sizeof of);
	if (p->packed)
		ms_package_strings(of, own);
	const struct ms_image_section all[] = {
		section(".debug_info", of[MS_PART_INFO]),
		section(".debug_abbrev", of[MS_PART_ABBREV]),
		section(".debug_line", of[MS_PART_LINE]),
		section(".debug_str_offsets", of[MS_PART_OFFSETS]),
		section(".debug_str", of[MS_PART_STRINGS]),
		section(".debug_addr", addr),
	};
	struct ms_split *x = place(s);
	*x = (struct ms_split){.id = id, .ranges.address = addr};
	bool good = of[MS_PART_INFO].size &&
		    ms_image_open(&x->image, all, sizeof all / sizeof *all, s->elf->machine) &&
		    find_unit(x);
	free(own[0]);
	free(own[1]);
	if (!good) {
		close_split(x);
		return NULL;
	}
	find_ranges(s, x, skeleton, of[MS_PART_LISTS]);
	s->open_count++;
	return x;
}

/* ---- .dwo files ---- */

static struct ms_split *open_object(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id,
				    const char *path)
{
	struct ms_elf *e = ms_elf_open(path);
	if (!e)
		return NULL;
	struct ms_split_parts p = {.packed = false};
	ms_parts_read(e, p.of);
	struct ms_split *x = open_parts(s, skeleton, id, &p);
	ms_elf_close(e);
	return x;
}

__attribute__((format(printf, 4, 5))) static struct ms_split *
try_object(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id, const char *fmt, ...)
{
	char path[4096];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(path, sizeof path, fmt, ap);
	va_end(ap);
	bool fits = n > 0 && (size_t)n < sizeof path;
	return fits ? open_object(s, skeleton, id, path) : NULL;
}

/* Where the compiler wrote it, beside the program, and in the folders of --debug-dir. */
static struct ms_split *find_object(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id)
{
	const char *name = ms_die_text(skeleton, DW_AT_dwo_name),
		   *folder = ms_die_text(skeleton, DW_AT_comp_dir);
	const char *root = s->sysroot ? s->sysroot : "";
	struct ms_arena a = {0};
	struct ms_split *x = NULL;
	if (!name)
		name = ms_die_text(skeleton, DW_AT_GNU_dwo_name);
	if (!name)
		return NULL;
	const char *path =
		*name == '/' ? name : ms_arena_printf(&a, "%s/%s", folder ? folder : "", name);
	int dir = (int)(ms_base_name(s->binary) - s->binary);
	if (*path == '/')
		x = try_object(s, skeleton, id, "%s%s", root, path);
	if (!x && *name != '/')
		x = try_object(s, skeleton, id, "%.*s%s", dir, s->binary, name);
	if (!x)
		x = try_object(s, skeleton, id, "%.*s%s", dir, s->binary, ms_base_name(name));
	for (const char *const *d = s->debug_dirs; !x && d && *d; d++) {
		x = try_object(s, skeleton, id, "%s/%s", *d, path);
		if (!x)
			x = try_object(s, skeleton, id, "%s/%s", *d, ms_base_name(name));
	}
	ms_arena_free(&a);
	return x;
}

/* ---- packages ---- */

static struct ms_package *try_package(const char *folder, size_t n, const char *name)
{
	char path[4096];
	int len = snprintf(path, sizeof path, "%.*s%s.dwp", (int)n, folder, name);
	return len > 0 && (size_t)len < sizeof path ? ms_package_open(path) : NULL;
}

/* PROGRAM.dwp beside the program or its debug file, or in a folder of --debug-dir. */
static void find_package(struct ms_splits *s)
{
	const char *base = ms_base_name(s->binary);
	char folder[4096];
	s->package_sought = true;
	s->package = try_package(s->binary, strlen(s->binary), "");
	if (!s->package)
		s->package = try_package(s->elf->path, strlen(s->elf->path), "");
	for (const char *const *d = s->debug_dirs; !s->package && d && *d; d++) {
		snprintf(folder, sizeof folder, "%s/%.*s", *d, (int)(base - s->binary), s->binary);
		s->package = try_package(folder, strlen(folder), base);
		if (!s->package) {
			snprintf(folder, sizeof folder, "%s/", *d);
			s->package = try_package(folder, strlen(folder), base);
		}
	}
}

static struct ms_split *find_packed(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id)
{
	struct ms_split_parts p;
	if (!s->package_sought)
		find_package(s);
	if (!s->package || !ms_package_find(s->package, id, &p))
		return NULL;
	return open_parts(s, skeleton, id, &p);
}

/* ---- */

static bool known_missing(const struct ms_splits *s, uint64_t id)
{
	for (size_t i = s->missing.n; i-- > 0;)
		if (s->missing.v[i] == id)
			return true;
	return false;
}

const struct ms_split *ms_split_of(struct ms_splits *s, Dwarf_Die *skeleton, uint64_t id)
{
	struct ms_split *x = NULL;
	for (size_t i = 0; i < s->open_count && !x; i++)
		if (s->open[i].id == id)
			x = &s->open[i];
	if (!x && !known_missing(s, id)) {
		x = find_packed(s, skeleton, id);
		if (!x)
			x = find_object(s, skeleton, id);
		if (!x && s->missing.n < MISSING_MAX)
			*MS_PUSH(&s->missing) = id;
	}
	if (x)
		x->used = ++s->clock;
	return x;
}
