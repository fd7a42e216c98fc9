/* SPDX-License-Identifier: MIT
 * The container: file header, block headers, column directories.
 */
#include "block.h"

#include <string.h>

#include "trace.h"

/* Features that this version knows how to read. */
#define NEED_KNOWN UINT64_C(0)

static uint8_t *put(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

static uint64_t get(const uint8_t **p, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t) * (*p)++ << 8 * i;
	return v;
}

void ms_file_header_put(uint8_t *out, const struct ms_trace_head *h)
{
	memcpy(out, MS_TRACE_MAGIC, MS_TRACE_MAGIC_SIZE);
	uint8_t *p = out + MS_TRACE_MAGIC_SIZE;
	p = put(p, h->major, 2);
	p = put(p, h->minor, 2);
	p = put(p, MS_FILE_HEADER_SIZE, 4);
	p = put(p, h->need, 8);
	p = put(p, h->hint, 8);
	p = put(p, h->machine, 2);
	p = put(p, h->address_bytes, 1);
	p = put(p, 0, 1);
	p = put(p, h->tick_ns, 4);
	p = put(p, 0, 4);
	put(p, ms_crc32c(0, out, MS_FILE_HEADER_SIZE - 4), 4);
}

enum ms_fmt ms_file_header_get(const uint8_t *data, size_t n, struct ms_trace_head *h, size_t *size)
{
	size_t seen = n < MS_TRACE_MAGIC_SIZE ? n : MS_TRACE_MAGIC_SIZE;
	*size = MS_FILE_HEADER_SIZE;
	if (seen && memcmp(data, MS_TRACE_MAGIC, seen) != 0)
		return MS_FMT_BAD;
	if (n < MS_FILE_HEADER_SIZE)
		return MS_FMT_SHORT;
	const uint8_t *p = data + MS_TRACE_MAGIC_SIZE;
	h->major = (uint16_t)get(&p, 2);
	h->minor = (uint16_t)get(&p, 2);
	uint32_t length = (uint32_t)get(&p, 4);
	if (length < MS_FILE_HEADER_SIZE || length > MS_FILE_HEADER_MAX)
		return MS_FMT_BAD;
	*size = length;
	if (n < length)
		return MS_FMT_SHORT;
	h->need = get(&p, 8);
	h->hint = get(&p, 8);
	h->machine = (uint16_t)get(&p, 2);
	h->address_bytes = (uint8_t)get(&p, 1);
	p++;
	h->tick_ns = (uint32_t)get(&p, 4);
	p = data + length - 4;
	if (get(&p, 4) != ms_crc32c(0, data, length - 4))
		return MS_FMT_BAD;
	if (h->major != MS_TRACE_MAJOR || h->need & ~NEED_KNOWN)
		return MS_FMT_NEWER;
	return h->tick_ns ? MS_FMT_OK : MS_FMT_BAD;
}

void ms_block_header_put(uint8_t *out, const struct ms_block_head *h)
{
	memcpy(out, MS_BLOCK_SYNC, MS_BLOCK_SYNC_SIZE);
	uint8_t *p = out + MS_BLOCK_SYNC_SIZE;
	p = put(p, h->type, 2);
	p = put(p, h->columns, 2);
	p = put(p, h->number, 4);
	p = put(p, h->first_ns, 8);
	p = put(p, h->last_ns, 8);
	p = put(p, h->payload, 4);
	p = put(p, h->raw, 4);
	p = put(p, h->checksum, 4);
	put(p, ms_crc32c(0, out, MS_BLOCK_HEADER_SIZE - 4), 4);
}

enum ms_fmt ms_block_header_get(const uint8_t *data, struct ms_block_head *h)
{
	if (memcmp(data, MS_BLOCK_SYNC, MS_BLOCK_SYNC_SIZE) != 0)
		return MS_FMT_BAD;
	const uint8_t *p = data + MS_BLOCK_SYNC_SIZE;
	h->type = (uint16_t)get(&p, 2);
	h->columns = (uint16_t)get(&p, 2);
	h->number = (uint32_t)get(&p, 4);
	h->first_ns = get(&p, 8);
	h->last_ns = get(&p, 8);
	h->payload = (uint32_t)get(&p, 4);
	h->raw = (uint32_t)get(&p, 4);
	h->checksum = (uint32_t)get(&p, 4);
	if (get(&p, 4) != ms_crc32c(0, data, MS_BLOCK_HEADER_SIZE - 4) ||
	    h->columns > MS_BLOCK_COLUMNS_MAX || h->raw > MS_BLOCK_RAW_MAX ||
	    h->payload > h->raw + h->columns * MS_COLUMN_ENTRY_SIZE)
		return MS_FMT_BAD;
	return MS_FMT_OK;
}

size_t ms_block_scan(const uint8_t *data, size_t n, size_t from)
{
	while (from < n) {
		const uint8_t *p = memchr(data + from, MS_BLOCK_SYNC[0] & 0xff, n - from);
		if (!p)
			return n;
		from = (size_t)(p - data);
		size_t len = n - from < MS_BLOCK_SYNC_SIZE ? n - from : MS_BLOCK_SYNC_SIZE;
		if (memcmp(p, MS_BLOCK_SYNC, len) == 0)
			return from;
		from++;
	}
	return n;
}

void ms_column_entry_put(uint8_t *out, const struct ms_column_entry *e)
{
	out = put(out, e->id, 2);
	out = put(out, e->codec, 1);
	out = put(out, 0, 1);
	out = put(out, e->raw, 4);
	put(out, e->stored, 4);
}

enum ms_fmt ms_block_directory_get(const uint8_t *payload, const struct ms_block_head *h,
				   struct ms_column_entry *out)
{
	uint64_t raw = 0, at = h->columns * MS_COLUMN_ENTRY_SIZE;
	if (h->payload < at)
		return MS_FMT_BAD;
	for (unsigned i = 0; i < h->columns; i++) {
		const uint8_t *p = payload + i * MS_COLUMN_ENTRY_SIZE;
		out[i].id = (uint16_t)get(&p, 2);
		out[i].codec = (uint8_t)get(&p, 1);
		p++;
		out[i].raw = (uint32_t)get(&p, 4);
		out[i].stored = (uint32_t)get(&p, 4);
		out[i].offset = (uint32_t)at;
		raw += out[i].raw;
		at += out[i].stored;
		if (at > h->payload || raw > h->raw ||
		    (out[i].codec == MS_CODEC_RAW && out[i].raw != out[i].stored))
			return MS_FMT_BAD;
	}
	return raw == h->raw && at == h->payload ? MS_FMT_OK : MS_FMT_BAD;
}
