/* SPDX-License-Identifier: MIT
 * Fuzzes the decoder of event blocks: whatever it accepts keeps its promises and encodes to the
 * same events again.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mutate.h"
#include "format/address.h"
#include "format/event.h"
#include "format/trace.h"

#define MOST 4096

static struct ms_event_decoder decoder, again;
static struct ms_event_encoder encoder;
static struct ms_address_decoder addresses;
static uint8_t memory[MS_EVENT_MEMORY(MOST)];
static struct ms_event events[MOST];

/* Decoded events survive another round trip; EXT events are not written by this version. */
static void encode_again(const struct ms_event_decoder *d, size_t n)
{
	struct ms_column c[MS_EVENT_COLUMNS] = {{0}};
	struct ms_event ev;
	ms_event_encoder_init(&encoder, memory, MOST);
	ms_event_encoder_begin(&encoder, d->first_number, d->first_event, d->first_tick);
	for (size_t i = 0; i < n; i++)
		if (ms_event_put(&encoder, &events[i]) != MS_FMT_OK)
			abort();
	size_t columns = ms_event_encoder_finish(&encoder, c);
	if (ms_event_decoder_init(&again, c, columns) != MS_FMT_OK)
		abort();
	for (size_t i = 0; i < n; i++)
		if (ms_event_next(&again, &ev) != MS_FMT_OK || ev.kind != events[i].kind ||
		    ev.thread != events[i].thread || ev.stack != events[i].stack ||
		    ev.size != events[i].size || ev.number != events[i].number ||
		    ev.freed != events[i].freed || ev.time_ticks != events[i].time_ticks)
			abort();
}

/* Many at a time give as many events as one by one, and the same last one. */
static void decode_many(void)
{
	static struct ms_event_decoder many, one;
	static struct ms_event got[37];
	struct ms_event ev;
	enum ms_fmt rc;
	many = one = decoder;
	do {
		size_t n = ms_event_next_many(&many, got, 37, &rc);
		for (size_t i = 0; i < n; i++)
			if (ms_event_next(&one, &ev) != MS_FMT_OK || ev.number != got[i].number ||
			    ev.freed != got[i].freed || ev.size != got[i].size ||
			    ev.stack != got[i].stack || ev.time_ticks != got[i].time_ticks)
				abort();
	} while (rc == MS_FMT_OK);
	if (ms_event_next(&one, &ev) != rc)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_column c[16] = {{0}};
	size_t count = columns_of(data, n, c, 16), kept = 0;
	struct ms_event ev;
	if (ms_event_decoder_init(&decoder, c, count) != MS_FMT_OK)
		return 0;
	decode_many();
	void *blocks = calloc(decoder.count + 1, MS_ADDRESS_DECODER_MEMORY(1));
	if (!blocks)
		abort();
	ms_address_decoder_begin(&addresses, &decoder, c, count, blocks);
	uint64_t next = decoder.first_number;
	while (ms_event_next(&decoder, &ev) == MS_FMT_OK) {
		bool releases = ev.kind == MS_EV_FREE || ev.kind == MS_EV_REALLOC ||
				ev.kind == MS_EV_FREE_INFERRED;
		if ((releases && ev.freed >= next) || ev.kind > MS_EV_EXT)
			abort();
		next += ev.kind == MS_EV_ALLOC || ev.kind == MS_EV_REALLOC ||
			ev.kind == MS_EV_REALLOC_UNKNOWN;
		if (kept < MOST && ev.kind != MS_EV_EXT)
			events[kept++] = ev;
		ms_address_next(&addresses, &ev);
	}
	free(blocks);
	encode_again(&decoder, kept);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return fuzz_random(&seed, 8) ? fuzz_parts(data, size, max, &seed, 1)
				     : LLVMFuzzerMutate(data, size, max);
}
