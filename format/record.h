/* SPDX-License-Identifier: MIT
 * Records of numbered fields (see trace.h): writer into a buffer, and reader of hostile bytes.
 *
 *   ms_record_begin(&w);
 *   ms_record_number(&w, MS_MARK_TIME, t); ...
 *   if (!ms_record_end(&w))
 *           flush and do it again
 *
 *   while (ms_record_next(&r, &rec) == MS_FMT_OK)
 *           while (ms_record_field(&rec, &f) == MS_FMT_OK)
 *                   switch (f.id) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "column.h"
#include "member.h"

/* Number of the column that holds the records of a records block. */
#define MS_RECORDS_COLUMN 1

struct ms_record_writer {
	uint8_t *data;
	size_t size, room; /* size: bytes used; room: capacity in bytes */
	size_t start;      /* start of the present record */
	bool full;         /* the present record did not fit */
};

/* Starts writing at the beginning of `data`, which has `room` bytes. */
void ms_record_writer_init(struct ms_record_writer *w, void *data, size_t room);
void ms_record_begin(struct ms_record_writer *w);
void ms_record_number(struct ms_record_writer *w, uint32_t field, uint64_t value);
void ms_record_bytes(struct ms_record_writer *w, uint32_t field, const void *bytes, size_t n);
void ms_record_string(struct ms_record_writer *w, uint32_t field, const char *s);
/* Ends the record. Returns false if it did not fit; the buffer is then as before
 * ms_record_begin. */
bool ms_record_end(struct ms_record_writer *w);
/* Lists how a member of a struct stands in a record. MS_UNLESS_NONE is for 32 bits in which all ones
 * mean none. */
enum ms_member_how {
	MS_ALWAYS,
	MS_UNLESS_ZERO,
	MS_UNLESS_NONE,
	MS_TEXT_ALWAYS,
	MS_TEXT_UNLESS_EMPTY,
};
/* Writes the members of `row`, in the order of the list. */
void ms_record_members(struct ms_record_writer *w, const struct ms_member *list, size_t n,
		       const void *row);
/* Returns the bytes written so far, as a column of a block. */
struct ms_column ms_record_column(const struct ms_record_writer *w);

struct ms_record_reader {
	const uint8_t *at, *end;
};
struct ms_record {
	const uint8_t *at, *end; /* fields not read yet */
};
struct ms_field {
	uint32_t id; /* 0 = above 32 bits, which no version uses */
	bool is_bytes;
	uint64_t value;      /* number, or length in bytes */
	const uint8_t *data; /* bytes without a NUL; NULL for a number */
	size_t size;
};

void ms_record_reader_init(struct ms_record_reader *r, const void *data, size_t size);
/* Reads the next record, which points into the data: MS_FMT_OK, MS_FMT_END, or MS_FMT_BAD (a length
 * beyond the end). */
enum ms_fmt ms_record_next(struct ms_record_reader *r, struct ms_record *rec);
/* Reads the next field of a record: MS_FMT_OK, MS_FMT_END or MS_FMT_BAD. */
enum ms_fmt ms_record_field(struct ms_record *rec, struct ms_field *f);

/* Holds the fields of a record by number; of a field that is repeated, the last one. */
#define MS_RECORD_FIELDS 64u
struct ms_record_fields {
	uint64_t known;                     /* bit set of fields present */
	uint64_t number[MS_RECORD_FIELDS];  /* or the length of a text */
	const char *text[MS_RECORD_FIELDS]; /* bytes without a NUL */
};
/* Adds a field; one whose number is too high, or that is a text although it is not in the bit set
 * `texts`, or the other way round, is passed over: then returns false. */
bool ms_record_keep(struct ms_record_fields *v, const struct ms_field *f, uint64_t texts);
/* Sets the members of `row` that ms_record_members wrote; those that are absent become 0, "" or
 * none. */
void ms_record_fill(const struct ms_record_fields *v, const struct ms_member *list, size_t n,
		    void *row);
