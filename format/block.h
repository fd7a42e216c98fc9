/* SPDX-License-Identifier: MIT
 * The container: file header, block headers, column directories, checksums.
 *
 *   file  := file header, block...
 *   block := block header (48 bytes), directory (12 bytes a column), stored columns in that order
 *
 * A block header starts with a fixed word and has its own checksum, so that a reader finds the next
 * block after damage. Nothing here does I/O or allocates; lengths are checked against limits before
 * they are used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "column.h"

#define MS_FILE_HEADER_SIZE 48u
#define MS_BLOCK_HEADER_SIZE 48u
#define MS_COLUMN_ENTRY_SIZE 12u
#define MS_BLOCK_COLUMNS_MAX 64u
#define MS_BLOCK_RAW_MAX (UINT32_C(64) << 20)
#define MS_BLOCK_PAYLOAD_MAX (MS_BLOCK_RAW_MAX + MS_BLOCK_COLUMNS_MAX * MS_COLUMN_ENTRY_SIZE)
#define MS_FILE_HEADER_MAX 4096u

/* First bytes of every block header. */
#define MS_BLOCK_SYNC "\xb5MSblk\r\n"
#define MS_BLOCK_SYNC_SIZE 8u

enum ms_codec {
	MS_CODEC_RAW = 0,
	MS_CODEC_ZSTD = 1, /* one zstd frame */
};

/* The members of these three structs are stored in the file in this order, little-endian. */

/* Holds the fields of the file header that follow the magic bytes. */
struct ms_trace_head {
	uint16_t major, minor;
	uint32_t size;         /* bytes of the header in the file; set by ms_file_header_put */
	uint64_t need, hint;   /* MS_FEATURE_* */
	uint16_t machine;      /* ELF e_machine */
	uint8_t address_bytes; /* 8 */
	uint8_t unused;
	uint32_t tick_ns; /* length of a tick of event blocks */
};

/* Holds the fields of a block header that follow the sync word. */
struct ms_block_head {
	uint16_t type;    /* enum ms_block_type */
	uint16_t columns; /* entries of the directory */
	uint32_t number;  /* block number: consecutive from 0 */
	uint64_t first_ns, last_ns;
	uint32_t payload;  /* bytes after the header */
	uint32_t raw;      /* sum of the columns' uncompressed bytes */
	uint32_t checksum; /* CRC-32C of the payload */
};

struct ms_column_entry {
	uint16_t id;
	uint8_t codec; /* enum ms_codec */
	uint8_t unused;
	uint32_t raw, stored;
	uint32_t offset; /* offset of the stored bytes in the payload; not in the file */
};

/* Returns the CRC-32C (Castagnoli) of `n` bytes, continued from `crc` (initially 0). */
uint32_t ms_crc32c(uint32_t crc, const void *data, size_t n);

/* Writes a file header of MS_FILE_HEADER_SIZE bytes. */
void ms_file_header_put(uint8_t *out, const struct ms_trace_head *h);
/* Reads a file header from the first `n` bytes of a file. Returns MS_FMT_OK: its length is in
 * *size; MS_FMT_SHORT: *size bytes are needed (at most MS_FILE_HEADER_MAX); MS_FMT_BAD: not a
 * trace, or damaged; MS_FMT_NEWER: `h` has the version and features. */
enum ms_fmt ms_file_header_get(const uint8_t *data, size_t n, struct ms_trace_head *h,
			       size_t *size);

/* Writes a block header of MS_BLOCK_HEADER_SIZE bytes. */
void ms_block_header_put(uint8_t *out, const struct ms_block_head *h);
/* Reads a block header of MS_BLOCK_HEADER_SIZE bytes. Returns MS_FMT_OK if the checksum is right
 * and every length is within its limit, else MS_FMT_BAD. */
enum ms_fmt ms_block_header_get(const uint8_t *data, struct ms_block_head *h);
/* Searches for a block header from offset `from` on. Returns the offset of the first sync word, or
 * of a first part of one that ends the data; `n` = there is neither. */
size_t ms_block_scan(const uint8_t *data, size_t n, size_t from);

/* Writes one directory entry of MS_COLUMN_ENTRY_SIZE bytes. */
void ms_column_entry_put(uint8_t *out, const struct ms_column_entry *e);
/* Reads the directory at the start of a checked payload of h->payload bytes into `out`
 * (MS_BLOCK_COLUMNS_MAX entries), and checks the sums of lengths against the header. Returns
 * MS_FMT_OK or MS_FMT_BAD. */
enum ms_fmt ms_block_directory_get(const uint8_t *payload, const struct ms_block_head *h,
				   struct ms_column_entry *out);
