/* SPDX-License-Identifier: MIT
 * Reading DWARF's bytes, which may be hostile: a cursor that never leaves its section. Part of the
 * symbol module.
 */
#ifndef MS_SYMBOLS_READ_H
#define MS_SYMBOLS_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "symbols_elf.h"

/* Once `bad`, it gives zeros for ever and stays where it is. */
struct ms_bytes {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct ms_bytes ms_bytes_of(struct ms_elf *e, const char *section, uint64_t offset)
{
	struct ms_elf_section *s = ms_elf_section(e, section);
	const uint8_t *data = ms_elf_data(s);
	if (!data || offset >= s->size)
		return (struct ms_bytes){.bad = true};
	return (struct ms_bytes){.p = data + offset, .end = data + s->size};
}

static inline uint64_t ms_get_fixed(struct ms_bytes *c, unsigned bytes)
{
	uint64_t v = 0;
	if (c->bad || (size_t)(c->end - c->p) < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, bytes);
	c->p += bytes;
	return v;
}

static inline uint64_t ms_get_varint(struct ms_bytes *c)
{
	if (!c->bad && c->p < c->end && *c->p < 0x80)
		return *c->p++;
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = (uint8_t)ms_get_fixed(c, 1);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) || c->bad)
			return c->bad ? 0 : v;
	}
	c->bad = true;
	return 0;
}

static inline int64_t ms_get_signed(struct ms_bytes *c)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = (uint8_t)ms_get_fixed(c, 1);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (c->bad)
			return 0;
		if (!(b & 0x80))
			return (int64_t)(b & 0x40 && shift < 57 ? v | UINT64_MAX << (shift + 7)
								: v);
	}
	c->bad = true;
	return 0;
}

static inline void ms_skip(struct ms_bytes *c, uint64_t n)
{
	if (c->bad || (uint64_t)(c->end - c->p) < n)
		c->bad = true;
	else
		c->p += n;
}

/* A string that ends before the end, or NULL. */
static inline const char *ms_get_string(struct ms_bytes *c)
{
	const uint8_t *nul = c->bad ? NULL : memchr(c->p, 0, (size_t)(c->end - c->p));
	if (!nul) {
		c->bad = true;
		return NULL;
	}
	const char *s = (const char *)c->p;
	c->p = nul + 1;
	return s;
}

/* DWARF's length of what follows: 32 bits, or an escape and 64. `wide`: offsets have 8 bytes. */
static inline uint64_t ms_get_length(struct ms_bytes *c, bool *wide)
{
	uint64_t n = ms_get_fixed(c, 4);
	*wide = n == UINT32_MAX;
	return *wide ? ms_get_fixed(c, 8) : n;
}

#endif
