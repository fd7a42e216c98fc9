/* SPDX-License-Identifier: MIT
 * The column of addresses byte by byte: what each event's address is guessed to be is a part of the
 * format, and encoder and decoder could be wrong together.
 */
#include <string.h>

#include "format/address.h"
#include "format/trace.h"
#include "tests/unit/check.h"

#define OLD UINT64_C(0x5555555555555555) /* each word of the memory that is given out */
#define FIRST 100u                       /* number of the event block's first allocation */

/* kind, number or block freed, size, thread, address; what is written for it */
static const struct {
	struct ms_event ev;
	const char *bytes, *why;
} rows[] = {
#define MADE(n, s, t, a) .kind = MS_EV_ALLOC, .number = n, .size = s, .thread = t, .address = a
#define MOVED(f, n, s, t, a)                                                                       \
	.kind = MS_EV_REALLOC, .freed = f, .number = n, .size = s, .thread = t, .address = a
#define FREED(n, t) .kind = MS_EV_FREE, .freed = n, .thread = t
	{{MADE(100, 24, 0, 0x1010)}, "\x84\x08", "from 0: 257 units, doubled twice"},
	{{MADE(101, 25, 0, 0x1030)}, "\0", "where 24 bytes end with a word in front"},
	{{MADE(102, 1, 64, 0x1068)}, "\x01\x08", "8 bytes behind where 25 end; threads share"},
	{{MADE(103, 24, 1, 0x1000)}, "\x80\x08", "another thread"},
	{{FREED(99, 0)}, "", "of another event block"},
	{{FREED(100, 0)}, "", "-"},
	{{MADE(104, 40, 0, 0x1078)}, "\0", "another size: where 1 byte ends"},
	{{MADE(105, 24, 0, 0x1010)}, "\0", "freed there last"},
	{{MADE(106, 9, 0, 0x1020)}, "\x02", "once only: a unit before where 24 bytes end"},
	{{MOVED(106, 107, 40, 0, 0x1020)}, "\0", "it stayed where it was"},
	{{MADE(108, 9, 0, 0x1050)}, "\0", "and is not free"},
	{{MOVED(108, 109, 100, 0, 0x2000)}, "\xec\x07", "it moved"},
	{{MADE(110, 16, 0, 0x1050)}, "\0", "and left room for 9 to 24 bytes"},
	{{FREED(110, 0)}, "", "-"},
	{{FREED(103, 1)}, "", "-"},
	{{MADE(111, 24, 0, 0x1051)}, "\x01\x01", "not quite what was freed, which stays so"},
	{{MADE(112, 3385, 0, 0x1000)}, "\0", "211 sizes further is the next thread's"},
	{{MADE(113, 10, 0, 0x1050)}, "\0", "-"},
	{{MADE(114, UINT64_MAX, 2, 0)}, "\0", "a size that is none"},
	{{FREED(114, 2)}, "", "its address is not known"},
	{{.kind = MS_EV_REALLOC_UNKNOWN, .number = 115, .size = 1, .thread = 2, .address = 7},
	 "\x03\x07",
	 "-"},
	{{.kind = MS_EV_FREE_INFERRED, .freed = 115, .thread = 2}, "", "-"},
	{{MADE(116, 0, 2, 7)}, "\0", "a free that nobody saw is one too"},
	{{FREED(117, 0)}, "", "of a block that is yet to come"},
	{{MADE(117, OLD, 0, 0x1070)}, "\0", "so it left no room"},
};
#define ROWS (sizeof rows / sizeof *rows)

static _Alignas(8) uint8_t memory[MS_ADDRESS_MEMORY(ROWS)];

/* The bytes of a row; how many. */
static size_t bytes_of(size_t i, uint8_t *to)
{
	size_t n = !ms_event_allocates(rows[i].ev.kind) ? 0
		   : rows[i].bytes[0]                   ? strlen(rows[i].bytes)
							: 1;
	memcpy(to, rows[i].bytes, n);
	return n;
}

static size_t check_encoder(uint8_t *column)
{
	static struct ms_address_encoder e;
	size_t size = 0;
	memset(memory, 0x55, sizeof memory);
	ms_address_encoder_init(&e, memory, ROWS);
	ms_address_encoder_begin(&e, FIRST);
	for (size_t i = 0; i < ROWS; i++) {
		ms_address_put_many(&e, &rows[i].ev, 1);
		struct ms_column c = ms_address_encoder_finish(&e);
		size_t n = bytes_of(i, column + size);
		CHECK(c.id == MS_COL_ADDRESS && c.size == size + n &&
			      !memcmp(c.data + size, column + size, n),
		      "row %zu, %s: %zu bytes, the first %#x", i, rows[i].why, c.size - size,
		      c.data[size]);
		size += n;
	}
	return size;
}

/* The first `size` bytes of the column: what is behind them is not known. */
static void check_decoder(const uint8_t *column, size_t size)
{
	static struct ms_address_decoder d;
	const struct ms_event_decoder b = {.count = ROWS, .first_number = FIRST};
	const struct ms_column c = {MS_COL_ADDRESS, column, size};
	uint8_t scratch[8];
	size_t at = 0;
	memset(memory, 0x55, sizeof memory);
	ms_address_decoder_begin(&d, &b, &c, 1, memory);
	for (size_t i = 0; i < ROWS; i++) {
		struct ms_event ev = rows[i].ev;
		ev.address = 0;
		ms_address_next(&d, &ev);
		at += bytes_of(i, scratch);
		CHECK(ev.address == (at <= size ? rows[i].ev.address : 0),
		      "%zu bytes, row %zu, %s: %lx", size, i, rows[i].why, (long)ev.address);
	}
}

int main(void)
{
	uint8_t column[64];
	size_t size = check_encoder(column);
	for (size_t n = 0; n <= size; n++)
		check_decoder(column, n);
	return failures != 0;
}
