/* SPDX-License-Identifier: MIT
 * Members of structs that are written and read by a list: each an unsigned number of 1, 4 or 8 bytes,
 * or a text, a pointer with its length in the size_t behind it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ms_member {
	uint16_t at, bytes; /* place in the struct, and size, of the number or the pointer */
	uint8_t how;        /* of the list's user */
	uint8_t field;      /* number of its field in a record */
};

#define MS_MEMBER(type, member, how, field)                                                        \
	{                                                                                          \
		offsetof(type, member), sizeof((type *)0)->member, how, field                      \
	}
#define MS_MEMBER_COUNT(list) (sizeof(list) / sizeof *(list))

static inline uint64_t ms_member_get(const void *row, const struct ms_member *m)
{
	const uint8_t *at = (const uint8_t *)row + m->at;
	uint64_t v;
	uint32_t half;
	memcpy(&v, at, m->bytes == sizeof v ? sizeof v : 0);
	memcpy(&half, at, m->bytes == sizeof half ? sizeof half : 0);
	return m->bytes == sizeof v ? v : m->bytes == sizeof half ? half : *at;
}

static inline void ms_member_set(void *row, const struct ms_member *m, uint64_t v)
{
	uint8_t *at = (uint8_t *)row + m->at;
	uint32_t half = (uint32_t)v;
	if (m->bytes == sizeof v)
		memcpy(at, &v, sizeof v);
	else if (m->bytes == sizeof half)
		memcpy(at, &half, sizeof half);
	else
		*at = v != 0;
}
