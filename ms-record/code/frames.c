/* SPDX-License-Identifier: MIT
 * Modules without .eh_frame_hdr.
 *
 * The linker omits the header in static programs, which register .eh_frame with libgcc at their
 * start. Its position is given only by the section headers of the file. If they were stripped too,
 * the section is recognized by its content: consecutive entries with a length that refer to each
 * other and to code, up to a terminator of length 0.
 *
 * The data comes from another program and may be arbitrary: nothing outside the available bytes is
 * read, and entries that do not refer to the module's code are skipped.
 */
#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "format/varint.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/base/descriptor.h"

#define GUESS_MOST (UINT64_C(64) << 20) /* largest segment searched for unwind entries */
#define GUESS_WORK (1u << 24)           /* most unwind entries examined in a search */
#define GUESS_LEAST 4u                  /* fewest functions for a find to count as .eh_frame */
#define ENTRIES_MOST (1u << 22)

enum { PE_OMIT = 0xff, PE_PCREL = 0x10 };

/* ---- one entry ------------------------------------------------------------------------------- */

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t take(struct cursor *c, unsigned n)
{
	uint64_t v = 0;
	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, n); /* the field is little-endian, like this machine */
	c->at += n;
	return v;
}

/* Skips a LEB128 number, which has the same format as varints in traces. */
static void skip_leb(struct cursor *c)
{
	uint64_t v;
	c->bad |= !ms_varint_get(&c->at, c->end, &v);
}

/* Returns the size in bytes of a value in `encoding`, and whether the value is signed; 0 = unknown
 * encoding. */
static unsigned width(uint8_t encoding, bool *is_signed)
{
	*is_signed = encoding & 8;
	switch (encoding & 7) {
	case 0:
	case 4:
		return 8;
	case 2:
		return 2;
	case 3:
		return 4;
	}
	return 0;
}

static uint64_t take_value(struct cursor *c, uint8_t encoding)
{
	bool is_signed;
	unsigned n = width(encoding, &is_signed), shift = 64 - 8 * n;
	if (!n) {
		c->bad = true;
		return 0;
	}
	uint64_t v = take(c, n);
	return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

struct entry {
	size_t next;  /* offset of the next entry in the section */
	size_t id;    /* offset of the bytes after the length */
	uint32_t cie; /* distance back from `id` to the entry's CIE; 0 = the entry is a CIE */
	bool end;     /* the entry is a terminator, of length 0 */
};

/* Reads the entry at `at`. Returns false if there is none, or it is incomplete. */
static bool read_entry(const struct frames_section *s, size_t at, struct entry *e)
{
	struct cursor c = {s->bytes + at, s->bytes + s->n, false};
	uint64_t n = take(&c, 4);
	*e = (struct entry){0};
	if (n == UINT32_MAX)
		n = take(&c, 8);
	e->end = !c.bad && !n;
	if (c.bad || n > (size_t)(c.end - c.at) || (n && n < 4))
		return false;
	e->id = (size_t)(c.at - s->bytes);
	e->next = e->id + (size_t)n;
	e->cie = n ? (uint32_t)take(&c, 4) : 0;
	return true;
}

/* Returns the encoding of start addresses in FDEs of this CIE; PE_OMIT = not a CIE, or
 * unsupported. */
static uint8_t encoding_of(const struct frames_section *s, const struct entry *e)
{
	struct cursor c = {s->bytes + e->id + 4, s->bytes + e->next, false};
	uint64_t version = take(&c, 1);
	const uint8_t *text = c.at, *zero = memchr(text, 0, (size_t)(c.end - text));
	bool is_signed;
	if (c.bad || (version != 1 && version != 3) || !zero)
		return PE_OMIT;
	c.at = zero + 1;
	skip_leb(&c);
	skip_leb(&c);
	if (version == 1)
		take(&c, 1);
	else
		skip_leb(&c);
	if (!*text)
		return c.bad ? PE_OMIT : 0;
	if (*text != 'z')
		return PE_OMIT;
	skip_leb(&c);
	uint8_t encoding = 0;
	for (const uint8_t *a = text + 1; *a && !c.bad; a++) {
		if (*a == 'R')
			encoding = (uint8_t)take(&c, 1);
		else if (*a == 'L')
			take(&c, 1);
		else if (*a == 'P')
			take_value(&c, (uint8_t)take(&c, 1));
		else if (*a != 'S' && *a != 'B')
			break;
	}
	bool known = (encoding & 0xf0) == 0 || (encoding & 0xf0) == PE_PCREL;
	return !c.bad && known && width(encoding, &is_signed) ? encoding : PE_OMIT;
}

/* Holds the last CIE that was read: consecutive functions mostly share one. */
struct cie {
	size_t at;
	uint8_t encoding;
	bool known;
};

/* Reads the start address of an FDE's function. Returns false if the FDE is invalid, or the address
 * is outside of the module's code. */
static bool read_function(const struct frames_section *s, const struct entry *e,
			  const struct frames_code *code, struct cie *cie, uint64_t *start)
{
	struct entry of;
	if (!e->cie || e->cie > e->id)
		return false;
	size_t at = e->id - e->cie;
	if (!cie->known || cie->at != at) {
		bool good = read_entry(s, at, &of) && !of.end && !of.cie;
		*cie = (struct cie){at, good ? encoding_of(s, &of) : PE_OMIT, true};
	}
	if (cie->encoding == PE_OMIT)
		return false;
	struct cursor c = {s->bytes + e->id + 4, s->bytes + e->next, false};
	uint64_t from = s->address + e->id + 4;
	*start = take_value(&c, cie->encoding);
	if (cie->encoding & PE_PCREL)
		*start += from;
	uint64_t n = take_value(&c, cie->encoding & 7);
	return !c.bad && n && *start >= code->low && *start < code->high &&
	       n <= code->high - *start;
}

/* ---- all of them ----------------------------------------------------------------------------- */

MS_COMPARE(by_start, struct mg_frames_entry,
	   MS_ORDER(x->start, y->start) ?: MS_ORDER(x->fde, y->fde))

static void sort(struct frames_table *t)
{
	size_t n = 0;
	if (!t->entries.n)
		return;
	qsort(t->entries.v, t->entries.n, sizeof *t->entries.v, by_start);
	for (size_t i = 0; i < t->entries.n; i++)
		if (!n || t->entries.v[i].start != t->entries.v[n - 1].start)
			t->entries.v[n++] = t->entries.v[i];
	t->entries.n = n;
}

void frames_build(const struct frames_section *s, const struct frames_code *code,
		  struct frames_table *t)
{
	struct cie cie = {0};
	struct entry e;
	uint64_t start;
	/* A terminator ends the entries of one object file; others may follow. */
	for (size_t at = 0; at < s->n && read_entry(s, at, &e); at = e.next) {
		uint64_t fde = s->address + at - code->base;
		if (e.end || !read_function(s, &e, code, &cie, &start) || fde > INT32_MAX ||
		    start - code->base > INT32_MAX || t->entries.n == ENTRIES_MOST)
			continue;
		*MS_PUSH(&t->entries) =
			(struct mg_frames_entry){(int32_t)(start - code->base), (int32_t)fde};
	}
	sort(t);
}

/* ---- without section headers ----------------------------------------------------------------- */

/* Returns the number of functions in the sequence of .eh_frame entries that begins at `at`, and
 * stores the sequence's end in *end; 0 = there is no valid sequence. */
static unsigned length(const struct frames_section *s, size_t at, const struct frames_code *code,
		       size_t *end, unsigned *work)
{
	struct cie cie = {0};
	struct entry e;
	uint64_t start;
	unsigned n = 0;
	size_t begin = at;
	for (; at < s->n && read_entry(s, at, &e) && *work; at = e.next, --*work) {
		if (e.end) {
			*end = e.next;
			return n;
		}
		if (!e.cie && encoding_of(s, &e) != PE_OMIT)
			continue;
		if (!e.cie || e.cie > e.id - begin || !read_function(s, &e, code, &cie, &start))
			return 0;
		n++;
	}
	*end = at;
	return at == s->n ? n : 0;
}

static bool looks_like_cie(const struct frames_section *s, size_t at)
{
	uint32_t head[2];
	if (s->n - at < 12)
		return false;
	memcpy(head, s->bytes + at, sizeof head);
	return head[0] >= 8 && head[0] < 4096 && !head[1] &&
	       (s->bytes[at + 8] == 1 || s->bytes[at + 8] == 3);
}

bool frames_guess(const struct frames_section *segment, const struct frames_code *code, size_t *at,
		  size_t *n)
{
	unsigned work = GUESS_WORK, most = GUESS_LEAST - 1;
	for (size_t i = (size_t)(-segment->address & 3); i + 12 <= segment->n && work; i += 4) {
		size_t end;
		if (!looks_like_cie(segment, i))
			continue;
		unsigned some = length(segment, i, code, &end, &work);
		if (some <= most)
			continue;
		most = some;
		*at = i;
		*n = end - i;
		i = (end & ~(size_t)3) - 4 + (i & 3);
	}
	return most >= GUESS_LEAST;
}

/* ---- a module -------------------------------------------------------------------------------- */

struct looked {
	struct ms_elf_reader elf; /* reader of the module's headers in the process's memory */
	uint64_t bias;
	struct frames_code code;
};

/* Reads the module's program headers. False = not an ELF module, or the module has an
 * .eh_frame_hdr. */
static bool look(struct looked *l, const struct attach_memory *mem, uint64_t start)
{
	if (!ms_elf_read(&l->elf, attach_elf_at(mem, start)) ||
	    ms_elf_segment(&l->elf, PT_GNU_EH_FRAME))
		return false;
	l->bias = start - ms_elf_low(&l->elf);
	l->code = (struct frames_code){.low = UINT64_MAX, .base = start};
	for (unsigned i = 0; i < l->elf.segment_count; i++) {
		const Elf64_Phdr *p = &l->elf.segments[i];
		uint64_t low = l->bias + p->p_vaddr, high = low + p->p_memsz;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		l->code.low = low < l->code.low ? low : l->code.low;
		l->code.high = high > l->code.high ? high : l->code.high;
	}
	return l->code.low >= start && l->code.low < l->code.high &&
	       l->code.high - start <= INT32_MAX;
}

/* Reads `n` bytes of the process's memory; malloc'ed, NULL on failure. */
static uint8_t *fetch(const struct looked *l, uint64_t address, uint64_t n)
{
	uint8_t *bytes = n && n <= FRAMES_BYTES_MOST ? malloc(n) : NULL;
	if (bytes && l->elf.from.read(l->elf.from.arg, address, bytes, n))
		return bytes;
	free(bytes);
	return NULL;
}

static void use(const struct looked *l, const struct frames_section *s, struct frames_table *t)
{
	frames_build(s, &l->code, t);
	t->low = s->address;
	t->high = s->address + s->n;
}

/* Reads .eh_frame at the address that the file's section headers give. Returns false if these do
 * not tell whether there is an .eh_frame, true with an empty table if there is none. */
static bool by_section(const struct looked *l, int fd, struct frames_table *t)
{
	struct ms_elf_reader file;
	uint64_t into, address = 0, n = 0;
	bool known = ms_elf_read(&file, ms_elf_in_file(fd)) && ms_elf_read_sections(&file) &&
		     file.names && file.names->sh_size;
	const Elf64_Shdr *s = known ? ms_elf_named(&file, ".eh_frame") : NULL;
	if (s && s->sh_type != SHT_NOBITS && s->sh_flags & SHF_ALLOC) {
		address = s->sh_addr;
		n = s->sh_size;
	}
	ms_elf_reader_free(&file);
	if (!n)
		return known;
	const Elf64_Phdr *p = ms_elf_loaded(&l->elf, PF_R, address, &into);
	uint8_t *bytes = p && n <= p->p_filesz - into ? fetch(l, l->bias + address, n) : NULL;
	if (bytes)
		use(l, &(struct frames_section){bytes, n, l->bias + address}, t);
	free(bytes);
	return bytes;
}

static void by_looks(const struct looked *l, struct frames_table *t)
{
	for (unsigned i = 0; i < l->elf.segment_count && !t->entries.n; i++) {
		const Elf64_Phdr *p = &l->elf.segments[i];
		uint64_t address = l->bias + p->p_vaddr, n = p->p_filesz;
		size_t at, part;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || n > GUESS_MOST)
			continue;
		uint8_t *bytes = fetch(l, address, n);
		struct frames_section all = {bytes, n, address};
		if (bytes && frames_guess(&all, &l->code, &at, &part))
			use(l, &(struct frames_section){bytes + at, part, address + at}, t);
		free(bytes);
	}
}

bool frames_find_in(const struct attach_memory *mem, int fd, uint64_t start, struct frames_table *t)
{
	struct looked l;
	*t = (struct frames_table){0};
	if (look(&l, mem, start) && !by_section(&l, fd, t))
		by_looks(&l, t);
	bool found = t->entries.n != 0;
	if (!found) {
		free(t->entries.v);
		*t = (struct frames_table){0};
	}
	return found;
}

bool frames_find(const struct attach_memory *mem, int proc, const struct attach_map *map,
		 struct frames_table *t)
{
	struct looked l;
	bool wanted =
		look(&l, mem, map->start); /* an .eh_frame_hdr, as most modules have, makes opening
					      the file unnecessary */
	int fd = wanted ? attach_elf_open(proc, map) : -1;
	bool found = wanted && frames_find_in(mem, fd, map->start, t);
	descriptor_close(fd);
	return found;
}
