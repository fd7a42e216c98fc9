/* SPDX-License-Identifier: MIT
 * The container: file header, block headers, column directories.
 */
#include "block.h"

#include <string.h>

#include "trace.h"

/* Bits of `need` that this version supports. */
#define NEED_KNOWN UINT64_C(0)

#define HEAD_BYTES (offsetof(struct ms_block_head, checksum) + sizeof(uint32_t))
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are written as they lie");
_Static_assert(MS_TRACE_MAGIC_SIZE + sizeof(struct ms_trace_head) + 8 == MS_FILE_HEADER_SIZE &&
		       MS_BLOCK_SYNC_SIZE + HEAD_BYTES + 4 == MS_BLOCK_HEADER_SIZE &&
		       offsetof(struct ms_column_entry, offset) == MS_COLUMN_ENTRY_SIZE,
	       "no padding");

/* Writes the checksum of a header into its last four bytes. */
static void seal(uint8_t *header, size_t n)
{
	uint32_t crc = ms_crc32c(0, header, n - sizeof crc);
	memcpy(header + n - sizeof crc, &crc, sizeof crc);
}

static bool is_sealed(const uint8_t *header, size_t n)
{
	uint32_t crc;
	memcpy(&crc, header + n - sizeof crc, sizeof crc);
	return crc == ms_crc32c(0, header, n - sizeof crc);
}

void ms_file_header_put(uint8_t *out, const struct ms_trace_head *h)
{
	struct ms_trace_head head = *h;
	head.size = MS_FILE_HEADER_SIZE;
	memset(out, 0, MS_FILE_HEADER_SIZE);
	memcpy(out, MS_TRACE_MAGIC, MS_TRACE_MAGIC_SIZE);
	memcpy(out + MS_TRACE_MAGIC_SIZE, &head, sizeof head);
	seal(out, MS_FILE_HEADER_SIZE);
}

enum ms_fmt ms_file_header_get(const uint8_t *data, size_t n, struct ms_trace_head *h, size_t *size)
{
	size_t seen = n < MS_TRACE_MAGIC_SIZE ? n : MS_TRACE_MAGIC_SIZE;
	*size = MS_FILE_HEADER_SIZE;
	if (seen && memcmp(data, MS_TRACE_MAGIC, seen) != 0)
		return MS_FMT_BAD;
	if (n < MS_FILE_HEADER_SIZE)
		return MS_FMT_SHORT;
	memcpy(h, data + MS_TRACE_MAGIC_SIZE, sizeof *h);
	if (h->size < MS_FILE_HEADER_SIZE || h->size > MS_FILE_HEADER_MAX)
		return MS_FMT_BAD;
	*size = h->size;
	if (n < h->size)
		return MS_FMT_SHORT;
	if (!is_sealed(data, h->size))
		return MS_FMT_BAD;
	if (h->major != MS_TRACE_MAJOR || h->need & ~NEED_KNOWN)
		return MS_FMT_NEWER;
	return h->tick_ns ? MS_FMT_OK : MS_FMT_BAD;
}

void ms_block_header_put(uint8_t *out, const struct ms_block_head *h)
{
	memcpy(out, MS_BLOCK_SYNC, MS_BLOCK_SYNC_SIZE);
	memcpy(out + MS_BLOCK_SYNC_SIZE, h, HEAD_BYTES);
	seal(out, MS_BLOCK_HEADER_SIZE);
}

enum ms_fmt ms_block_header_get(const uint8_t *data, struct ms_block_head *h)
{
	if (memcmp(data, MS_BLOCK_SYNC, MS_BLOCK_SYNC_SIZE) != 0)
		return MS_FMT_BAD;
	memcpy(h, data + MS_BLOCK_SYNC_SIZE, HEAD_BYTES);
	if (!is_sealed(data, MS_BLOCK_HEADER_SIZE) || h->columns > MS_BLOCK_COLUMNS_MAX ||
	    h->raw > MS_BLOCK_RAW_MAX || h->payload > h->raw + h->columns * MS_COLUMN_ENTRY_SIZE)
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
	memcpy(out, e, MS_COLUMN_ENTRY_SIZE);
}

enum ms_fmt ms_block_directory_get(const uint8_t *payload, const struct ms_block_head *h,
				   struct ms_column_entry *out)
{
	uint64_t raw = 0, at = h->columns * MS_COLUMN_ENTRY_SIZE;
	if (h->payload < at)
		return MS_FMT_BAD;
	for (unsigned i = 0; i < h->columns; i++) {
		memcpy(&out[i], payload + i * MS_COLUMN_ENTRY_SIZE, MS_COLUMN_ENTRY_SIZE);
		out[i].offset = (uint32_t)at;
		raw += out[i].raw;
		at += out[i].stored;
		if (at > h->payload || raw > h->raw ||
		    (out[i].codec == MS_CODEC_RAW && out[i].raw != out[i].stored))
			return MS_FMT_BAD;
	}
	return raw == h->raw && at == h->payload ? MS_FMT_OK : MS_FMT_BAD;
}
