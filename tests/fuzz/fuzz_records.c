/* SPDX-License-Identifier: MIT
 * Fuzzes the reader of records: fields lie inside their record, and written again they read the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "format/record.h"

static uint8_t again[1 << 20];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	struct ms_record_writer w;
	unsigned fields = 0, records = 0;
	ms_record_writer_init(&w, again, sizeof again);
	ms_record_reader_init(&r, data, n);
	while (ms_record_next(&r, &rec) == MS_FMT_OK) {
		ms_record_begin(&w);
		while (ms_record_field(&rec, &f) == MS_FMT_OK) {
			if (f.is_bytes && (f.data < data || f.data + f.size > data + n))
				abort();
			if (f.is_bytes)
				ms_record_bytes(&w, f.id, f.data, f.size);
			else
				ms_record_number(&w, f.id, f.value);
			fields++;
		}
		records += ms_record_end(&w);
	}
	ms_record_reader_init(&r, w.data, w.size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK) {
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			fields--;
		records--;
	}
	if (n < sizeof again / 4 && (fields || records))
		abort();
	return 0;
}
