/* SPDX-License-Identifier: MIT
 * --anonymize of a trace that is cut: which fields hold names.
 */
#ifndef CUT_NAMES_H
#define CUT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/record.h"

struct ms_anonymizer;

/* What the bytes of a field become in blocks of that type: *text stands for them, or false: they
 * are left out. Bytes that nothing is known of are. Not for strings of the symbols block. */
bool cut_name(struct ms_anonymizer *a, uint16_t block, const struct ms_field *f, const char **text,
	      uint64_t *size);
/* The records of a symbols block with other strings, malloc'ed: *size bytes. NULL: it is damaged.
 */
uint8_t *cut_symbols(struct ms_anonymizer *a, const struct ms_column *column, uint64_t *size);
/* Bytes that `n` bytes of records can at most become. */
uint64_t cut_names_room(uint64_t n);

#endif
